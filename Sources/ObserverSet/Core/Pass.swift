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
    /// Where the pass is, and where it ends; nil if there is no snapshot.
    private var place: UnsafeMutablePointer<Slot>?
    private let stop: UnsafeMutablePointer<Slot>?
    /// Whether the slot that `next` returned is a function alone.
    private(set) var isPlain = false

    @inline(__always)
    init(_ registry: Unmanaged<Registry>) {
        unsafe self.registry = unsafe registry
        // fault: counted-out-before-the-walk
        self.ticket = unsafe registry._withUnsafeGuaranteedRef { $0.readers.enter() }
        // Sequentially consistent: see "Why nothing is released too early".
        let memory = unsafe registry._withUnsafeGuaranteedRef { unsafe $0.head.load(ordering: .sequentiallyConsistent) }
        if let memory = unsafe memory {
            let snapshot = unsafe Snapshot(memory)
            unsafe self.snapshot = unsafe snapshot
            unsafe place = unsafe snapshot.slots
            unsafe stop = unsafe snapshot.slots + snapshot.count
        } else {
            unsafe snapshot = nil
            unsafe place = nil
            unsafe stop = nil
        }
    }

    /// The next living slot.
    ///
    /// It may be removed at any time, which leaves its payload in place until the pass has ended.
    @inline(__always)
    mutating func next() -> UnsafeMutablePointer<Slot>? {
        while unsafe place != stop {
            let slot = unsafe place.unsafelyUnwrapped
            unsafe place = unsafe slot + 1
            let state = unsafe slot.pointee.state
            isPlain = state == .plain
            // fault: liveness-unchecked
            if state != .removed { return unsafe slot }
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
            // fault: counted-out-before-the-walk
            guard registry.readers.leave(ticket) else { return }
            // fault: no-look-after-leaving
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
