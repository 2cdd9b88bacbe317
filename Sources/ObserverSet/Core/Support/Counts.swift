import Synchronization

// Counts that wrap around, and that only one thread at a time changes, so that a load and a store suffice.

extension Atomic<UInt32> {
    func increment() { store(load(ordering: .relaxed) &+ 1, ordering: .relaxed) }
    func decrement() { store(load(ordering: .relaxed) &- 1, ordering: .relaxed) }
}

extension UInt32 {
    /// The difference of two counts, which may have been read at different moments; never less than zero.
    func minus(_ other: UInt32) -> Int { Int(Swift.max(0, Int32(bitPattern: self &- other))) }
}
