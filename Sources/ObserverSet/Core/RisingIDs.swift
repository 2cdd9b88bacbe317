/// The search for a registration among slots that stand in the order of registration, hence of their ids.
///
/// `package`, not internal: a local set's slots stand in that order, too.
package enum RisingIDs {
    /// Where the slot with that id is, among so many.
    ///
    /// Ids rise from slot to slot, so that a slot lies no further from either end than its id does. Where none is missing
    /// this names the place at once; otherwise it narrows a binary search.
    @inline(__always)
    package static func place(of id: UInt64, among count: Int, _ idAt: (Int) -> UInt64) -> Int? {
        guard count > 0 else { return nil }
        let first = idAt(0)
        let last = idAt(count - 1)
        guard id >= first, id <= last else { return nil }
        var low = max(0, count - 1 - Int(clamping: last - id))
        var high = min(count - 1, Int(clamping: id - first))
        while low < high {
            let middle = (low + high) / 2
            if idAt(middle) < id { low = middle + 1 } else { high = middle }
        }
        return idAt(low) == id ? low : nil
    }
}
