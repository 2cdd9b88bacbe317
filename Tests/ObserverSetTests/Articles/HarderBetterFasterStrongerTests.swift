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

    @Test("An enumeration case is posted by its type, and observed with its associated values")
    func cases() {
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

    @Test("The notification's name is the type's name with module and nesting, or the name that the type declares")
    func names() {
        expect(
            Barista.notificationName.rawValue, equals: "ObserverSetTests.HarderBetterFasterStrongerTests.Barista")
        expect(ShopOpened.notificationName.rawValue, equals: "CoffeeShopDidOpen")
    }

    @Test("Observers added by name with a block receive typed posts")
    func oldObserver() {
        let token = center.addObserver(forName: Notification.Name("CoffeeShopDidOpen"), object: nil, queue: nil) {
            [log] notification in log.append("opened at \(notification.userInfo?["hour"] as? Int ?? -1)")
        }

        center.post(ShopOpened(hour: 7))

        expect(log.entries, equals: ["opened at 7"])
        center.removeObserver(token)
    }

    @Test("Typed observers receive posts by name, except those whose `userInfo` does not fit")
    func oldPoster() {
        _ = center.observers(of: ShopOpened.self).add { [log] in log.append("opened at \($0.hour)") }

        center.post(name: Notification.Name("CoffeeShopDidOpen"), object: nil, userInfo: ["hour": 8])
        center.post(name: Notification.Name("CoffeeShopDidOpen"), object: nil, userInfo: ["hour": "eight"])

        expect(log.entries, equals: ["opened at 8"])
    }

    @Test("An observer that asks for a sender receives only that sender's posts")
    func senders() {
        let shop = Tracked()
        _ = center.observers(of: ShopOpened.self, object: shop).add { [log] in log.append("ours at \($0.hour)") }

        center.post(ShopOpened(hour: 7))
        center.post(ShopOpened(hour: 9), object: shop)

        expect(log.entries, equals: ["ours at 9"])
    }
}
#endif
