/// Unlinked observers and memory: a traversal that begins now cannot reach them, but an earlier one may.
///
/// Not copyable, so that nothing is released twice.
@safe struct Retired: ~Copyable {
    /// The callee of a removed observer, mostly the only thing there is.
    private var first: Callee?
    private var rest: Rest?

    /// An object, since two empty arrays would be released at each change.
    @safe private final class Rest {
        var callees: [Callee] = []
        /// Blocks that were replaced, in the order in which they were current; their slots own nothing any more.
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

    // Out of line, as is the release of the rest: this is part of every change, and seldom needed.
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

    /// Takes everything out.
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

    /// Marks an observer as removed in the blocks that have it; false if there is a block without it.
    ///
    /// Begins with the latest block. A living observer that is in one block is in all later ones, too. So behind the
    /// first block without it there is none that has it.
    func markRemoved(_ id: UInt64) -> Bool {
        unsafe blocks.reversed().allSatisfy { unsafe $0.markRemoved(id) }
    }

    /// Releases everything; the `deinit` of closures' captures runs here.
    @inline(__always)
    consuming func release() {
        LockCheck.assertNoLockIsHeld()
        first?.release()
        if let rest { Self.release(rest) }
    }

    @inline(never)
    private static func release(_ rest: Rest) {
        for callee in rest.callees { callee.release() }
        unsafe rest.blocks.forEach { unsafe $0.memory.deallocate() }
    }
}
