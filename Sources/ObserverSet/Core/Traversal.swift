/// One walk over the observers, without a lock.
///
/// It is counted while it lives: what it reaches stays alive meanwhile, whatever is removed. A traversal made inside an
/// observer counts itself in again and walks what is there by then; a removal made inside an observer marks the slot,
/// which this traversal then skips, and is reclaimed by the outermost one when it ends.
///
/// A structure that takes and gives nothing but pointers, since neither retains nor closures may stand between a
/// notifier and its observers: the former cost time, the latter stack.
///
/// `package`, not internal: see `WeakEntry`.
@usableFromInline
@safe package struct Traversal: ~Copyable {
    /// Kept alive by whoever makes the traversal.
    private let registry: Unmanaged<Registry>
    private let ticket: Reclamation.Ticket
    private var cursor: Cursor
    /// Whether the entry of a dead object was found, which is removed when the traversal has ended.
    var metDead = false

    /// A traversal of the observers up to that id.
    @inline(__always)
    init(_ registry: Unmanaged<Registry>, upTo limit: UInt64 = Slot.noLimit) {
        unsafe self.registry = unsafe registry
        // fault: counted-out-before-the-walk
        self.ticket = unsafe registry._withUnsafeGuaranteedRef { $0.reclamation.enter() }
        unsafe cursor = unsafe registry._withUnsafeGuaranteedRef { unsafe Cursor($0.slots, upTo: limit) }
    }

    /// The next living slot.
    ///
    /// It may be removed at any time, which leaves what it holds in place until the traversal has ended.
    @inline(__always)
    mutating func next() -> UnsafeMutablePointer<Slot>? { unsafe cursor.next() }

    /// The same, and whether that slot holds a function alone.
    @inline(__always)
    mutating func next(_ isPlain: inout Bool) -> UnsafeMutablePointer<Slot>? { unsafe cursor.next(&isPlain) }

    /// Who registered the observer in the slot that `next` returned.
    package var site: Site { unsafe cursor.site }

    /// Counts the traversal out.
    ///
    /// What waits for release may be what it was the last to hold.
    @inline(__always)
    @usableFromInline
    deinit {
        unsafe registry._withUnsafeGuaranteedRef { registry in
            // fault: counted-out-before-the-walk
            if registry.reclamation.leave(ticket) { registry.collectAfterLeaving() }
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
