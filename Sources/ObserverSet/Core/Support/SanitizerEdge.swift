import Synchronization

/// Tells the thread sanitizer about a happens-before edge that it cannot see, such as that of a contended `Mutex`.
///
/// Without this, the sanitizer would report races that don't exist. It does nothing except in builds for the sanitizer,
/// which set the flag `OBSERVERSET_TSAN`.
package struct SanitizerEdge: ~Copyable, Sendable {
    #if OBSERVERSET_TSAN
    private let releases = Atomic<UInt>(0)

    @_silgen_name("usleep")
    private static func sleep(_ microseconds: UInt32) -> Int32
    #endif

    package init() {}

    /// Orders what this thread has done before what another thread does after `acquire()`.
    ///
    /// In calls 1, 2, 4, 8 and so on, and so ever more rarely, this also sleeps for a microsecond. Other threads then
    /// get to run at the end of a critical section, which seldom happens on few processors.
    @inline(__always)
    package func release() {
        #if OBSERVERSET_TSAN
        let count = releases.wrappingAdd(1, ordering: .releasing).newValue
        if count & (count &- 1) == 0 { _ = Self.sleep(1) }
        #endif
    }

    @inline(__always)
    package func acquire() {
        #if OBSERVERSET_TSAN
        _ = releases.load(ordering: .acquiring)
        #endif
    }
}
