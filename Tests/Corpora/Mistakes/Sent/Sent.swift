// What stays where it is, is sent away. The compiler looks for these mistakes only where it finds no others.

import ObserverSet

func notifiesInTask(_ renamed: LocalObserverSet<String>) {
    // error at Task: passing closure as a 'sending' parameter risks causing data races between code in the current task
    //     and concurrent execution of the closure
    Task { renamed.notify("later") }
}

func observesInDetachedTask(_ renamed: LocalObserverSet<String>) {
    // error at detached: passing closure as a 'sending' parameter risks causing data races between code in the current
    //     task and concurrent execution of the closure
    Task.detached { _ = renamed.add { text in print(text) } }
}

func notifiesInTaskGroup(_ renamed: LocalObserverSet<String>) async {
    await withTaskGroup(of: Void.self) { group in
        // error at addTask: passing closure as a 'sending' parameter risks causing data races between code in the
        //     current task and concurrent execution of the closure
        group.addTask { renamed.notify("together") }
    }
}

func notifiesWithAsyncLet(_ renamed: LocalObserverSet<String>) async {
    // error at renamed: sending 'renamed' risks causing data races
    async let count = { renamed.count }()
    renamed.notify("meanwhile")
    _ = await count
}

func notifiesOnMainActor(_ renamed: LocalObserverSet<String>) async {
    // error at notify: sending 'renamed' risks causing data races
    await MainActor.run { renamed.notify("there") }
}

func handsToView(_ renamed: LocalObserverSet<String>, _ view: View) async {
    // error at observes: sending 'renamed' risks causing data races
    await view.observes(renamed)
}

func notifiesDelegatesInTask(_ delegates: MulticastDelegate<any PlayerDelegate>) {
    // error at Task: passing closure as a 'sending' parameter risks causing data races between code in the current task
    //     and concurrent execution of the closure
    Task { delegates.notify { $0.playerDidStop() } }
}

func sharesIterator(_ model: Model) async {
    var iterator = model.renamed.values().makeAsyncIterator()
    // error at Task: sending value of non-Sendable type '() async -> String?' risks causing data races
    let first = Task { await iterator.next() }
    _ = await iterator.next()
    _ = await first.value
}

protocol PlayerDelegate: AnyObject {
    func playerDidStop()
}

extension View {
    func observes(_ renamed: LocalObserverSet<String>) {}
}

extension History {
    func observes(_ renamed: LocalObserverSet<String>) {}
}

final class Draft {
    var text = ""
}

actor Desk {
    private let written = LocalObserverSet<Draft>()
    private var drafts: [Draft] = []

    func keeps() {
        // error at draft: sending 'draft' risks causing data races
        written.add(self) { desk, draft in desk.assumeIsolated { $0.drafts.append(draft) } }
    }
}

@MainActor final class TokenHolder {
    private let token: ObserverToken

    init(_ model: Model) {
        // error at add: 'self' used in method call 'add' before all stored properties are initialized
        token = model.renamed.add(self) { holder, text in print(text) }
    }
}

extension View {
    func removesConstantInItsOwnClosure(_ model: Model) {
        // error at {: closure captures 'token' before it is declared
        let token = model.renamed.add(self) { _, _ in token.remove() }
    }
}

@MainActor final class LocalTokenHolder {
    private var token: LocalObserverSet<String>.Token?

    init(_ local: LocalModel) {
        token = local.renamed.add(self) { holder, text in print(text) }
    }

    // error at ?: cannot access property 'token' with a non-Sendable type 'LocalObserverSet<String>.Token?' from
    //     nonisolated deinit
    deinit { token?.remove() }
}

actor Sender {
    private var sending: ObserverToken?

    init(_ model: Model) {
        // error at =: cannot access property 'sending' here in nonisolated initializer
        sending = model.renamed.add(self) { _, text in print(text) }
    }
}
