import Synchronization

// For builds with the thread sanitizer, which set the flag `OBSERVERSET_TSAN`.

#if OBSERVERSET_TSAN
/// Tells the sanitizer of a happens-before edge that it cannot see, such as that of a contended `Mutex`.
///
/// Without it the sanitizer would report races that do not exist. In all other builds it is empty.
package struct SanitizerEdge: ~Copyable, Sendable {
    private let order = Atomic<UInt>(0)

    package init() {}

    /// Orders what this thread has done before what another thread does after `acquire()`.
    ///
    /// It sleeps for a microsecond in calls 1, 2, 4, 8 and so on, that is ever more rarely. Then other threads get to
    /// run at the end of a critical section, which they seldom do on few processors.
    package func release() {
        let count = order.wrappingAdd(1, ordering: .releasing).newValue
        if count & (count &- 1) == 0 { _ = Self.sleep(1) }
    }

    package func acquire() { _ = order.load(ordering: .acquiring) }

    @_silgen_name("usleep")
    private static func sleep(_ microseconds: UInt32) -> Int32
}
#else
package struct SanitizerEdge: ~Copyable, Sendable {
    package init() {}
    @inline(__always) package func release() {}
    @inline(__always) package func acquire() {}
}
#endif
