// A member is misspelt, inside a closure.

import Dispatch
import Foundation
import ObserverSet

extension View {
    func typoOfMethodOnVoidSet(_ model: Model) {
        // error at claer: value of type 'View' has no member 'claer'
        model.cleared.add { self.claer() }
    }

    func typoOfMethodOnVoidSetWithOwner(_ model: Model) {
        // error at claer: value of type 'View' has no member 'claer'
        model.cleared.add(self) { view in view.claer() }
    }

    func typoOfMethodOnVoidSetWithOwnerAndShorthand(_ model: Model) {
        // error at claer: value of type 'View' has no member 'claer'
        model.cleared.add(self) { $0.claer() }
    }

    func typoOfMethodOnVoidSetInSeveralStatements(_ model: Model) {
        model.cleared.add(self) { view in
            view.count += 1
            // error at claer: value of type 'View' has no member 'claer'
            view.claer()
        }
    }

    func typoOfMethodOnValueSet(_ model: Model) {
        // error at shwo: value of type 'View' has no member 'shwo'
        model.renamed.add { text in self.shwo(text) }
    }

    func typoOfMethodOnValueSetWithWeakSelf(_ model: Model) {
        // error at shwo: value of type 'View' has no member 'shwo'
        model.renamed.add { [weak self] text in self?.shwo(text) }
    }

    func typoOfMethodAfterGuard(_ model: Model) {
        model.renamed.add { [weak self] text in
            guard let self else { return }
            // error at shwo: cannot find 'shwo' in scope
            shwo(text)
        }
    }

    func typoOfMethodOnValueSetWithOwner(_ model: Model) {
        // error at shwo: value of type 'View' has no member 'shwo'
        model.renamed.add(self) { view, text in view.shwo(text) }
    }

    func typoOfMethodOnValueSetWithOwnerAndShorthand(_ model: Model) {
        // error at shwo: value of type 'View' has no member 'shwo'
        model.renamed.add(self) { $0.shwo($1) }
    }

    func typoOfMethodInSeveralStatements(_ model: Model) {
        model.renamed.add(self) { view, text in
            view.count += 1
            // error at shwo: value of type 'View' has no member 'shwo'
            view.shwo(text)
        }
    }

    func typoOfMethodInIf(_ model: Model) {
        model.renamed.add(self) { view, text in
            // error at shwo: value of type 'View' has no member 'shwo'
            if view.isOpen { view.shwo(text) }
        }
    }

    func typoOfPropertyWithOwner(_ model: Model) {
        // error at cuont: value of type 'View' has no member 'cuont'
        model.renamed.add(self) { view, text in view.cuont += text.count }
    }

    func typoOfMemberOfValue(_ model: Model) {
        // error at upercased: value of type 'String' has no member 'upercased'
        model.renamed.add(self) { view, text in view.show(text.upercased()) }
    }

    func typoOfParameter(_ model: Model) {
        // error at txet: cannot find 'txet' in scope
        model.renamed.add(self) { view, text in view.show(txet) }
    }

    func typoOfOwnerParameter(_ model: Model) {
        // error at veiw: cannot find 'veiw' in scope
        model.renamed.add(self) { view, text in veiw.show(text) }
    }

    func typoOfMethodWithPair(_ model: Model) {
        // error at moev: value of type 'View' has no member 'moev'
        model.moved.add(self) { view, step in view.moev(step.0, step.1) }
    }

    func typoOnce(_ model: Model) {
        // error at shwo: value of type 'View' has no member 'shwo'
        model.renamed.once.add(self) { view, text in view.shwo(text) }
    }

    func typoOnceOnVoidSet(_ model: Model) {
        // error at claer: value of type 'View' has no member 'claer'
        model.cleared.once.add(self) { view in view.claer() }
    }

    func typoNonisolated(_ model: Model, _ log: Log) {
        // error at shwo: value of type 'Log' has no member 'shwo'
        model.renamed.addNonisolated(log) { log, text in log.shwo(text) }
    }

    func typoNonisolatedOnVoidSet(_ model: Model, _ log: Log) {
        // error at claer: value of type 'Log' has no member 'claer'
        model.cleared.addNonisolated(log) { log in log.claer() }
    }

    func typoOnQueue(_ model: Model, _ log: Log) {
        // error at shwo: value of type 'Log' has no member 'shwo'
        model.renamed.addNonisolated(on: .main, log) { log, text in log.shwo(text) }
    }

    func typoOnQueueOnVoidSet(_ model: Model, _ log: Log) {
        // error at claer: value of type 'Log' has no member 'claer'
        model.cleared.addNonisolated(on: .main, log) { log in log.claer() }
    }

    func typoThroughSource(_ model: Model) {
        // error at shwo: value of type 'View' has no member 'shwo'
        model.renamedSource.add(self) { view, text in view.shwo(text) }
    }

    func typoThroughVoidSource(_ model: Model) {
        // error at claer: value of type 'View' has no member 'claer'
        model.clearedSource.add(self) { view in view.claer() }
    }

    func typoThroughAnySource(_ model: Model) {
        // error at shwo: value of type 'View' has no member 'shwo'
        model.anyRenamed.add(self) { view, text in view.shwo(text) }
    }

