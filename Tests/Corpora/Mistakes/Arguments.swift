// Arguments of `add` that are swapped, forgotten or of another type.

import Dispatch
import ObserverSet

extension View {
    func closureFirst(_ model: Model) {
        // misleading: the closure is taken for the owner; the owner comes first
        // error at add: instance method 'add(_:_:isolation:fileID:line:)' requires that '(_, _) -> _' be a class type
        // error at self: cannot convert value of type 'View' to expected argument type '@isolated(any) @Sendable
        //     (@escaping (_, _) -> _, String) -> Void'
        model.renamed.add({ view, text in view.show(text) }, self)
    }

    func ownerAfterQueue(_ model: Model, _ log: Log) {
        // error at add: no exact matches in call to instance method 'add'
        // error at main: cannot infer contextual base in reference to member 'main'
        model.renamed.add(log, on: .main) { log, text in log.show(text) }
    }

    func queueWithoutLabel(_ model: Model, _ queue: DispatchQueue) {
        // misleading: the queue is taken for an owner; it needs its label, `on:`
        // error at text: contextual closure type '@isolated(any) @Sendable (DispatchQueue, String) -> Void' expects 2
        //     arguments, but 1 was used in closure body
        model.renamed.add(queue) { text in print(text) }
    }

    func mainActorForQueue(_ model: Model) {
        // error at shared: cannot convert value of type 'MainActor' to expected argument type 'DispatchQueue'
        model.renamed.addNonisolated(on: MainActor.shared) { text in print(text) }
    }

    func ownerLabelled(_ model: Model) {
        // error at (: extraneous argument label 'owner:' in call
        model.renamed.add(owner: self) { view, text in view.show(text) }
    }

    func ownerIsAStructure(_ model: Model) {
        // misleading: it need not be an actor; an owner must be an object, of a class or an actor
        // error at add: instance method 'add(_:_:fileID:line:)' requires that 'Point' conform to 'Actor'
        model.renamed.add(Point()) { point, text in print(point, text) }
    }

    func ownerIsOptional(_ model: Model, _ view: View?) {
        // error at view: value of optional type 'View?' must be unwrapped to a value of type 'View'
        model.renamed.add(view) { view, text in view.show(text) }
    }

    func ownerIsItsType(_ model: Model) {
        // misleading: the type is not asked to be an actor; an owner is an instance
        // error at add: type 'View.Type' cannot conform to 'Actor'
        // error at view: instance member 'show' cannot be used on type 'View'
        model.renamed.add(View.self) { view, text in view.show(text) }
    }

    func closureForgotten(_ model: Model) {
        // misleading: the owner is taken for the observer; the closure is missing
        // error at self: cannot convert value of type 'View' to expected argument type '@isolated(any) @Sendable (Void)
        //     -> Void'
        model.cleared.add(self)
    }

    func everythingForgotten(_ model: Model) {
        // error at ): missing argument for parameter #1 in call
        model.cleared.add()
    }

    func onceAsArgument(_ model: Model) {
        // misleading: does not say that `once` is unknown as a label; `once.add` it is
        // error at add: no exact matches in call to instance method 'add'
        model.cleared.add(self, once: true) { view in view.clear() }
    }

    func operatorOfOld(_ model: Model) {
        // misleading: speaks of collections; sets have no operators
        // error at +: left side of mutating operator isn't mutable: 'cleared' is a 'let' constant
        // error at +: referencing operator function '+=' on 'RangeReplaceableCollection' requires that
        //     'ObserverSet<Void>' conform to 'RangeReplaceableCollection'
        // error at +: type '() -> ()' cannot conform to 'Sequence'
        model.cleared += { self.clear() }
    }

    func addToType() {
        // error at ObserverSet: instance member 'add' cannot be used on type 'ObserverSet<Void>'; did you mean to use a
        //     value of this type instead?
        ObserverSet<Void>.add(self) { view in view.clear() }
    }

    func addToClass() {
        // error at Model: instance member 'cleared' cannot be used on type 'Model'; did you mean to use a value of this
        //     type instead?
        Model.cleared.add(self) { view in view.clear() }
    }

    func optionalSet(_ model: Model?) {
        // error at model: value of optional type 'Model?' must be unwrapped to refer to member 'cleared' of wrapped
        //     base type 'Model'
        model.cleared.add(self) { view in view.clear() }
    }

    func limitsWhatWaits(_ model: Model) {
        // misleading: `add` has no such argument, and the owner is no mistake
        // error at (: extra arguments at positions #2, #3 in call
        // error at self: cannot convert value of type 'View' to expected argument type '@isolated(any) @Sendable
        //     (String) -> Void'
        // error at newest: cannot infer contextual base in reference to member 'newest'
        model.renamed.add(self, buffering: .newest(1)) { view, text in view.show(text) }
    }

    func namesParameterForOwner(_ model: Model) {
        // error at show: implicit use of 'self' in closure; use 'self.' to make capture semantics explicit
        model.renamed.add(self) { view, text in show(text) }
    }
}

struct Point: Sendable {}
