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
/// `package`, not internal: see `WeakEntry`.
@usableFromInline
@safe package struct Traversal: ~Copyable {
    /// Kept alive by the code that makes the traversal.
    private let registry: Unmanaged<Registry>
    private let ticket: Reclamation.Ticket
    private var cursor: Cursor
    /// Whether the entry of a dead owner or object was met; such entries are removed after the traversal.
    var metDead = false

    /// A traversal of the observers whose ids are at most `limit`.
    @inline(__always)
    init(_ registry: Unmanaged<Registry>, upTo limit: UInt64 = Slot.noLimit) {
        unsafe self.registry = unsafe registry
        var ticket: Reclamation.Ticket?
        // fault: counted-out-before-the-walk
        unsafe registry._withUnsafeGuaranteedRef { ticket = $0.reclamation.enter() }
        self.ticket = ticket.take()!
        unsafe cursor = unsafe registry._withUnsafeGuaranteedRef { unsafe Cursor($0.slots, upTo: limit) }
    }

    /// The next living slot.
    ///
    /// Its observer may be removed at any time; what the slot holds stays in place until this traversal has ended.
    @inline(__always)
    mutating func next() -> UnsafeMutablePointer<Slot>? { unsafe cursor.next() }

    /// The same; `isPlain` says whether that slot holds a plain function.
    @inline(__always)
    mutating func next(_ isPlain: inout Bool) -> UnsafeMutablePointer<Slot>? { unsafe cursor.next(&isPlain) }

    /// The line that registered the observer in the slot that `next` returned.
    package var site: Site { unsafe cursor.site }

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
        let count = ticket.leave()
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
