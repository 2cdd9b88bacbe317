// A method as the observer.

import ObserverSet

extension View {
    func ownerAndMethodWithoutLabels(_ model: Model) {
        // misleading: the method is taken for a closure; it needs the labels, `add(method:of:)`
        // error at clear: cannot convert value of type '@Sendable (View) -> @MainActor @Sendable () -> ()' to expected
        //     argument type '@isolated(any) @Sendable (View) -> Void'
        model.cleared.add(self, View.clear)
    }

    func ownerAndMethodWithoutLabelsOnValueSet(_ model: Model) {
        // misleading: the method is taken for a closure; it needs the labels, `add(method:of:)`
        // error at show: cannot convert value of type '@Sendable (View) -> @MainActor @Sendable (String) -> ()' to
        //     expected argument type '@isolated(any) @Sendable (View, String) -> Void'
        model.renamed.add(self, View.show)
    }

    func ownerAndMethodWithoutLabelsOnce(_ model: Model) {
        // misleading: the method is taken for a closure; it needs the labels, `once.add(method:of:)`
        // error at show: cannot convert value of type '@Sendable (View) -> @MainActor @Sendable (String) -> ()' to
        //     expected argument type '@isolated(any) @Sendable (View, String) -> Void'
        model.renamed.once.add(self, View.show)
    }

    func methodOfWrongParameter(_ model: Model) {
        // error at take: cannot convert value of type '@Sendable (View) -> @MainActor @Sendable (OrderPlaced) -> ()' to
        //     expected argument type '@Sendable (View) -> @MainActor @Sendable (String) -> Void'
        model.renamed.add(method: View.take, of: self)
    }

    func methodOfTooManyParameters(_ model: Model) {
        // misleading: "pack expansion" stands for: the set tells one value, the method takes two
        // error at move: pack expansion requires that 'String' and 'Int, Int' have the same shape
        model.renamed.once.add(method: View.move, of: self)
    }

    func methodWithoutParametersOnValueSet(_ model: Model) {
        // misleading: "pack expansion" stands for: the set tells a value, the method takes none
        // error at clear: pack expansion requires that 'String' and '' have the same shape
        model.renamed.add(method: View.clear, of: self)
    }

    func methodWithParameterOnVoidSet(_ model: Model) {
        // misleading: "pack expansion" stands for: the set tells nothing, the method takes a value
        // error at show: pack expansion requires that '' and 'String' have the same shape
        model.cleared.add(method: View.show, of: self)
    }

    func methodOfElementsOnLabelledSet(_ model: Model) {
        // error at add: instance method 'add(method:of:isolation:fileID:line:)' requires the types '(name: String,
        //     index: Int)' and '(String, Int)' be equivalent
        model.itemAdded.add(method: View.showItem, of: self)
    }

    func methodWithParameterOnGroup(_ model: Model) {
        // misleading: "pack expansion" stands for: a group tells nothing, the method takes a value
        // error at show: pack expansion requires that '' and 'String' have the same shape
        model.changed.add(method: View.show, of: self)
    }

    func methodWithWrongParameterOnEvent(_ model: Model) {
        // error at show: cannot convert value of type '@Sendable (View) -> @MainActor @Sendable (String) -> ()' to
        //     expected argument type '@Sendable (View) -> @MainActor @Sendable (OrderPlaced) -> Void'
        model.events.observers(of: OrderPlaced.self).add(method: View.show, of: self)
    }

    func methodWithWrongParameterOnLocalSet(_ local: LocalModel) {
        // error at take: cannot convert value of type '@Sendable (View) -> @MainActor @Sendable (OrderPlaced) -> ()' to
        //     expected argument type '(View) -> (String) -> Void'
        local.renamed.add(method: View.take, of: self)
    }

    func misspeltMethod(_ model: Model) {
        // error at claer: type 'View' has no member 'claer'
        model.cleared.add(method: View.claer, of: self)
    }

    func appliedMethod(_ model: Model) {
        // error at add: no exact matches in call to instance method 'add'
        model.cleared.add(method: self.clear, of: self)
    }

    func appliedMethodByName(_ model: Model) {
        // error at add: no exact matches in call to instance method 'add'
        model.renamed.add(method: show, of: self)
    }

    func calledMethod(_ model: Model) {
        // error at add: no exact matches in call to instance method 'add'
        model.cleared.add(method: clear(), of: self)
    }

    func calledMethodWithoutLabel(_ model: Model) {
        // error at clear: cannot convert value of type '()' to expected argument type '@isolated(any) @Sendable (Void)
        //     -> Void'
        model.cleared.add(self.clear())
    }

    func ownerForgotten(_ model: Model) {
        // error at ): missing argument for parameter 'of' in call
        model.cleared.add(method: View.clear)
    }

    func ownerForgottenOnValueSet(_ model: Model) {
        // error at ): missing argument for parameter 'of' in call
        model.renamed.add(method: View.show)
    }

    func labelOfOwnerForgotten(_ model: Model) {
        // error at (: missing argument label 'of:' in call
        model.cleared.add(method: View.clear, self)
    }

    func ownerFirst(_ model: Model) {
        // error at method: argument 'method' must precede argument 'of'
        model.cleared.add(of: self, method: View.clear)
    }

