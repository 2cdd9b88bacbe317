import Synchronization

// What the thread sanitizer must be told of, in builds for it, which set the flag `OBSERVERSET_TSAN`.

#if OBSERVERSET_TSAN
/// Tells the sanitizer of an order that is made in a library which it does not see, as that of a contended `Mutex`.
///
/// Without it the sanitizer would report races that are none. In all other builds it is empty.
package struct Witness: ~Copyable, Sendable {
    private let order = Atomic<UInt>(0)

    package init() {}

    /// What this thread has done is ordered before what another one does after `follow()`.
    ///
    /// Stays a moment the first few times, and ever more rarely then, so that other threads come to the end of a critical
    /// section, which few processors seldom let them.
    package func lead() {
        let count = order.wrappingAdd(1, ordering: .releasing).newValue
        if count & (count &- 1) == 0 { _ = Self.sleep(1) }
    }

    package func follow() { _ = order.load(ordering: .acquiring) }

    @_silgen_name("usleep")
    private static func sleep(_ microseconds: UInt32) -> Int32
}
#else
package struct Witness: ~Copyable, Sendable {
    package init() {}
    @inline(__always) package func lead() {}
    @inline(__always) package func follow() {}
}
#endif
