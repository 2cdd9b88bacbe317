/// Informs a producer when its set becomes observed or unobserved.
///
/// Level-triggered: a change that is undone before it was reported need not be reported, but the last report is true.
final class Demand: Sendable {
    private struct State: Sendable {
        var isObserved = false
        var lastReported = false
        /// Whether a thread is calling the producer's function; that thread also reports what others change meanwhile.
        var isReporting = false

        /// What is to be reported next by a thread that is calling the function, or would begin to; nil if nothing.
        mutating func next(_ isMine: Bool) -> Bool? {
            guard isMine || !isReporting else { return nil }
            isReporting = lastReported != isObserved
            lastReported = isObserved
            return isReporting ? isObserved : nil
        }
    }

    private let state = Lock(State())
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
        while let news = state.withLock({ $0.next(isMine) }) {
            isMine = true
            LockCheck.assertNoLockIsHeld()
            whenObserved(news)
        }
    }
}
