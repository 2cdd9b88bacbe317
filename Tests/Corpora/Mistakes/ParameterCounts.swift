// A closure takes too few parameters, or too many.

import Dispatch
import ObserverSet

extension View {
    func ownerAloneOnValueSet(_ model: Model) {
        // error at view: contextual closure type '@isolated(any) @Sendable (View, String) -> Void' expects 2 arguments,
        //     but 1 was used in closure body
        model.renamed.add(self) { view in view.clear() }
    }

    func ownerAloneOnValueSetWithShorthand(_ model: Model) {
        // error at {: contextual closure type '@isolated(any) @Sendable (View, String) -> Void' expects 2 arguments,
        //     but 1 was used in closure body
        model.renamed.add(self) { $0.clear() }
    }

    func ownerAloneOnValueSetInSeveralStatements(_ model: Model) {
        // error at view: contextual closure type '@isolated(any) @Sendable (View, String) -> Void' expects 2 arguments,
        //     but 1 was used in closure body
        model.renamed.add(self) { view in
            view.count += 1
            view.clear()
        }
    }

    func ownerAloneOnLabelledSet(_ model: Model) {
        // error at view: contextual closure type '@isolated(any) @Sendable (View, (name: String, index: Int)) -> Void'
        //     expects 2 arguments, but 1 was used in closure body
        model.itemAdded.add(self) { view in view.clear() }
    }

    func oneTooManyOnVoidSet(_ model: Model) {
        // error at view: contextual closure type '@isolated(any) @Sendable (View, Void) -> Void' expects 2 arguments,
        //     but 3 were used in closure body
        model.cleared.add(self) { view, text, more in view.clear() }
    }

    func valueOnVoidSet(_ model: Model) {
        // error at text: cannot convert value of type 'Void' to expected argument type 'String'
        model.cleared.add(self) { view, text in view.show(text) }
    }

    func valueOnVoidSetWithShorthand(_ model: Model) {
        // error at $1: cannot convert value of type 'Void' to expected argument type 'String'
        model.cleared.add(self) { $0.show($1) }
    }

    func elementsOfPairWithOwner(_ model: Model) {
        // error at view: contextual closure type '@isolated(any) @Sendable (View, (Int, Int)) -> Void' expects 2
        //     arguments, but 3 were used in closure body
        // error at from: cannot convert value of type '(Int, Int)' to expected argument type 'Int'
        model.moved.add(self) { view, from, to in view.move(from, to) }
    }

    func elementsOfPairWithOwnerAndShorthand(_ model: Model) {
        // error at {: contextual closure type '@isolated(any) @Sendable (View, (Int, Int)) -> Void' expects 2
        //     arguments, but 3 were used in closure body
        // error at $1: cannot convert value of type '(Int, Int)' to expected argument type 'Int'
        model.moved.add(self) { $0.move($1, $2) }
    }

    func elementsOfLabelledTupleWithOwner(_ model: Model) {
        // error at view: contextual closure type '@isolated(any) @Sendable (View, (name: String, index: Int)) -> Void'
        //     expects 2 arguments, but 3 were used in closure body
        model.itemAdded.add(self) { view, name, index in view.show("\(name) at \(index)") }
    }

    func noParameterOnValueSet(_ model: Model) {
        // error at {: contextual type for closure argument list expects 1 argument, which cannot be implicitly ignored
        model.renamed.add { self.clear() }
    }

    func noParameterWithOwner(_ model: Model) {
        // error at {: contextual type for closure argument list expects 2 arguments, which cannot be implicitly ignored
        model.renamed.add(self) { print("renamed") }
    }

    func noParameterWithOwnerOnVoidSet(_ model: Model) {
        // misleading: one parameter is enough, the owner: `{ _ in }`
        // error at {: contextual type for closure argument list expects 2 arguments, which cannot be implicitly ignored
        model.cleared.add(self) { print("cleared") }
    }

    func twoParametersWithoutOwner(_ model: Model) {
        // error at view: contextual closure type '@isolated(any) @Sendable (String) -> Void' expects 1 argument, but 2
        //     were used in closure body
        // error at show: value of type 'String' has no member 'show'
        model.renamed.add { view, text in view.show(text) }
    }

    func parameterOfVoidSetWithoutOwner(_ model: Model) {
        // error at clear: value of tuple type 'Void' has no member 'clear'
        model.cleared.add { view in view.clear() }
    }

    func ownerAloneOnce(_ model: Model) {
        // error at view: contextual closure type '@isolated(any) @Sendable (View, String) -> Void' expects 2 arguments,
        //     but 1 was used in closure body
        model.renamed.once.add(self) { view in view.clear() }
    }

    func ownerAloneNonisolated(_ model: Model, _ log: Log) {
        // error at log: contextual closure type '@Sendable (Log, String) -> Void' expects 2 arguments, but 1 was used
        //     in closure body
        model.renamed.addNonisolated(log) { log in log.clear() }
    }

    func ownerAloneOnQueue(_ model: Model, _ log: Log) {
        // error at log: contextual closure type '@Sendable (Log, String) -> Void' expects 2 arguments, but 1 was used
        //     in closure body
        model.renamed.addNonisolated(on: .main, log) { log in log.clear() }
    }

    func valueOfGroup(_ model: Model) {
        // error at text: cannot convert value of type 'Void' to expected argument type 'String'
        model.changed.add(self) { view, text in view.show(text) }
    }

    func ownerAloneWithEvent(_ model: Model) {
        // error at view: contextual closure type '@isolated(any) @Sendable (View, OrderPlaced) -> Void' expects 2
        //     arguments, but 1 was used in closure body
        model.events.observers(of: OrderPlaced.self).add(self) { view in view.clear() }
    }

    func ownerAloneOnLocalSet(_ local: LocalModel) {
        // error at view: contextual closure type '(View, String) -> Void' expects 2 arguments, but 1 was used in
        //     closure body
        local.renamed.add(self) { view in view.clear() }
    }

    func valueOnLocalVoidSet(_ local: LocalModel) {
        // error at text: cannot convert value of type 'Void' to expected argument type 'String'
        local.cleared.add(self) { view, text in view.show(text) }
    }

    func elementsOfLocalPair(_ local: LocalModel) {
        // error at view: contextual closure type '(View, (Int, Int)) -> Void' expects 2 arguments, but 3 were used in
        //     closure body
        // error at from: cannot convert value of type '(Int, Int)' to expected argument type 'Int'
        local.moved.add(self) { view, from, to in view.move(from, to) }
    }
}

extension History {
    func ownerAloneInActor(_ model: Model) {
        // error at history: contextual closure type '@isolated(any) @Sendable (History, String) -> Void' expects 2
        //     arguments, but 1 was used in closure body
        model.renamed.add(self) { history in history.clear() }
    }

    func valueOnVoidSetInActor(_ model: Model) {
        // error at text: cannot convert value of type 'Void' to expected argument type 'String'
        model.cleared.add(self) { history, text in history.show(text) }
    }
}

extension View {
    func ownerForgottenOnTuple(_ model: Model) {
        // misleading: the owner is missing, so that the closure's parameters are the two elements
        // error at move: value of type 'String' has no member 'move'
        // error at index: value of type 'Int' has no member 'index'
        model.itemAdded.add { view, item in view.move(item.index, 1) }
    }
}
