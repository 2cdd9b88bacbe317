import Synchronization

// What the thread sanitizer must know, in builds for it, which set the flag `OBSERVERSET_TSAN`.

#if OBSERVERSET_TSAN
/// Shows the sanitizer an order that a library establishes which it does not see, as that of a contended `Mutex`.
///
/// Without it the sanitizer would report races that do not exist. In all other builds it is empty.
package struct Witness: ~Copyable, Sendable {
    private let order = Atomic<UInt>(0)

    package init() {}

    /// Orders what this thread has done before what another thread does after `follow()`.
    ///
    /// It sleeps for a microsecond in calls 1, 2, 4, 8 and so on, that is ever more rarely. Then other threads get to
    /// run at the end of a critical section, which they seldom do on few processors.
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
