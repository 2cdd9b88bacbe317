/// Informs a producer when its set becomes observed or unobserved.
///
/// Level-triggered: a change that is undone before it was reported need not be reported, but the last report is true.
final class Demand: Sendable {
    private struct State: Sendable {
        var isObserved = false
        var lastReported = false
        /// Whether a thread is calling the producer's function; that thread also reports what others change meanwhile.
        var isReporting = false
    }

    private let state = Lock(State())
    private let whenObserved: @Sendable (Bool) -> Void

    init(_ whenObserved: @escaping @Sendable (Bool) -> Void) {
        self.whenObserved = whenObserved
    }

    /// Records whether the set is observed; `report()` must follow after the registry's lock has been released.
    ///
    /// Called under that lock, so that the last call has the current state.
    func record(_ isObserved: Bool) {
        state.withLock { $0.isObserved = isObserved }
    }

    /// Calls the producer's function until its last report is true; does nothing if another call of it is under way.
    func report() {
        var isMine = false
        while true {
            let news = state.withLock { state -> Bool? in
                guard isMine || !state.isReporting else { return nil }
                state.isReporting = state.lastReported != state.isObserved
                guard state.isReporting else { return nil }
                state.lastReported = state.isObserved
                return state.isObserved
            }
            guard let news else { return }
            isMine = true
            LockCheck.assertNoLockIsHeld()
            whenObserved(news)
        }
    }
}
