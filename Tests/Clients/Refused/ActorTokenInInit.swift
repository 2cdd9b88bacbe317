// expect: cannot access property 'token' here in nonisolated initializer
// An actor cannot store a token in its synchronous initializer, only in one that is async.

import ObserverSet

actor History {
    private var names: [String] = []
    private var token: ObserverToken?

    init(_ added: ObserverSet<String>) {
        token = added.add(self) { history, name in history.names.append(name) }
    }
}
