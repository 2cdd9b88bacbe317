// Functions that are passed by their names, in the settings of a new Xcode project. Nothing here is marked `@MainActor`: the types
// and functions belong to the main actor, because that is the default. The compiler says nothing about any of these forms, so each
// observer checks where it runs. Forms that it warns of are in Tests/Clients/NewProject.

import Foundation
import ObserverSet

nonisolated struct Order: Event {}

nonisolated struct Theme: BridgedEvent {}

nonisolated extension Notification.Name {
    static let posted = Notification.Name("Posted")
}

/// A source of the client's own.
nonisolated struct Titles: NotificationSource {
    let base: ObserverSet<String>
    func register(_ observer: Observer<String>) -> ObserverToken { base.register(observer) }
    func settled() async { await base.settled() }
}

nonisolated final class Store: Sendable {
    let renamed = ObserverSet<String>()
    let other = ObserverSet<String>()
    let cleared = ObserverSet<Void>()
    let moved = ObserverSet<(Int, Int)>()
    let publisher = EventPublisher()
    let center = NotificationCenter()

    func notify(isolation: isolated (any Actor)? = #isolation) {
        renamed.notify("text")
        cleared.notify()
        moved.notify(1, 2)
        publisher.publish(Order())
        center.post(Theme())
        center.post(name: .posted, object: nil, userInfo: ["text": "text"])
    }
}

protocol Player: AnyObject {
    func stopped()
}

var calls = 0

func called() {
    MainActor.preconditionIsolated()
    calls += 1
}

func print(_ text: String) { called() }
func printTheme(_ theme: Theme) { called() }
func printLater(_ text: String) async { called() }
func tell(_ player: any Player) { player.stopped() }
func note(_ screen: Screen, _ text: String) { screen.show(text) }

nonisolated final class Log: Sendable {
    func write(_ text: String) { MainActor.assumeIsolated { called() } }
}

final class Screen: Player {
    func show(_ text: String) { called() }
    func showLater(_ text: String) async { called() }
    func clear() { called() }
    func move(_ step: (Int, Int)) { called() }
    func take(_ order: Order) { called() }
    func hear(_ event: any Event) { called() }
    func change(_ theme: Theme) { called() }
    func stopped() { called() }

    /// Adds observers to a source, and returns how many.
    func observe(_ source: some NotificationSource<String>, _ log: Log) -> Int {
        _ = source.add(show)
        _ = source.add(self.show)
        let function = show
        _ = source.add(function)
        _ = source.add(print)
        let global = print
        _ = source.add(global)
        _ = source.add(log.write)
        source.add(self, note)
        _ = source.add { self.show($0) }
        _ = source.add { [weak self] text in self?.show(text) }
        source.add(self) { screen, text in screen.show(text) }
        return 10
    }

    func await(_ source: some NotificationSource<String>) -> Int {
        _ = source.addAsync(showLater)
        let function = showLater
        _ = source.addAsync(function)
        _ = source.addAsync(printLater)
        _ = source.addAsync { await self.showLater($0) }
        source.addAsync(self) { screen, text in await screen.showLater(text) }
        return 5
    }

    /// The same for values of other types.
    func observeOthers(_ store: Store) -> Int {
        _ = store.cleared.add(clear)
        _ = store.cleared.once.add(clear)
        _ = ObserverGroup(store.renamed, store.cleared).add(clear)
        _ = store.center.observers(named: .posted).add(clear)
        _ = store.moved.add(move)
        _ = store.publisher.observers(of: Order.self).add(take)
        _ = store.publisher.allEvents.add(hear)
        _ = store.center.observers(of: Theme.self).add(change)
        _ = store.center.observers(of: Theme.self).add(printTheme)
        return 10  // a group counts twice
    }
}

/// Code that belongs to no actor adds functions that do.
nonisolated func observeFromNowhere(_ source: some NotificationSource<String>, _ screen: Screen) -> Int {
    _ = source.add(screen.show)
    source.add(screen, note)
    source.add(method: Screen.show, of: screen)
    _ = source.add { @MainActor text in screen.show(text) }
    source.add(screen) { @MainActor screen, text in screen.show(text) }
    _ = source.addAsync(screen.showLater)
    return 6
}

