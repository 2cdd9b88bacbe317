// What an observer that awaits is not.

import ObserverSet

extension View {
    func typoInAwaiting(_ model: Model) {
        // error at shwo: value of type 'View' has no member 'shwo'
        model.renamed.addAsync { text in self.shwo(text) }
    }

    func typoInAwaitingAfterAwait(_ model: Model, _ history: History) {
        model.renamed.addAsync { text in
            await history.show(text)
            // error at shwo: value of type 'View' has no member 'shwo'
            self.shwo(text)
        }
    }

    func typoInAwaitingOnVoidSet(_ model: Model) {
        // error at claer: value of type 'View' has no member 'claer'
        model.cleared.addAsync { self.claer() }
    }

    func typoInAwaitingWithOwner(_ model: Model, _ history: History) {
        model.renamed.addAsync(self) { view, text in
            await history.show(text)
            // error at shwo: value of type 'View' has no member 'shwo'
            view.shwo(text)
        }
    }

    func typoInAwaitingWithOwnerOnVoidSet(_ model: Model) {
        // error at claer: value of type 'View' has no member 'claer'
        model.cleared.addAsync(self) { view in view.claer() }
    }

    func typoInAwaitingInGuard(_ model: Model) {
        model.renamed.addAsync(self) { view, text in
            // error at isOpne: value of type 'View' has no member 'isOpne'
            guard view.isOpne else { return }
            view.show(text)
        }
    }

    func typoInAwaitingWithActor(_ model: Model, _ history: History) {
        // error at shwo: value of type 'History' has no member 'shwo'
        model.renamed.addAsync(history) { history, text in history.shwo(text) }
    }

    func typoOfAwaitedMethod(_ model: Model, _ history: History) {
        // error at shwo: value of type 'History' has no member 'shwo'
        model.itemAdded.addAsync { item in await history.shwo(item.name) }
    }

    func typoOfLabelInAwaiting(_ model: Model, _ history: History) {
        // error at nmae: value of tuple type '(name: String, index: Int)' has no member 'nmae'
        model.itemAdded.addAsync { item in await history.show(item.nmae) }
    }

    func ownerAloneOnAwaitedValueSet(_ model: Model) {
        // error at view: contextual closure type '@isolated(any) @Sendable (View, String) async -> Void' expects 2
        //     arguments, but 1 was used in closure body
        model.renamed.addAsync(self) { view in view.clear() }
    }

    func noParameterOnAwaitedValueSet(_ model: Model) {
        // error at {: contextual type for closure argument list expects 1 argument, which cannot be implicitly ignored
        model.renamed.addAsync { self.clear() }
    }

    func valueOnAwaitedVoidSet(_ model: Model) {
        // error at text: cannot convert value of type 'Void' to expected argument type 'String'
        model.cleared.addAsync(self) { view, text in view.show(text) }
    }

    func twoParametersWithoutOwnerInAwaiting(_ model: Model) {
        // error at view: contextual closure type '@isolated(any) @Sendable (String) async -> Void' expects 1 argument,
        //     but 2 were used in closure body
        // error at show: value of type 'String' has no member 'show'
        model.renamed.addAsync { view, text in view.show(text) }
    }

    func elementsOfPairWithOwnerInAwaiting(_ model: Model) {
        // error at view: contextual closure type '@isolated(any) @Sendable (View, (Int, Int)) async -> Void' expects 2
        //     arguments, but 3 were used in closure body
        // error at from: cannot convert value of type '(Int, Int)' to expected argument type 'Int'
        model.moved.addAsync(self) { view, from, to in view.move(from, to) }
    }

    func throwsInAwaiting(_ model: Model) {
        // error at {: invalid conversion from throwing function of type '@Sendable (View, String) throws -> Void' to
        //     non-throwing function type '@isolated(any) @Sendable (View, String) async -> Void'
        model.renamed.addAsync(self) { view, text in try view.save(text) }
    }

    func forgetsAwaitInAwaiting(_ model: Model, _ history: History) {
        // error at show: actor-isolated instance method 'show' cannot be called from outside of the actor
        _ = model.renamed.addAsync { text in history.show(text) }
    }

    func buffersSeveralOfLatest(_ model: Model) {
        // error at latest: enum case 'latest' has no associated values
        model.renamed.addAsync(buffering: .latest(1)) { text in self.show(text) }
    }

    func awaitsOnALocalSet(_ local: LocalModel) {
        // error at addAsync: value of type 'LocalObserverSet<String>' has no member 'addAsync'
        local.renamed.addAsync { text in self.show(text) }
    }

    func awaitsSeveralTimes(_ model: Model, _ history: History) {
        // error at {: cannot pass function of type '@Sendable (View, (name: String, index: Int)) async -> Void' to
        //     parameter expecting synchronous function type
        model.itemAdded.add(self) { view, item in
            await history.show(item.name)
            view.count += 1
        }
    }

    func awaitsOnVoidSet(_ model: Model, _ history: History) {
        // error at {: cannot pass function of type '@Sendable (View) async -> ()' to parameter expecting synchronous
        //     function type
        model.cleared.add(self) { view in await history.clear() }
    }
}

func ownerOfAwaitingIsPlain(_ model: Model, _ draft: Draft) {
    // error at addAsync: type 'Draft' does not conform to the 'Sendable' protocol
    model.renamed.addAsync(draft) { draft, text in draft.text = text }
}

func ownerOfAwaitingIsPlainOnVoidSet(_ model: Model, _ draft: Draft) {
    // error at addAsync: type 'Draft' does not conform to the 'Sendable' protocol
    model.cleared.addAsync(draft) { draft in draft.text = "" }
}

func captureOfAwaitingIsPlain(_ model: Model, _ draft: Draft) {
    // error at draft: capture of 'draft' with non-Sendable type 'Draft' in a '@Sendable' closure
    _ = model.renamed.addAsync { text in draft.text = text }
}

extension History {
    func ownerAloneInAwaitingActor(_ model: Model) {
        // error at history: contextual closure type '@isolated(any) @Sendable (History, String) async -> Void' expects
        //     2 arguments, but 1 was used in closure body
        model.renamed.addAsync(self) { history in history.clear() }
    }
}

extension View {
    func bufferingAsOfAsyncStream(_ model: Model) {
        // misleading: it is `buffering: .newest(1)`
        // error at bufferingNewest: cannot infer contextual base in reference to member 'bufferingNewest'
        // error at bufferingNewest: extra argument 'bufferingPolicy' in call
        _ = model.renamed.values(bufferingPolicy: .bufferingNewest(1))
    }
}