    func typeForOwner(_ model: Model) {
        // error at View: cannot convert value of type 'View.Type' to expected argument type 'View'
        model.cleared.add(method: View.clear, of: View.self)
    }

    func ownerOfAnotherClass(_ model: Model, _ log: Log) {
        // error at log: cannot convert value of type 'Log' to expected argument type 'View'
        model.cleared.add(method: View.clear, of: log)
    }

    func closureForMethod(_ model: Model) {
        // misleading: the closure should not return a function; it goes behind the owner, without labels
        // error at clear: cannot convert value of type '()' to closure result type '@isolated(any) @Sendable (Void) ->
        //     Void'
        model.cleared.add(method: { view in view.clear() }, of: self)
    }

    func methodNonisolated(_ model: Model, _ log: Log) {
        // misleading: does not say that there is no such form; a closure is needed
        // error at addNonisolated: no exact matches in call to instance method 'addNonisolated'
        model.cleared.addNonisolated(method: Log.clear, of: log)
    }

    func methodOnQueue(_ model: Model, _ log: Log) {
        // misleading: the label is not too many as such; there is no such form, a closure is needed
        // error at addNonisolated: no exact matches in call to instance method 'addNonisolated'
        model.cleared.addNonisolated(on: .main, method: Log.clear, of: log)
    }

    func selector(_ model: Model) {
        // misleading: does not say that a text cannot be an observer
        // error at add: no exact matches in call to instance method 'add'
        model.cleared.add(self, "clear")
    }

    func unappliedMethodWithoutOwner(_ model: Model) {
        // misleading: it is not a matter of `Sendable`; the owner is missing
        // error at View: instance member 'clear' cannot be used on type 'View'; did you mean to use a value of this
        //     type instead?
        // error at clear: converting non-Sendable function value to '@isolated(any) @Sendable (Void) -> Void' may
        //     introduce data races
        model.cleared.add(View.clear)
    }

    func throwingMethod(_ model: Model) {
        // error at save: invalid conversion from throwing function of type '@MainActor @Sendable (String) throws -> ()'
        //     to non-throwing function type '@MainActor @Sendable (String) -> Void'
        model.renamed.add(method: View.save, of: self)
    }

    func asynchronousMethod(_ model: Model) {
        // error at load: invalid conversion from 'async' function of type '@MainActor @Sendable (String) async -> ()'
        //     to synchronous function type '@MainActor @Sendable (String) -> Void'
        model.renamed.add(method: View.load, of: self)
    }

    func methodWithResult(_ model: Model) {
        // error at length: cannot convert value of type '@Sendable (View) -> @MainActor @Sendable (String) -> Int' to
        //     expected argument type '@Sendable (View) -> @MainActor @Sendable (String) -> Void'
        model.renamed.add(method: View.length, of: self)
    }

    func showItem(_ name: String, _ index: Int) {}
    func load(_ text: String) async {}
    func length(_ text: String) -> Int { text.count }
}

extension History {
    func methodOfActor(_ model: Model) {
        // misleading: the types do not say why; Swift cannot form an actor's unapplied method, use a closure
        // error at add: no exact matches in call to instance method 'add'
        model.cleared.add(method: History.clear, of: self)
    }

    func methodOfActorOnValueSet(_ model: Model) {
        // misleading: the types do not say why; Swift cannot form an actor's unapplied method, use a closure
        // error at add: no exact matches in call to instance method 'add'
        model.renamed.add(method: History.show, of: self)
    }

    func methodOfActorWithoutLabels(_ model: Model) {
        // misleading: the types do not say why; Swift cannot form an actor's unapplied method, use a closure
        // error at show: cannot convert value of type '@Sendable (isolated History) -> @Sendable (String) -> ()' to
        //     expected argument type '@isolated(any) @Sendable (History, String) -> Void'
        model.renamed.add(self, History.show)
    }
}

final class PlainView {
    func clear() {}
}

func methodOfPlainClass(_ model: Model, _ view: PlainView) {
    // misleading: it is not the function that is wrong; the class of the owner must be `Sendable`
    // error at clear: converting non-Sendable function value to '@isolated(any) @Sendable () -> Void' may introduce
    //     data races
    model.cleared.add(method: PlainView.clear, of: view)
}

extension View {
    func methodThatAwaits(_ model: Model) {
        // error at addAsync: no exact matches in call to instance method 'addAsync'
        model.cleared.addAsync(method: View.clear, of: self)
    }
}

extension View {
    func appliedMethodWithOwner(_ model: Model) {
        // misleading: with an owner the method is `method: View.clear, of: self`
        // error at clear: cannot convert value of type '@MainActor @Sendable () -> ()' to expected argument type
        //     '@isolated(any) @Sendable (View, Void) -> Void'
        model.cleared.add(self, clear)
    }

    func appliedMethodWithOwnerOnValueSet(_ model: Model) {
        // misleading: with an owner the method is `method: View.show, of: self`
        // error at show: cannot convert value of type '@MainActor @Sendable (String) -> ()' to expected argument type
        //     '@isolated(any) @Sendable (View, String) -> Void'
        model.renamed.add(self, show)
    }
}
