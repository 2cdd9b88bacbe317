/// Unlinked observers and memory: a traversal that begins now cannot reach them, but an earlier one may.
///
/// Not copyable, so that nothing is released twice.
@safe struct Retired: ~Copyable {
    /// The callees of removed observers; the first one needs no array.
    private var first: Callee?
    private var others: [Callee] = []
    /// Blocks that were replaced, in the order in which they were current; their slots own nothing any more.
    var blocks = unsafe [Block]()

    init(_ callee: Callee? = nil) { first = callee }

    init(_ block: Block) { unsafe blocks = unsafe [block] }

    var isEmpty: Bool { unsafe first == nil && blocks.isEmpty }

    @inline(__always)
    mutating func append(_ callee: Callee) {
        if first == nil { first = callee } else { others.append(callee) }
    }

    @inline(__always)
    mutating func append(contentsOf other: consuming Retired) {
        guard !isEmpty else { return self = other }
        if let first = other.first { append(first) }
        others += other.others
        unsafe blocks += other.blocks
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
        others.forEach(body)
    }

    /// Marks an observer as removed in the blocks that have it; false if there is a block without it.
    ///
    /// Begins with the latest block. A living observer that is in one block is in all later ones, too. So behind the
    /// first block without it there is none that has it.
    func markRemoved(_ id: UInt64) -> Bool {
        unsafe blocks.reversed().allSatisfy { unsafe $0.markRemoved(id) }
    }

    /// Releases everything; the `deinit` of closures' captures runs here.
    @inline(never)
    consuming func release() {
        LockCheck.assertNoLockIsHeld()
        forEachCallee { $0.release() }
        unsafe blocks.forEach { unsafe $0.memory.deallocate() }
    }
}
