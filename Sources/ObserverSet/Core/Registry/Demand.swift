/// Informs a producer when its set becomes observed or unobserved.
///
/// Level-triggered: a change that is undone before it was reported need not be reported, but the last report is true.
final class Demand: Sendable {
    /// `isReporting` is true while a thread is calling the producer's function, which also reports what others change meanwhile.
    private let state = Lock((isObserved: false, lastReported: false, isReporting: false))
    private let whenObserved: @Sendable (Bool) -> Void

    init(_ whenObserved: @escaping @Sendable (Bool) -> Void) {
        self.whenObserved = whenObserved
    }

    deinit {
        record(false)
        report()
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
        while let news = next(isMine) {
            isMine = true
            LockCheck.assertNoLockIsHeld()
            whenObserved(news)
        }
    }

    /// What is to be reported next by a thread that is calling the function, or would begin to; nil if nothing.
    private func next(_ isMine: Bool) -> Bool? {
        state.withLock { state in
            guard isMine || !state.isReporting else { return nil }
            state.isReporting = state.lastReported != state.isObserved
            state.lastReported = state.isObserved
            return state.isReporting ? state.isObserved : nil
        }
    }
}
