// Registrations are ended with the wrong thing.

import ObserverSet

extension View {
    func removesOwner(_ model: Model) {
        // error at self: cannot convert value of type 'View' to expected argument type 'ObserverToken'
        model.renamed.remove(self)
    }

    func removesNothing(_ model: Model) {
        // error at ): missing argument for parameter #1 in call
        model.renamed.remove()
    }

    func removesAllOfOwnerWithoutLabel(_ model: Model) {
        // error at self: missing argument label 'ownedBy:' in call
        model.renamed.removeAll(self)
    }

    func removesAllOfOwnerWithOtherLabel(_ model: Model) {
        // error at (: incorrect argument label in call (have 'of:', expected 'ownedBy:')
        model.renamed.removeAll(of: self)
    }

    func removesMethod(_ model: Model) {
        // error at show: cannot convert value of type '@Sendable (View) -> @MainActor @Sendable (String) -> ()' to
        //     expected argument type 'ObserverToken'
        // error at self: extra argument 'of' in call
        model.renamed.remove(method: View.show, of: self)
    }

    func removesOptionalToken(_ model: Model, _ token: ObserverToken?) {
        // error at token: value of optional type 'ObserverToken?' must be unwrapped to a value of type 'ObserverToken'
        model.renamed.remove(token)
    }

    func removesLocalToken(_ model: Model, _ token: LocalObserverSet<String>.Token) {
        // error at token: cannot convert value of type 'LocalObserverSet<String>.Token' to expected argument type
        //     'ObserverToken'
        model.renamed.remove(token)
    }

    func removesTokenOfOtherLocalSet(_ local: LocalModel, _ token: LocalObserverSet<Int>.Token) {
        // error at token: cannot convert parent type 'LocalObserverSet<Int>' to expected type
        //     'LocalObserverSet<String>'
        local.renamed.remove(token)
    }

    func removesThroughSource(_ model: Model, _ token: ObserverToken) {
        // error at remove: value of type 'some NotificationSource<String>' has no member 'remove'
        model.renamedSource.remove(token)
    }

    func removesAllThroughSource(_ model: Model) {
        // error at removeAll: value of type 'some NotificationSource<String>' has no member 'removeAll'
        model.renamedSource.removeAll(ownedBy: self)
    }

    func countsThroughSource(_ model: Model) {
        // error at count: value of type 'some NotificationSource<String>' has no member 'count'
        print(model.renamedSource.count)
    }

    func describesSource(_ model: Model) {
        // error at debugDescription: value of type 'some NotificationSource<String>' has no member 'debugDescription'
        print(model.renamedSource.debugDescription)
    }

    func cancelsToken(_ token: ObserverToken) {
        // error at cancel: value of type 'ObserverToken' has no member 'cancel'
        token.cancel()
    }

    func storesInList(_ model: Model, _ tokens: [ObserverToken]) {
        var tokens = tokens
        // error at &: cannot convert value of type '[ObserverToken]' to expected argument type 'ObserverBag'
        model.cleared.add { print("cleared") }.store(in: &tokens)
        print(tokens)
    }

    func addsToBag(_ token: ObserverToken, _ bag: ObserverBag) {
        // error at add: value of type 'ObserverBag' has no member 'add'
        bag.add(token)
    }

    func keepsOwnerForToken(_ model: Model) {
        // error at add: cannot convert value of type 'ObserverToken' to specified type 'View'
        let token: View = model.cleared.add(self) { view in view.clear() }
        token.clear()
    }

    func forgetsToken(_ model: Model) {
        // warning at add: result of call to 'add(_:isolation:fileID:line:)' is unused
        model.renamed.add { [weak self] text in self?.show(text) }
    }

    func forgetsTokenOfOnce(_ model: Model) {
        // warning at addNonisolated: result of call to 'addNonisolated(_:fileID:line:)' is unused
        model.cleared.once.addNonisolated { print("cleared") }
    }

    func forgetsTokenOfAwaiting(_ model: Model) {
        // warning at addAsync: result of call to 'addAsync(buffering:_:isolation:fileID:line:)' is unused
        model.renamed.addAsync { text in await Task.yield() }
    }

    func forgetsTokenOfLocalSet(_ local: LocalModel) {
        // warning at add: result of call to 'add(_:isolation:fileID:line:)' is unused
        local.renamed.add { text in print(text) }
    }
}
