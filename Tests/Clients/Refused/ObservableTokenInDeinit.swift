// expect: main actor-isolated property 'token' can not be referenced from a nonisolated context
// The macro makes a computed property of the token, which a deinit that is not isolated cannot read; with
// `@ObservationIgnored` it stays a stored one.

import Observation
import ObserverSet

@Observable @MainActor final class NowPlaying {
    private(set) var title = ""
    private var token: ObserverToken?

    init(_ started: ObserverSet<String>) {
        token = started.add(self) { model, title in model.title = title }
    }

    deinit { token?.remove() }
}
