// expect: from nonisolated deinit
// The token of a local set is not Sendable, and a deinit that is not isolated may run on any thread.

import ObserverSet

@MainActor final class Board {
    private var token: LocalObserverSet<Int>.Token?

    init(_ scored: LocalObserverSet<Int>) {
        token = scored.add(self) { _, points in print(points) }
    }

    deinit { token?.remove() }
}
