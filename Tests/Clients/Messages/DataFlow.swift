// Mistakes that the compiler looks for only where the type checker has found none.

import ObserverSet

@MainActor final class Holder {
    private let token: ObserverToken
    private var name = ""

    init(_ model: Model) {
        // expect: before all stored properties are initialized
        token = model.renamed.add(self) { holder, text in holder.name = text }
    }
}

extension View {
    func removesInItsOwnClosure(_ model: Model) {
        // expect: closure captures 'token' before it is declared
        let token = model.renamed.add(self) { _, _ in token.remove() }
    }
}

actor Recorder {
    private var token: ObserverToken?
    private var texts: [String] = []

    init(_ model: Model) {
        // expect: here in nonisolated initializer
        token = model.renamed.add(self) { recorder, text in recorder.texts.append(text) }
    }
}
