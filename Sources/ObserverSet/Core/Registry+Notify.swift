import Synchronization

extension Registry {
    /// Calls every living observer in order; enqueues the call for those that belong elsewhere.
    ///
    /// No lock, no allocation, and no retain but for living owners.
    func notify<Parameters: Sendable>(_ parameters: Parameters, from here: UInt) {
        guard living != 0 else { return }
        var metDeadOwner = false
        let ticket = readers.enter()
        if let memory = unsafe head.load(ordering: .sequentiallyConsistent) {
            let snapshot = unsafe Snapshot(memory)
            for index in 0..<(unsafe snapshot.count) where unsafe snapshot.slots[index].isLiving {
                CallOut.assertNoLockIsHeld()
                let payload = unsafe snapshot.payload(at: index, of: Parameters.self)
                if unsafe !payload.pointee.deliver(parameters, from: here) { metDeadOwner = true }
            }
        }
        leave(ticket)
        if metDeadOwner { removeDead() }
    }
}
