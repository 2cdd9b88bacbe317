// A local set where it cannot be.

import Dispatch
import ObserverSet

final class SharedDocument: Sendable {
    // error at renamed: stored property 'renamed' of 'Sendable'-conforming class 'SharedDocument' has non-Sendable type
    //     'LocalObserverSet<(old: String, new: String)>'
    let renamed = LocalObserverSet<(old: String, new: String)>()
}

actor Registry {
    let renamed = LocalObserverSet<String>()
}

// error at sharedRenamed: let 'sharedRenamed' is not concurrency-safe because non-'Sendable' type
//     'LocalObserverSet<String>' may have shared mutable state
let sharedRenamed = LocalObserverSet<String>()

enum Cache {
    // error at renamed: static property 'renamed' is not concurrency-safe because non-'Sendable' type
    //     'LocalObserverSet<String>' may have shared mutable state
    static let renamed = LocalObserverSet<String>()
}

func notifiesOnQueue(_ renamed: LocalObserverSet<String>) {
    // error at renamed: capture of 'renamed' with non-Sendable type 'LocalObserverSet<String>' in a '@Sendable' closure
    DispatchQueue.global().async { renamed.notify("elsewhere") }
}

func observesOnQueue(_ local: LocalModel) {
    // misleading: speaks of methods; a local set has no form with a queue
    // error at addNonisolated: value of type 'LocalObserverSet<String>' has no member 'addNonisolated'
    // error at main: cannot infer contextual base in reference to member 'main'
    local.renamed.addNonisolated(on: .main) { text in print(text) }
}

func addsNonisolated(_ local: LocalModel) {
    // error at addNonisolated: value of type 'LocalObserverSet<String>' has no member 'addNonisolated'
    local.renamed.addNonisolated { text in print(text) }
}

func notifiesSetOfActor(_ registry: Registry) {
    // error at renamed: actor-isolated property 'renamed' can not be referenced from a nonisolated context
    registry.renamed.notify("elsewhere")
}

func groups(_ local: LocalModel) -> ObserverGroup {
    // error at ObserverGroup: initializer 'init(_:)' requires that 'LocalObserverSet<Void>' conform to
    //     'NotificationSource'
    ObserverGroup(local.cleared, local.renamed)
}

func isASource(_ local: LocalModel) -> some NotificationSource<String> {
    // error at renamed: return type of global function 'isASource' requires that 'LocalObserverSet<String>' conform to
    //     'NotificationSource'
    local.renamed
}

func storesToken(_ local: LocalModel, _ bag: ObserverBag) {
    // error at store: value of type 'LocalObserverSet<String>.Token' has no member 'store'
    local.renamed.add { text in print(text) }.store(in: bag)
}

func iterates(_ local: LocalModel) async {
    // error at values: value of type 'LocalObserverSet<String>' has no member 'values'
    for await text in local.renamed.values() { print(text) }
}

func waitsForLocalSet(_ local: LocalModel) async {
    // error at settled: value of type 'LocalObserverSet<String>' has no member 'settled'
    await local.renamed.settled()
}

func keepsTokenOfOtherKind(_ local: LocalModel) {
    // error at add: cannot convert value of type 'LocalObserverSet<String>.Token' to specified type 'ObserverToken'
    let token: ObserverToken = local.renamed.add { text in print(text) }
    token.remove()
}

func addsInDetachedTask(_ renamed: LocalObserverSet<String>) {
    // misleading: speaks of the token, which the task returns; the set cannot be captured either
    // error at Task: conformance of 'LocalObserverSet<Parameters>.Token' to 'Sendable' is unavailable: the token of a
    //     LocalObserverSet stays in the set's isolation domain
    // error at detached: conformance of 'LocalObserverSet<Parameters>.Token' to 'Sendable' is unavailable: the token of
    //     a LocalObserverSet stays in the set's isolation domain
    Task.detached { renamed.add { text in print(text) } }
}

extension View {
    func addsInTask(_ local: LocalObserverSet<String>) {
        // misleading: adding is right here; only the token must not be what the task returns: `_ = local.add`
        // error at Task: conformance of 'LocalObserverSet<Parameters>.Token' to 'Sendable' is unavailable: the token of
        //     a LocalObserverSet stays in the set's isolation domain
        Task { local.add(self) { view, text in view.show(text) } }
    }
}

@MainActor final class Notebook {
    let renamed = LocalObserverSet<String>()

    func notifiesInDetachedTask() {
        // error at renamed: non-Sendable type 'LocalObserverSet<String>' of property 'renamed' cannot exit main
        //     actor-isolated context
        Task.detached { await self.renamed.notify("elsewhere") }
    }

    func handsToActor(_ history: History) async {
        await history.observes(renamed)
    }
}

extension History {
    func observes(_ renamed: LocalObserverSet<String>) {}
}

actor Scorer {
    private let scored = LocalObserverSet<Int>()
    private var total = 0

    func changesItself() {
        // error at total: actor-isolated property 'total' can not be mutated from a nonisolated context
        scored.add(self) { scorer, points in scorer.total += points }
    }

    func callsItself() {
        // error at count: call to actor-isolated instance method 'count' in a synchronous nonisolated context
        scored.add(self) { scorer, points in scorer.count(points) }
    }

    func count(_ points: Int) { total += points }
}

func leavesOutParentheses(_ added: LocalObserverSet<(name: String, index: Int)>) {
    // error at (: instance method 'notify' expects a single parameter of type '(name: String, index: Int)'
    added.notify(name: "So What", index: 0)
}

func awaitsLocalSet(_ local: LocalModel) {
    // error at addAsync: value of type 'LocalObserverSet<String>' has no member 'addAsync'
    local.renamed.addAsync { text in print(text) }
}

func settlesLocally(_ local: LocalModel, _ bag: ObserverBag) async {
    // error at settled: value of type 'LocalObserverSet<String>' has no member 'settled'
    await local.renamed.settled()
    // error at store: value of type 'LocalObserverSet<String>.Token' has no member 'store'
    local.renamed.add { _ in }.store(in: bag)
}