/// An actor, whose methods run on it.
actor Archive {
    var count = 0

    func hear(_ text: String) {
        preconditionIsolated()
        count += 1
    }

    func hearLater(_ text: String) async { hear(text) }

    func observe(_ source: some NotificationSource<String>) -> Int {
        _ = source.add(hear)
        let function = hear
        _ = source.add(function)
        _ = source.add { self.hear($0) }
        source.add(self) { archive, text in archive.hear(text) }
        _ = source.addAsync(hearLater)
        return 5
    }

    /// What belongs to the main actor, added by another actor.
    func add(_ screen: Screen, to source: some NotificationSource<String>) -> Int {
        _ = source.add(print)
        _ = source.add(screen.show)
        source.add(screen, note)
        return 3
    }

    func notify(_ store: Store) { store.notify() }
}

/// Checks the functions with one source, whose observers receive `first` of three notifications and `extra` more values.
func checkNames(_ name: String, first: Int = 3, extra: Int = 0, _ source: (Store) -> some NotificationSource<String>)
    async
{
    for isOnMainFirst in [true, false] {
        let store = Store()
        let screen = Screen()
        let log = Log()
        let archive = Archive()
        let source = source(store)
        calls = 0
        var inPlace = screen.observe(source, log)
        precondition(calls == extra * inPlace, "\(name): \(calls) calls before the first notification")
        inPlace += await Task.detached { observeFromNowhere(source, screen) }.value + archive.add(screen, to: source)
        let all = inPlace + screen.await(source)
        let onTheArchive = await archive.observe(source)
        for sender in isOnMainFirst ? [0, 1, 2] : [2, 1, 0] {
            let past = calls
            switch sender {
            case 0:
                store.notify()
                if isOnMainFirst && extra == 0 {
                    // One of those from nowhere awaits.
                    precondition(
                        calls - past == inPlace - 1, "\(name): \(calls - past) calls in place, not \(inPlace - 1)")
                }
            case 1: await archive.notify(store)
            default: await Task.detached { store.notify() }.value
            }
            await source.settled()
        }
        let expected = (all * (first + extra), onTheArchive * (first + extra))
        let found = (calls, await archive.count)
        precondition(found == expected, "\(name): \(found) calls, not \(expected)")
    }
}

func checkAllNames() async {
    await checkNames("a set") { $0.renamed }
    await checkNames("once", first: 1) { $0.renamed.once }
    await checkNames("map") { $0.renamed.map { $0 } }
    await checkNames("filter") { $0.renamed.filter { _ in true } }
    await checkNames("merge") { $0.renamed.merge(with: $0.other) }
    await checkNames("starting(with:)", extra: 1) { $0.renamed.starting(with: "first") }
    await checkNames("a source of the client's own") { Titles(base: $0.renamed) }
    await checkNames("notifications") { $0.center.observers(named: .posted, as: { $0.userInfo?["text"] as? String }) }

    let store = Store(), screen = Screen()
    calls = 0
    let added = screen.observeOthers(store)
    store.notify()
    precondition(calls == added, "\(calls) of \(added) calls in place")
    await Task.detached { store.notify() }.value
    await store.cleared.settled()
    await store.renamed.settled()
    await store.moved.settled()
    await store.publisher.settled()
    await store.center.observers(of: Theme.self).settled()
    await store.center.observers(named: .posted).settled()
    precondition(calls == 2 * added - 1, "\(calls) calls, not \(2 * added - 1)")  // one of them only once

    let delegates = MulticastDelegate<any Player>()
    delegates.add(screen)
    calls = 0
    delegates.notify { $0.stopped() }
    delegates.notify(tell)
    let local = LocalObserverSet<String>()
    _ = local.add(screen.show)
    local.notify("text")
    precondition(calls == 3)
}
