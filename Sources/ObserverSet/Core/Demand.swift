/// Tells a producer whether its set is observed, whenever that has changed.
///
/// Level-triggered: a change that is taken back meanwhile need not be told, and what is told last is true.
final class Demand: Sendable {
    private struct State: Sendable {
        var isObserved = false
        var lastTold = false
        /// Whether a thread is telling it; that one sees to what others change meanwhile.
        var isTelling = false
    }

    private let state = Lock(State())
    private let whenObserved: @Sendable (Bool) -> Void

    init(_ whenObserved: @escaping @Sendable (Bool) -> Void) {
        self.whenObserved = whenObserved
    }

    /// Keeps what is true from now on; `tell()` has to follow when the registry's lock is free.
    ///
    /// Under that lock, so that what comes last is true.
    func note(_ isObserved: Bool) {
        state.withLock { $0.isObserved = isObserved }
    }

    /// Calls the producer's function until it knows what is true; does nothing if another call of it is under way.
    func tell() {
        var isMine = false
        while true {
            let news = state.withLock { state -> Bool? in
                guard isMine || !state.isTelling else { return nil }
                state.isTelling = state.lastTold != state.isObserved
                guard state.isTelling else { return nil }
                state.lastTold = state.isObserved
                return state.isObserved
            }
            guard let news else { return }
            isMine = true
            CallOut.assertNoLockIsHeld()
            whenObserved(news)
        }
    }
}
