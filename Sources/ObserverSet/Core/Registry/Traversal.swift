import Synchronization

/// One walk over the observers, without a lock.
///
/// A traversal is counted as long as it lives. Whatever it can reach stays alive until then, even if it is removed in
/// the meantime, and is released after the last traversal that could reach it. When an observer notifies, the nested
/// traversal counts itself in again, and walks the observers that are there by then. When an observer removes another
/// one, the slot is marked, and this traversal skips it.
///
/// Its functions take and return nothing but pointers. Between a notifier and its observers, retains would cost time,
/// and closures would take up stack.
///
/// It is `package`, not internal, because a layer can walk weakly held objects (see `WeakObject`).
@usableFromInline
@safe package struct Traversal: ~Copyable {
    /// The registry, which the code that makes the traversal must keep alive.
    private let registry: Unmanaged<Registry>
    private let ticket: Reclamation.Ticket
    private let limit: UInt64
    /// The next slot to look at, and the end of the contiguous slots to which it belongs.
    private var nextSlot: UnsafeMutablePointer<Slot>
    private var end: UnsafeMutablePointer<Slot>
    /// The block that follows the first slot; nil once the traversal has reached it.
    private var blockAhead: UnsafeMutableRawPointer?
    /// Whether the traversal has met a dead owner or object; if so, it tries to remove such registrations when it ends.
    var metDead = false

    /// Begins a traversal, which ends behind the last observer whose id is at most `limit`.
    @inline(__always)
    init(_ registry: Unmanaged<Registry>, upTo limit: UInt64 = Slot.noLimit) {
        unsafe self.registry = registry
        self.limit = limit
        unsafe (ticket, blockAhead, nextSlot) = registry._withUnsafeGuaranteedRef { registry in
            // fault: counted-out-before-the-walk
            let ticket = unsafe registry.reclamation.enter()
            // This load is sequentially consistent, and comes before any slot is read: it is H in "Why nothing is
            // released too early".
            let block = unsafe registry.slots.head.load(ordering: .sequentiallyConsistent)
            return unsafe (ticket, block, registry.slots.first)
        }
        unsafe end = nextSlot + 1
    }

    /// The next registered slot; nil at the end, and whenever it is asked again after that.
    ///
    /// Its observer may be removed at any time, but what the slot holds stays in place until this traversal has ended.
    @inline(__always)
    mutating func next() -> UnsafeMutablePointer<Slot>? {
        var isPlain = false
        return unsafe next(&isPlain)
    }

    /// The next registered slot; `isPlain` is set to whether the slot holds a plain function.
    @inline(__always)
    mutating func next(_ isPlain: inout Bool) -> UnsafeMutablePointer<Slot>? {
        while true {
            while unsafe nextSlot != end {
                let slot = unsafe nextSlot
                unsafe nextSlot = slot + 1
                let state = unsafe slot.pointee.state
                // One comparison tells a plain function that is to be called from everything else, because both flags
                // are above every limit. The state of a vacant slot is zero. Subtracting one turns it into the greatest
                // number, which is above every limit, too.
                isPlain = state &- 1 < limit
                if _fastPath(isPlain) { return unsafe slot }
                // fault: liveness-unchecked
                if state >= Slot.removed { continue }
                if (state & Slot.idBits) &- 1 < limit { return unsafe slot }
                // Ids ascend, so behind a vacant slot, or one added later, nothing is left to call, in the block ahead
                // either.
                unsafe (blockAhead, nextSlot) = (nil, end)
            }
            guard let memory = unsafe blockAhead else { return nil }
            let block = unsafe Block(memory)
            unsafe blockAhead = nil
            unsafe nextSlot = block.slots
            unsafe end = nextSlot + block.capacity
        }
    }

    /// The line that registered the observer in the slot that `next` has just returned.
    package var site: Site { unsafe (nextSlot - 1).pointee.site }

    /// Counts the traversal out.
    ///
    /// If this traversal may have been the last one that could reach something retired, it tries to have that released.
    @inline(__always)
    @usableFromInline
    deinit {
        let registry = unsafe registry
        let metDead = metDead
        // fault: counted-out-before-the-walk
        let count = unsafe Reclamation.leave(ticket)
        unsafe registry._withUnsafeGuaranteedRef { registry in
            if registry.reclamation.noteLeft(count) { registry.collectAfterLeaving() }
            if metDead { registry.tryToRemoveDead() }
        }
    }
}

extension Registry {
    /// Traverses the observers, and runs `body` for every registered slot, in order.
    func forEachRegistered(_ body: (borrowing Slot) -> Void) {
        var traversal = unsafe Traversal(.passUnretained(self))
        while let slot = unsafe traversal.next() { unsafe body(slot.pointee) }
    }
}
