// What the closures that must compile use, which closures.awk writes, and the mistakes in Messages.

import Foundation
import ObserverSet

nonisolated let limit = 1

nonisolated struct Failure: Error {}

nonisolated struct OrderPlaced: Event {
    let name: String
    let number: Int
}

nonisolated class Message: Event, @unchecked Sendable {
    let text = "text"
}

nonisolated struct ThemeChanged: BridgedEvent {
    let name: String
    let number: Int
}

nonisolated extension Notification.Name {
    static let didReload = Notification.Name("DidReload")
}

/// Each kind of source that may be observed from anywhere, with each kind of parameters.
nonisolated final class Model: Sendable {
    let cleared = ObserverSet<Void>()
    let renamed = ObserverSet<String>()
    let itemAdded = ObserverSet<(name: String, index: Int)>()
    let moved = ObserverSet<(Int, Int)>()

    var clearedSource: some NotificationSource<Void> { cleared }
    var renamedSource: some NotificationSource<String> { renamed }
    var itemAddedSource: some NotificationSource<(name: String, index: Int)> { itemAdded }
    var movedSource: some NotificationSource<(Int, Int)> { moved }

    var anyCleared: any NotificationSource<Void> { cleared }
    var anyRenamed: any NotificationSource<String> { renamed }
    var anyItemAdded: any NotificationSource<(name: String, index: Int)> { itemAdded }
    var anyMoved: any NotificationSource<(Int, Int)> { moved }

    var changed: ObserverGroup { ObserverGroup(cleared, renamed, itemAdded, moved) }
    let events = EventPublisher()
    var center: NotificationCenter { .default }
}

/// Sets that stay in their isolation domain.
nonisolated final class LocalModel {
    let cleared = LocalObserverSet<Void>()
    let renamed = LocalObserverSet<String>()
    let itemAdded = LocalObserverSet<(name: String, index: Int)>()
    let moved = LocalObserverSet<(Int, Int)>()
}

/// Belongs to the main actor.
///
/// `.ci/compiler` makes two more of it: `Log`, which belongs to no actor and may be used on any thread, and the actor
/// `History`.
@MainActor final class View {
    var isOpen = true
    var count = 0
    var words: Set<String> = []

    func show(_ text: String) {}
    func save(_ text: String) throws { throw Failure() }
    func clear() {}
    func insert(_ item: (name: String, index: Int)) {}
    func move(_ from: Int, _ to: Int) {}
    func take(_ order: OrderPlaced) {}
    func receive(_ message: Message) {}
    func hear(_ event: any Event) {}
    func change(_ theme: ThemeChanged) {}
}

/// What the README's known limits warn of: the compiler lets the actor's method lose its isolation without a
/// diagnostic.
///
/// If it refused that, the limits would have to be rewritten.
extension History {
    #if swift(>=6)
    func losesItsIsolation(_ model: Model) {
        _ = model.renamed.addNonisolated(on: .global(), show)
        _ = model.renamed.addNonisolated(show)
        model.renamed.filter(isNew).add(self) { history, text in history.show(text) }
    }
    #endif

    private func isNew(_ text: String) -> Bool { !words.contains(text) }
}
