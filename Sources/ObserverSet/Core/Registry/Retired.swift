/// Observers and memory that have been unlinked and not released yet.
///
/// No traversal that begins now can reach them. Earlier traversals may still reach what `RareState` keeps, but nothing
/// that is in `Cleanup.releasable`.
///
/// It isn't copyable, so that nothing is released twice.
@safe struct Retired: ~Copyable {
    /// The callee of a removed observer, which is usually all there is.
    private var first: Callee?
    private var rest: Rest?

    /// The other callees, and replaced blocks.
    ///
    /// They are in one object, because two empty arrays would have to be released at each change.
    @safe private final class Rest {
        var callees: [Callee] = []
        /// The replaced blocks, in the order in which they were current; their slots no longer hold anything.
        var blocks = unsafe [Block]()
    }

    init(_ callee: Callee? = nil) { first = callee }

    init(_ block: Block) { unsafe madeRest().blocks.append(block) }

    var isEmpty: Bool { first == nil && rest == nil }

    var blocks: [Block] { unsafe rest?.blocks ?? [] }

    @inline(__always)
    mutating func append(contentsOf other: consuming Retired) {
        if isEmpty { self = other } else { appendToRest(other) }
    }

    // This isn't inlined, and neither is the release of the rest, because every change contains this code but seldom
    // needs it.
    @inline(never)
    private mutating func appendToRest(_ other: borrowing Retired) {
        let rest = madeRest()
        other.forEachCallee { rest.callees.append($0) }
        unsafe rest.blocks += other.blocks
    }

    private mutating func madeRest() -> Rest {
        let made = rest ?? Rest()
        rest = made
        return made
    }

    /// Takes out everything, and returns it.
    @inline(__always)
    mutating func take() -> Retired {
        var taken = Retired()
        swap(&taken, &self)
        return taken
    }

    func forEachCallee(_ body: (Callee) -> Void) {
        if let first { body(first) }
        rest?.callees.forEach(body)
    }

    /// Marks an observer as removed in the blocks that contain it; returns false if a block doesn't contain it.
    ///
    /// It begins with the latest block. If a block contains a registered observer, all later blocks do, too. So as soon
    /// as a block doesn't contain the observer, no earlier one does, and the search ends.
    func markRemoved(_ id: UInt64) -> Bool { unsafe blocks.reversed().allSatisfy { unsafe $0.markRemoved(id) } }

    /// Releases everything; the `deinit` of what closures capture runs here.
    @inline(__always)
    consuming func release() {
        LockCheck.assertNoLockIsHeld()
        unsafe first?.release()
        if let rest { Self.release(rest) }
    }

    @inline(never)
    private static func release(_ rest: Rest) {
        for callee in rest.callees { unsafe callee.release() }
        unsafe rest.blocks.forEach { unsafe $0.memory.deallocate() }
    }
}
