import Synchronization

/// One walk over the observers, without a lock.
///
/// It is counted from `init` to `end()`: what it reaches stays alive meanwhile, whatever is removed. A pass made inside
/// an observer counts itself in again and walks what is there by then; a removal made inside an observer marks the slot,
/// which this pass then skips, and is reclaimed by the outermost pass when it ends.
///
/// A structure that takes and gives nothing but pointers, since neither retains nor closures may stand between a
/// notifier and its observers: the former cost time, the latter stack.
@safe struct Pass: ~Copyable {
    /// Kept alive by whoever makes the pass.
    private let registry: Unmanaged<Registry>
    private let ticket: Readers.Ticket
    private let snapshot: Snapshot?
    private let count: Int
    private var index = 0

    @inline(__always)
    init(_ registry: Unmanaged<Registry>) {
        unsafe self.registry = unsafe registry
        self.ticket = unsafe registry._withUnsafeGuaranteedRef { $0.readers.enter() }
        YieldPoint.pass()
        // Sequentially consistent: see "Why nothing is released too early".
        let memory = unsafe registry._withUnsafeGuaranteedRef { unsafe $0.head.load(ordering: .sequentiallyConsistent) }
        if let memory = unsafe memory {
            let snapshot = unsafe Snapshot(memory)
            unsafe self.snapshot = unsafe snapshot
            self.count = unsafe snapshot.count
        } else {
            unsafe self.snapshot = nil
            self.count = 0
        }
    }

    /// The next living slot.
    ///
    /// It may be removed at any time, which leaves its payload in place until the pass has ended.
    @inline(__always)
    mutating func next() -> UnsafeMutablePointer<Slot>? {
        while index < count {
            let slot = unsafe snapshot.unsafelyUnwrapped.slots + index
            index &+= 1
            if unsafe slot.pointee.isLiving { return unsafe slot }
        }
        return nil
    }

    /// The living slot with that id, if there is one.
    func slot(of id: UInt64) -> UnsafeMutablePointer<Slot>? {
        guard let snapshot = unsafe snapshot, let index = unsafe snapshot.index(of: id) else { return nil }
        return unsafe snapshot.slots[index].isLiving ? snapshot.slots + index : nil
    }

    /// Counts the pass out.
    ///
    /// What is retired may be what it was the last to hold.
    @inline(__always)
    consuming func end() {
        unsafe registry._withUnsafeGuaranteedRef { registry in
            guard registry.readers.leave(ticket) else { return }
            YieldPoint.pass()
            if registry.hasRetired.load(ordering: .sequentiallyConsistent) { registry.reclaimAfterLeaving() }
        }
    }
}

extension Registry {
    /// Runs `body` for every living slot, in order, in a pass.
    func forEachLiving(_ body: (borrowing Slot) -> Void) {
        var pass = unsafe Pass(.passUnretained(self))
        while let slot = unsafe pass.next() { unsafe body(slot.pointee) }
        pass.end()
    }
}
