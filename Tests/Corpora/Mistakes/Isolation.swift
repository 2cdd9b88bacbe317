// An observer touches what belongs to an actor on which it does not run.

import Dispatch
import ObserverSet

extension View {
    func methodFromNonisolated(_ model: Model) {
        // error at show: call to main actor-isolated instance method 'show' in a synchronous nonisolated context
        model.renamed.addNonisolated(self) { view, text in view.show(text) }
    }

    func methodFromNonisolatedOnVoidSet(_ model: Model) {
        // error at clear: call to main actor-isolated instance method 'clear()' in a synchronous nonisolated context
        model.cleared.addNonisolated(self) { view in view.clear() }
    }

    func methodFromNonisolatedWithoutOwner(_ model: Model) {
        // error at show: call to main actor-isolated instance method 'show' in a synchronous nonisolated context
        _ = model.renamed.addNonisolated { text in self.show(text) }
    }

    func propertyFromNonisolated(_ model: Model) {
        // error at count: main actor-isolated property 'count' can not be referenced from a Sendable closure
        model.renamed.addNonisolated(self) { view, text in print(view.count, text) }
    }

    func methodOnQueueOfMain(_ model: Model) {
        // error at show: call to main actor-isolated instance method 'show' in a synchronous nonisolated context
        _ = model.renamed.addNonisolated(on: .main) { text in self.show(text) }
    }

    func methodOnQueueWithOwner(_ model: Model) {
        // error at show: call to main actor-isolated instance method 'show' in a synchronous nonisolated context
        model.renamed.addNonisolated(on: .main, self) { view, text in view.show(text) }
    }

    func appliedMethodNonisolated(_ model: Model) {
        // error at show: converting function value of type '@MainActor @Sendable (String) -> ()' to '@Sendable (String)
        //     -> Void' loses global actor 'MainActor'
        _ = model.renamed.addNonisolated(show)
    }

    func actorFromMainActor(_ model: Model, _ history: History) {
        // error at show: call to actor-isolated instance method 'show' in a synchronous main actor-isolated context
        model.renamed.add(self) { view, text in history.show(text) }
    }

    func actorFromMainActorWithoutOwner(_ model: Model, _ history: History) {
        // error at show: call to actor-isolated instance method 'show' in a synchronous main actor-isolated context
        _ = model.renamed.add { text in history.show(text) }
    }

    func mainActorFromActor(_ model: Model, _ history: History) {
        // error at show: call to main actor-isolated instance method 'show' in a synchronous actor-isolated context
        model.renamed.add(history) { history, text in self.show(text) }
    }

    func notifyInsideActor(_ model: Model, _ local: LocalModel) {
        // error at local: capture of 'local' with non-Sendable type 'LocalModel' in a '@Sendable' closure
        _ = model.renamed.addNonisolated { text in local.renamed.notify(text) }
    }
}

func mainActorFromNowhere(_ model: Model, _ view: View) {
    // error at show: call to main actor-isolated instance method 'show' in a synchronous nonisolated context
    model.renamed.add(view) { view, text in view.show(text) }
}

func mainActorFromNowhereOnVoidSet(_ model: Model, _ view: View) {
    // error at clear: call to main actor-isolated instance method 'clear()' in a synchronous nonisolated context
    model.cleared.add(view) { view in view.clear() }
}

func mainActorFromNowhereWithoutOwner(_ model: Model, _ view: View) {
    // error at show: call to main actor-isolated instance method 'show' in a synchronous nonisolated context
    _ = model.renamed.add { text in view.show(text) }
}

func mainActorFromNowhereOnLocalSet(_ local: LocalModel, _ view: View) {
    // error at show: call to main actor-isolated instance method 'show' in a synchronous nonisolated context
    local.renamed.add(view) { view, text in view.show(text) }
}

func actorFromNowhere(_ model: Model, _ history: History) {
    // error at show: call to actor-isolated instance method 'show' in a synchronous nonisolated context
    _ = model.renamed.add { text in history.show(text) }
}

func appliedMethodOfActor(_ model: Model, _ history: History) {
    // error at show: actor-isolated instance method 'show' can not be partially applied
    _ = model.renamed.add(history.show)
}

func appliedMethodOfMainActor(_ model: Model, _ view: View) {
    _ = model.renamed.add(view.show)
}

extension History {
    func actorWithWeakSelf(_ model: Model) {
        // misleading: does not say that a closure belongs to the actor only if it captures it strongly; use an owner
        // error at show: call to actor-isolated instance method 'show' in a synchronous nonisolated context
        _ = model.renamed.add { [weak self] text in self?.show(text) }
    }

    func actorFromNonisolated(_ model: Model) {
        // error at show: call to actor-isolated instance method 'show' in a synchronous nonisolated context
        model.renamed.addNonisolated(self) { history, text in history.show(text) }
    }

    func actorOnQueue(_ model: Model, _ queue: DispatchQueue) {
        // error at show: call to actor-isolated instance method 'show' in a synchronous nonisolated context
        model.renamed.addNonisolated(on: queue, self) { history, text in history.show(text) }
    }

    func actorAsOwnerOfLocalSet(_ local: LocalModel) {
        // misleading: does not say that the owner is not known to be the actor; capture it instead
        // error at show: call to actor-isolated instance method 'show' in a synchronous nonisolated context
        local.renamed.add(self) { history, text in history.show(text) }
    }

    func mainActorInActor(_ model: Model, _ view: View) {
        // error at show: call to main actor-isolated instance method 'show' in a synchronous actor-isolated context
        model.renamed.add(self) { history, text in view.show(text) }
    }

    func sourceOfMainActor(_ settings: Settings) {
        // error at changed: main actor-isolated property 'changed' can not be referenced on a nonisolated actor
        //     instance
        settings.changed.add(self) { history, text in history.show(text) }
    }
}

extension View {
    func sourceOfActor(_ loader: Loader) {
        // error at loaded: actor-isolated property 'loaded' can not be referenced from the main actor
        loader.loaded.add(self) { view, text in view.show(text) }
    }

    func changesActorFromMainActor(_ model: Model, _ history: History) {
        // error at words: actor-isolated property 'words' can not be mutated from the main actor
        model.renamed.add(self) { view, text in history.words.insert(text) }
    }
}

func sourceOfMainActorFromNowhere(_ settings: Settings) {
    // error at changed: main actor-isolated property 'changed' can not be referenced from a nonisolated context
    _ = settings.changed.add { text in print(text) }
}

@MainActor final class Settings {
    private let changes = ObserverSet<String>()
    var changed: some NotificationSource<String> { changes }
}

actor Loader {
    private let loads = ObserverSet<String>()
    var loaded: some NotificationSource<String> { loads }
}
