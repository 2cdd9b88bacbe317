import Synchronization

/// One walk over the observers, without a lock.
///
/// It is counted as long as it lives: what it reaches stays alive meanwhile, whatever is removed. A traversal that is
/// made inside an observer counts itself in again, and walks the observers that there are by then. A removal inside an
/// observer marks the slot, which this traversal then skips. What was removed is released after the last traversal that
/// could reach it.
///
/// It takes and returns nothing but pointers: between a notifier and its observers, retains would cost time, and closures
/// stack.
///
/// `package`, not internal: see `WeakTarget`.
@usableFromInline
@safe package struct Traversal: ~Copyable {
    /// Kept alive by the code that makes the traversal.
    private let registry: Unmanaged<Registry>
    private let ticket: Reclamation.Ticket
    private let limit: UInt64
    /// The next slot to look at, and the end of the contiguous slots that it belongs to.
    private var place: UnsafeMutablePointer<Slot>
    private var stop: UnsafeMutablePointer<Slot>
    /// The block that follows the first slot, until the traversal reaches it.
    private var block: UnsafeMutableRawPointer?
    /// Whether a dead owner or object was met; such registrations are removed after the traversal.
    var metDead = false

    /// A traversal that ends behind the last observer whose id is at most `limit`.
    @inline(__always)
    init(_ registry: Unmanaged<Registry>, upTo limit: UInt64 = Slot.noLimit) {
        unsafe self.registry = unsafe registry
        self.limit = limit
        unsafe (ticket, block, place) = unsafe registry._withUnsafeGuaranteedRef { registry in
            // fault: counted-out-before-the-walk
            let ticket = unsafe registry.reclamation.enter()
            // Sequentially consistent, and before any slot is read: this is H in "Why nothing is released too early".
            let block = unsafe registry.slots.head.load(ordering: .sequentiallyConsistent)
            return unsafe (ticket, block, registry.slots.first)
        }
        unsafe stop = unsafe place + 1
    }

    /// The next living slot; nil at the end, and from then on.
    ///
    /// Its observer may be removed at any time; what the slot holds stays in place until this traversal has ended.
    @inline(__always)
    mutating func next() -> UnsafeMutablePointer<Slot>? {
        var isPlain = false
        return unsafe next(&isPlain)
    }

    /// The next living slot; `isPlain` says whether it holds a plain function.
    @inline(__always)
    mutating func next(_ isPlain: inout Bool) -> UnsafeMutablePointer<Slot>? {
        while true {
            while unsafe place != stop {
                let slot = unsafe place
                unsafe place = unsafe slot + 1
                let state = unsafe slot.pointee.state
                // Minus one: zero, the state of a vacant slot, becomes the greatest number, which is above every limit.
                isPlain = state &- 1 < limit
                if _fastPath(isPlain) { return unsafe slot }
                // fault: liveness-unchecked
                if state >= Slot.removed { continue }
                if (state & Slot.noLimit) &- 1 < limit { return unsafe slot }
                // Behind a vacant slot, or one whose observer was added later, there is nothing to call.
                unsafe (block, place) = (nil, stop)
            }
            guard let memory = unsafe block else { return nil }
            let block = unsafe Block(memory)
            unsafe self.block = nil
            unsafe place = unsafe block.slots
            unsafe stop = unsafe place + block.capacity
        }
    }

    /// The line that registered the observer in the slot that `next` returned.
    package var site: Site { unsafe (place - 1).pointee.site }

    /// Counts the traversal out.
    ///
    /// It may have been the last that could reach something that waits for release; then it tries to have that
    /// released.
    @inline(__always)
    @usableFromInline
    deinit {
        let registry = unsafe registry
        let metDead = metDead
        // fault: counted-out-before-the-walk
        let count = unsafe Reclamation.leave(ticket)
        unsafe registry._withUnsafeGuaranteedRef { registry in
            if registry.reclamation.mayRelease(count) { registry.collectAfterLeaving() }
            if metDead { registry.removeDead() }
        }
    }
}

extension Registry {
    /// Runs `body` for every living slot, in order, in a traversal.
    func forEachLiving(_ body: (borrowing Slot) -> Void) {
        var traversal = unsafe Traversal(.passUnretained(self))
        while let slot = unsafe traversal.next() { unsafe body(slot.pointee) }
    }
}