    func typoThroughGroup(_ model: Model) {
        // error at claer: value of type 'View' has no member 'claer'
        model.changed.add(self) { view in view.claer() }
    }

    func typoWithEvent(_ model: Model) {
        // error at nmae: value of type 'OrderPlaced' has no member 'nmae'
        model.events.observers(of: OrderPlaced.self).add(self) { view, order in view.show(order.nmae) }
    }

    func typoWithBridgedEvent(_ model: Model) {
        // error at shwo: value of type 'View' has no member 'shwo'
        model.center.observers(of: ThemeChanged.self).add(self) { view, theme in view.shwo(theme.name) }
    }

    func typoWithNotificationName(_ model: Model) {
        // error at didRelaod: type 'Notification.Name' (aka 'NSNotification.Name') has no member 'didRelaod'
        model.center.observers(named: .didRelaod).add(self) { view in view.clear() }
    }

    func typoOnLocalSet(_ local: LocalModel) {
        // error at shwo: value of type 'View' has no member 'shwo'
        local.renamed.add(self) { view, text in view.shwo(text) }
    }

    func typoOnLocalVoidSet(_ local: LocalModel) {
        // error at claer: value of type 'View' has no member 'claer'
        local.cleared.add(self) { view in view.claer() }
    }

    func twoTyposOnVoidSet(_ model: Model) {
        // error at shwo: value of type 'View' has no member 'shwo'
        // error at titel: value of type 'View' has no member 'titel'
        model.cleared.add(self) { view in view.shwo(view.titel) }
    }

    func twoTyposOnValueSet(_ model: Model) {
        // error at shwo: value of type 'View' has no member 'shwo'
        // error at upercased: value of type 'String' has no member 'upercased'
        model.renamed.add(self) { view, text in view.shwo(text.upercased()) }
    }

    func twoTyposOnValueSetInSeveralStatements(_ model: Model) {
        model.renamed.add(self) { view, text in
            // error at cuont: value of type 'View' has no member 'cuont'
            view.cuont += 1
            view.shwo(text)
        }
    }

    func twoTyposOnValueSetWithoutOwner(_ model: Model) {
        // error at shwo: value of type 'View' has no member 'shwo'
        // error at upercased: value of type 'String' has no member 'upercased'
        model.renamed.add { text in self.shwo(text.upercased()) }
    }

    func twoTyposOnLocalSet(_ local: LocalModel) {
        // error at shwo: value of type 'View' has no member 'shwo'
        // error at upercased: value of type 'String' has no member 'upercased'
        local.renamed.add(self) { view, text in view.shwo(text.upercased()) }
    }

    func threeTyposOnValueSet(_ model: Model) {
        // misleading: three members are misspelt; with as many mistakes the form for `Void` is a better guess
        // error at add: referencing instance method 'add(_:_:isolation:fileID:line:)' on 'NotificationSource' requires
        //     the types 'String' and '()' be equivalent
        model.renamed.add(self) { view, text in view.shwo(text.upercased() + view.titel) }
    }

    func typoAndWrongType(_ model: Model) {
        // misleading: a label is misspelt and an argument too many; the form for `Void` is as good a guess
        // error at add: referencing instance method 'add(_:_:isolation:fileID:line:)' on 'NotificationSource' requires
        //     the types '(name: String, index: Int)' and '()' be equivalent
        // error at view: contextual closure type '@isolated(any) @Sendable (View) -> Void' expects 1 argument, but 2
        //     were used in closure body
        model.itemAdded.add(self) { view, item in view.show(item.nmae, item.index) }
    }

    func typoOfSet(_ model: Model) {
        // error at cleard: value of type 'Model' has no member 'cleard'
        model.cleard.add(self) { view in view.clear() }
    }

    func typoOfAdd(_ model: Model) {
        // error at addd: value of type 'ObserverSet<Void>' has no member 'addd'
        model.cleared.addd(self) { view in view.clear() }
    }
}

extension History {
    func twoTyposInActor(_ model: Model) {
        // error at shwo: value of type 'History' has no member 'shwo'
        // error at upercased: value of type 'String' has no member 'upercased'
        model.renamed.add(self) { history, text in history.shwo(text.upercased()) }
    }

    func typoInActor(_ model: Model) {
        // error at shwo: value of type 'History' has no member 'shwo'
        model.renamed.add(self) { history, text in history.shwo(text) }
    }

    func typoInActorOnVoidSet(_ model: Model) {
        // error at claer: value of type 'History' has no member 'claer'
        model.cleared.add(self) { history in history.claer() }
    }

    func typoAndWrongTypeInActor(_ model: Model) {
        // misleading: two members are misspelt; the form for `Void` is as good a guess
        // error at add: referencing instance method 'add(_:_:isolation:fileID:line:)' on 'NotificationSource' requires
        //     the types '(name: String, index: Int)' and '()' be equivalent
        // error at history: contextual closure type '@isolated(any) @Sendable (History) -> Void' expects 1 argument,
        //     but 2 were used in closure body
        model.itemAdded.add(self) { history, item in history.show(item.nmae, item.count) }
    }

    func typoInActorInSeveralStatements(_ model: Model) {
        model.renamed.add(self) { history, text in
            history.count += 1
            // error at shwo: value of type 'History' has no member 'shwo'
            history.shwo(text)
        }
    }
}
