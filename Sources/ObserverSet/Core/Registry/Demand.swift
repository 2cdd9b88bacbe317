/// Tells a producer when its set becomes observed or unobserved.
///
/// It reports the current state, not each change: a change that is undone before it has been reported may go
/// unreported, but the last report is always true.
final class Demand: Sendable {
    /// The state that was last recorded, the state that was last reported, and whether a thread is calling the
    /// producer's function.
    ///
    /// That thread also reports what other threads change in the meantime.
    private let state = Lock((isObserved: false, lastReported: false, isReporting: false))
    private let whenObserved: @Sendable (Bool) -> Void

    init(_ whenObserved: @escaping @Sendable (Bool) -> Void) { self.whenObserved = whenObserved }

    deinit {
        record(false)
        report()
    }

    /// Records whether the set is observed; `report()` must follow after the registry's lock has been released.
    ///
    /// Call this under that lock, so that the last call records the current state.
    func record(_ isObserved: Bool) { state.withLock { $0.isObserved = isObserved } }

    /// Calls the producer's function until its last report is true; does nothing if another thread is calling it.
    func report() {
        var isReporter = false
        while let isObserved = takeUnreportedState(isReporter) {
            isReporter = true
            LockCheck.assertNoLockIsHeld()
            whenObserved(isObserved)
        }
    }

    /// The state that the thread must report next, which is recorded as reported; nil if there is nothing to report, or
    /// if another thread reports it.
    ///
    /// `isReporter` says whether the calling thread is the one that is reporting already.
    private func takeUnreportedState(_ isReporter: Bool) -> Bool? {
        state.withLock { state in
            guard isReporter || !state.isReporting else { return nil }
            state.isReporting = state.lastReported != state.isObserved
            state.lastReported = state.isObserved
            return state.isReporting ? state.isObserved : nil
        }
    }
}
