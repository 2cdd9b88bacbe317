#if NotificationCenter
import Foundation
import ObserverSet
import Testing

/// The system of the article "Harder, Better, Faster, Stronger Notification", as its reader would write it today.
///
/// A notification is a value that has a name by default, and may declare another one. It is posted and observed by type
/// through Foundation's center, where observers that know only the name still receive it.
@Suite("Harder, Better, Faster, Stronger Notification", .lifetimesChecked)
struct HarderBetterFasterStrongerTests {
    private let center = NotificationCenter()
    private let log = Log<String>()
}

extension HarderBetterFasterStrongerTests {
    /// An enumeration, whose cases the observer distinguishes.
    enum Barista: BridgedEvent {
        case started(coffee: String)
        case finished(coffee: String, seconds: Int)
    }

    /// A notification that existed before, with its old name and `userInfo`.
    struct ShopOpened: BridgedEvent {
        let hour: Int

        static var notificationName: Notification.Name { Notification.Name("CoffeeShopDidOpen") }
        var userInfo: [AnyHashable: Any]? { ["hour": hour] }

        init(hour: Int) {
            self.hour = hour
        }

        init?(_ notification: Notification) {
            guard let hour = notification.userInfo?["hour"] as? Int else { return nil }
            self.init(hour: hour)
        }
    }

    @Test("An enumeration case is posted by its type, under the type's name, and observed with its associated values")
    func cases() {
        expect(Barista.notificationName.rawValue, equals: "ObserverSetTests.HarderBetterFasterStrongerTests.Barista")
        _ = center.observers(of: Barista.self).add { [log] event in
            switch event {
            case .started(let coffee): log.append("started \(coffee)")
            case .finished(let coffee, let seconds): log.append("\(coffee) after \(seconds) s")
            }
        }

        center.post(Barista.started(coffee: "cortado"))
        center.post(Barista.finished(coffee: "cortado", seconds: 45))

        expect(log.entries, equals: ["started cortado", "cortado after 45 s"])
    }

    @Test("Code that knows only the name observes typed posts, and posts to typed observers, if its `userInfo` fits")
    func oldCode() {
        let (name, shop) = (Notification.Name("CoffeeShopDidOpen"), Tracked())
        let token = center.addObserver(forName: name, object: nil, queue: nil) { [log] notification in
            log.append("old: \(notification.userInfo?["hour"] ?? "")")
        }
        _ = center.observers(of: ShopOpened.self).add { [log] in log.append("new: \($0.hour)") }
        _ = center.observers(of: ShopOpened.self, object: shop).add { [log] in log.append("ours: \($0.hour)") }

        center.post(ShopOpened(hour: 7))
        center.post(ShopOpened(hour: 8), object: shop)
        center.post(name: name, object: nil, userInfo: ["hour": 9])
        center.post(name: name, object: nil, userInfo: ["hour": "ten"])
        center.removeObserver(token)
        center.post(ShopOpened(hour: 11))

        // Foundation says nothing of the order of its observers.
        expect(
            log.entries.sorted(),
            equals: ["new: 11", "new: 7", "new: 8", "new: 9", "old: 7", "old: 8", "old: 9", "old: ten", "ours: 8"])
    }
}
#endif
