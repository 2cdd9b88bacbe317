// Declarations, groups, sequences and delegates.

import ObserverSet

class SetsDeclaredWrongly {
    // error at ObserverSet: reference to generic type 'ObserverSet' requires arguments in <...>
    let plain: ObserverSet
    // error at ObserverSet: generic type 'ObserverSet' specialized with too many type parameters (got 2, but expected
    //     1)
    let two = ObserverSet<String, Int>()
    init() {}
}

func groupsNothing(_ model: Model) -> ObserverGroup {
    // error at ObserverGroup: initializer 'init(_:)' requires that 'String' conform to 'NotificationSource'
    ObserverGroup(model.cleared, "renamed")
}

func sourceWithoutParameters(_ model: Model) -> some NotificationSource<Int> {
    // error at renamed: return type of global function 'sourceWithoutParameters' requires the types 'String' and 'Int'
    //     be equivalent
    model.renamed
}

func mergesOtherParameters(_ model: Model) {
    // error at merge: no exact matches in call to instance method 'merge'
    let both = model.renamed.merge(with: model.itemAdded)
    both.add { text in print(text) }
}

func mergesWithoutLabel(_ model: Model, _ others: Model) {
    // error at others: missing argument label 'with:' in call
    let both = model.renamed.merge(others.renamed)
    both.add { text in print(text) }
}

func leavesOutTypeOfTransform(_ model: Model) {
    // error at compactMap: generic parameter 'Output' could not be inferred
    let lengths = model.renamed.compactMap { text in
        guard !text.isEmpty else { return nil }
        return text.count
    }
    lengths.add { length in print(length) }
}

extension View {
    func leavesOutTypeOfTransformBeforeAdd(_ model: Model) {
        // error at compactMap: generic parameter 'Output' could not be inferred
        model.renamed.compactMap { text in
            guard !text.isEmpty else { return nil }
            return text.count
            // misleading: speaks of the observer's parameter; the transform has to say what it returns
            // error at length: cannot infer type of closure parameter 'length' without a type annotation
        }.add(self) { view, length in view.show("\(length)") }
    }
}

struct Doubled: NotificationSource {
    let numbers: ObserverSet<Int>

    func register(_ observer: Observer<String>) -> ObserverToken {
        // error at observer: cannot convert value of type 'Observer<String>' to expected argument type 'Observer<Int>'
        numbers.register(observer)
    }

    func settled() async { await numbers.settled() }
}

func forgetsAwait(_ model: Model) async {
    // error at values: for-in loop requires 'AsyncStream<String>' to conform to 'Sequence'
    for text in model.renamed.values() { print(text) }
}

func awaitsOutsideOfTask(_ model: Model) {
    // error at for: 'async' in a function that does not support concurrency
    for await text in model.renamed.values() { print(text) }
}

func iteratesOverSet(_ model: Model) async {
    // error at renamed: for-in loop requires 'ObserverSet<String>' to conform to 'AsyncSequence'
    for await text in model.renamed { print(text) }
}

func forgetsToUnwrapNext(_ model: Model, _ log: Log) async {
    // error at next: value of type 'ObserverSet<String>' has no member 'next'
    let text = await model.renamed.next()
    log.show(text)
}

func buffersWrongly(_ model: Model) async {
    // error at newest: member 'newest' expects argument of type 'Int'
    for await text in model.renamed.values(buffering: .newest) { print(text) }
}

extension Model {
    var names: some AsyncSequence<String, Never> { renamed.values() }
}

func callsNextOfOpaqueSequence(_ model: Model) async {
    // The type to publish is `AsyncStream<String>`.
    var names = model.names.makeAsyncIterator()
    // error at names: call can throw, but it is not marked with 'try' and the error is not handled
    _ = await names.next()
}

protocol PlayerDelegate: AnyObject {
    func playerDidStop()
}

func delegateOfOtherType(_ delegates: MulticastDelegate<any PlayerDelegate>, _ log: Log) {
    // error at log: argument type 'Log' does not conform to expected type 'PlayerDelegate'
    delegates.add(log)
}

final class SharedPlayer: Sendable {
    // error at delegates: stored property 'delegates' of 'Sendable'-conforming class 'SharedPlayer' contains
    //     non-Sendable type 'any PlayerDelegate'
    let delegates = MulticastDelegate<any PlayerDelegate>()
}

func misspeltDelegateMethod(_ delegates: MulticastDelegate<any PlayerDelegate>) {
    // error at playerDidStpo: value of type 'any PlayerDelegate' has no member 'playerDidStpo'
    delegates.notify { $0.playerDidStpo() }
}

func callsDelegatesDirectly(_ delegates: MulticastDelegate<any PlayerDelegate>) {
    // error at playerDidStop: value of type 'MulticastDelegate<any PlayerDelegate>' has no member 'playerDidStop'
    delegates.playerDidStop()
}

func registersClosure(_ model: Model) {
    // error at {: trailing closure passed to parameter of type 'Observer<String>' that does not accept a closure
    model.renamed.register { text in print(text) }
}

extension View {
    func hasManyOperators(_ model: Model) {
        // error at model: the compiler is unable to type-check this expression in reasonable time; try breaking up the
        //     expression into distinct sub-expressions
        model.renamed.add(self) { view, _ in view.show("item " + String(view.count) + "/" + String(view.count + 1)) }
    }

    func ownerIsAnActorOffWhichItRuns(_ model: Model, _ history: History) {
        // error at history: closure with 'isolated' parameter 'history' cannot have a global actor
        model.renamed.add(history) { @MainActor history, text in self.show(text) }
    }

    func saysWhereItWasAdded(_ model: Model) {
        // error at {: unnamed argument #4 must precede argument 'fileID'
        model.renamed.add(self, fileID: "App/View.swift", line: 1) { view, text in view.show(text) }
    }
}

@MainActor private final class Panel {
    let model = Model()
    // error at show: call to main actor-isolated instance method 'show' in a synchronous nonisolated context
    lazy var token = model.renamed.add(self) { panel, text in panel.show(text) }

    private enum Right {
        @MainActor final class Panel {
            let model = Model()
            lazy var token = model.renamed.add(self) { @MainActor panel, text in panel.show(text) }

            func show(_ text: String) {}
        }
    }

    func show(_ text: String) {}
}
