import Synchronization

/// One walk over the observers, without a lock.
///
/// It is counted while it lives: what it reaches stays alive meanwhile, whatever is removed. A traversal made inside an
/// observer counts itself in again and walks what is there by then; a removal made inside an observer marks the slot,
/// which this traversal then skips, and is reclaimed by the outermost one when it ends.
///
/// A structure that takes and gives nothing but pointers, since neither retains nor closures may stand between a
/// notifier and its observers: the former cost time, the latter stack.
@safe struct Traversal: ~Copyable {
    /// Kept alive by whoever makes the traversal.
    private let registry: Unmanaged<Registry>
    private let ticket: Reclamation.Ticket
    private let limit: UInt64
    /// Where it is, and where the slots end that lie there.
    private var place: UnsafeMutablePointer<Slot>
    private var stop: UnsafeMutablePointer<Slot>
    /// The block that follows the first slot, until the traversal comes to it.
    private var block: UnsafeMutableRawPointer?
    /// Whether the slot that `next` returned holds a function alone.
    private(set) var isPlain = false

    /// A traversal of the observers up to that id.
    @inline(__always)
    init(_ registry: Unmanaged<Registry>, upTo limit: UInt64 = Slot.noLimit) {
        unsafe self.registry = unsafe registry
        self.limit = limit
        // fault: counted-out-before-the-walk
        self.ticket = unsafe registry._withUnsafeGuaranteedRef { $0.reclamation.enter() }
        // Sequentially consistent: see "Why nothing is released too early".
        unsafe block = unsafe registry._withUnsafeGuaranteedRef {
            unsafe $0.head.load(ordering: .sequentiallyConsistent)
        }
        unsafe place = unsafe registry._withUnsafeGuaranteedRef { unsafe $0.firstSlot }
        unsafe stop = unsafe place + 1
    }

    /// The next living slot.
    ///
    /// It may be removed at any time, which leaves what it holds in place until the traversal has ended.
    @inline(__always)
    mutating func next() -> UnsafeMutablePointer<Slot>? {
        while true {
            while unsafe place != stop {
                let slot = unsafe place
                unsafe place = unsafe slot + 1
                let state = unsafe slot.pointee.state
                // Zero, for a vacant slot, becomes the highest of numbers.
                isPlain = state &- 1 < limit
                if isPlain { return unsafe slot }
                // fault: liveness-unchecked
                if state >= Slot.removed { continue }
                return unsafe (state ^ Slot.special) &- 1 < limit ? slot : end()
            }
            guard let memory = unsafe block else { return nil }
            let block = unsafe Block(memory)
            unsafe self.block = nil
            unsafe place = unsafe block.slots
            unsafe stop = unsafe place + block.capacity
        }
    }

    /// The living slot with that id, if there is one.
    func slot(of id: UInt64) -> UnsafeMutablePointer<Slot>? {
        let block = unsafe block.map { unsafe Block($0) }
        let slot = unsafe place.pointee.id == id ? place : block?.slot(of: id, among: block?.capacity ?? 0)
        guard let slot = unsafe slot, unsafe slot.pointee.isLiving(id) else { return nil }
        return unsafe slot
    }

    /// Nothing follows a vacant slot, nor one of an observer that was added later.
    private mutating func end() -> UnsafeMutablePointer<Slot>? {
        unsafe block = nil
        unsafe place = unsafe stop
        return nil
    }

    /// Counts the traversal out.
    ///
    /// What waits for release may be what it was the last to hold.
    @inline(__always)
    deinit {
        unsafe registry._withUnsafeGuaranteedRef { registry in
            // fault: counted-out-before-the-walk
            if registry.reclamation.leave(ticket) { registry.collectAfterLeaving() }
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
