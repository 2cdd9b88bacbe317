// What is not a single set: events that are observed by their type, whichever code publishes them; several notifications
// observed as one; and Foundation's notifications by type, side by side with code that knows only names and `userInfo`.
//
//     swift run Events

#if NotificationCenter
import Foundation
#endif
import ObserverSet

struct OrderPlaced: Event {
    let number: Int
    let total: Double
}

struct OrderShipped: Event {
    let number: Int
}

/// Publishes events, without knowing their observers.
struct Shop: Sendable {
    var events = EventPublisher.default

    func place(_ number: Int, total: Double) { events.publish(OrderPlaced(number: number, total: total)) }
    func ship(_ number: Int) { events.publish(OrderShipped(number: number)) }
}

/// Belongs to the main actor, and receives events there, wherever they are published.
@MainActor final class Badge {
    private var open: Set<Int> = []

    init(_ events: EventPublisher = .default) {
        events.observers(of: OrderPlaced.self).add(self) { badge, order in badge.open.insert(order.number) }
        events.observers(of: OrderShipped.self).add(method: Badge.close, of: self)
    }

    private func close(_ order: OrderShipped) {
        open.remove(order.number)
        print("badge: \(open.count) open")
    }
}

/// An actor, which receives events in the order they were published.
actor Ledger {
    private(set) var total = 0.0

    func follow(_ events: EventPublisher = .default) {
        events.observers(of: OrderPlaced.self).add(self) { ledger, order in ledger.total += order.total }
    }
}

let badge = Badge()
let ledger = Ledger()
await ledger.follow()
let log = EventPublisher.default.allEvents.addNonisolated { event in print("log: \(event)") }

let shop = Shop()
shop.place(1, total: 20)
await Task.detached {
    shop.place(2, total: 9.5)
    shop.ship(1)
}.value

await EventPublisher.default.settled()
print("ledger: \(await ledger.total)")

// A test passes its own publisher, so that it receives no events from the rest of the program.
let events = EventPublisher()
_ = events.observers(of: OrderPlaced.self).once.add { order in print("test: \(order.number)") }
Shop(events: events).place(3, total: 1)

print(EventPublisher.default.debugDescription)

// MARK: - Several notifications, observed as one

@MainActor final class Recipe {
    let titleChanged = ObserverSet<String>()
    let ingredientAdded = ObserverSet<(name: String, grams: Int)>()
    let stepsReordered = ObserverSet<(Int, Int)>()

    /// Anything that makes a saved copy out of date.
    var changed: ObserverGroup { ObserverGroup(titleChanged, ingredientAdded, stepsReordered) }

    /// Every word that is new in it.
    var worded: some NotificationSource<String> { titleChanged.merge(with: ingredientAdded.map { $0.name }) }
}

/// An actor: the changes reach it in order, while the cook goes on.
actor Store {
    private var changes = 0

    func observe(_ changed: ObserverGroup) {
        changed.add(self) { store in store.changes += 1 }
    }

    func save() { print("saved a recipe with \(changes) changes") }
}

let recipe = Recipe()
let store = Store()
await store.observe(recipe.changed)

// One call in all, whichever notification comes first.
_ = recipe.changed.once.add { print("the recipe is edited") }

// If all members have the same parameters, observers receive these.
_ = recipe.worded.filter { $0.count > 8 }.add { word in print("new: \(word)") }

// One token ends all three registrations.
let marker = recipe.changed.add { print("unsaved changes") }

recipe.titleChanged.notify("Shakshuka")
recipe.ingredientAdded.notify((name: "tomatoes", grams: 800))
marker.remove()
recipe.stepsReordered.notify(2, 1)

await recipe.changed.settled()
await store.save()

// MARK: - Foundation's notifications

// Without the package trait NotificationCenter, which is on by default, this code is left out.
#if NotificationCenter
// MARK: Code that uses names and `userInfo`

extension Notification.Name {
    static let batteryDidChange = Notification.Name("BatteryDidChange")
}

func postAsEver(_ percent: Int, to center: NotificationCenter) {
    center.post(name: .batteryDidChange, object: nil, userInfo: ["percent": percent])
}

// MARK: The same notification, typed

struct BatteryChanged: BridgedEvent {
    let percent: Int

    static var notificationName: Notification.Name { .batteryDidChange }
    var userInfo: [AnyHashable: Any]? { ["percent": percent] }

    init(percent: Int) { self.percent = percent }

    init?(_ notification: Notification) {
        guard let percent = notification.userInfo?["percent"] as? Int else { return nil }
        self.init(percent: percent)
    }
}

/// A new event needs no additional code.
struct ChargerConnected: BridgedEvent {
    let watts: Double
}

@MainActor final class StatusBar {
    init(_ center: NotificationCenter) {
        center.observers(of: BatteryChanged.self).add(self) { bar, battery in bar.show("\(battery.percent) %") }
        center.observers(of: ChargerConnected.self).add(self) { bar, charger in bar.show("\(charger.watts) W") }
        center.observers(named: UserDefaults.didChangeNotification).add(self) { bar in bar.show("other settings") }
    }

    func show(_ text: String) { print("status bar:", text) }
}

let center = NotificationCenter.default
var bar: StatusBar? = StatusBar(center)
let old = center.addObserver(forName: .batteryDidChange, object: nil, queue: nil) { notification in
    print("old observer:", notification.userInfo?["percent"] ?? "?")
}

postAsEver(80, to: center)  // the status bar receives it
center.post(BatteryChanged(percent: 79))  // the old observer receives it
center.post(name: .batteryDidChange, object: nil, userInfo: ["percent": "?"])  // the status bar skips this payload
center.post(ChargerConnected(watts: 65))

bar = nil  // nothing to remove
postAsEver(81, to: center)
center.removeObserver(old)
#endif
