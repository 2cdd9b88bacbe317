import Dispatch
import ObserverSet
import Testing

/// What the page "Migrating" says of mechanisms of one's own, to the letter, and what goes wrong in simpler ways.
@Suite("Migrating from mechanisms of one's own", .lifetimesChecked, .againstHanging)
struct MigratingArticleTests {}

extension MigratingArticleTests {
    @MainActor final class Dispatcher<Action: Sendable> {
        private let actions = ObserverSet<Action>()

        /// The receipt ends the registration when it's released, as it always did.
        func register(_ callback: @escaping @MainActor @Sendable (Action) -> Void) -> ObserverBag {
            ObserverBag(actions.add(callback))
        }

        func dispatch(_ action: Action) { actions.notify(action) }
    }

    @Test("A receipt that is a bag ends its registration when it is released")
    @MainActor func receipts() {
        let dispatcher = Dispatcher<Int>()
        var received: [Int] = []
        var receipt: ObserverBag? = dispatcher.register { action in received.append(action) }

        dispatcher.dispatch(1)
        withExtendedLifetime(receipt) {}
        receipt = nil
        dispatcher.dispatch(2)

        expect(received, equals: [1])
    }

    nonisolated protocol PlayerDelegate: AnyObject, Sendable {
        func didPlay(_ title: String)
    }

    nonisolated final class PlayerDelegates: Sendable {
        private let calls = ObserverSet<@Sendable (any PlayerDelegate) -> Void>()
        private let queue = DispatchQueue(label: "delegates")

        func add(_ delegate: any PlayerDelegate) {
            calls.addNonisolated(on: queue, delegate) { delegate, call in call(delegate) }
        }

        func notify(_ call: @escaping @Sendable (any PlayerDelegate) -> Void) { calls.notify(call) }
    }

    private final class Listener: PlayerDelegate {
        let titles = Log<String>()
        func didPlay(_ title: String) { titles.append(title) }
    }

    @Test("Delegates on a queue are told in order, but not what was sent before they were added")
    func delegatesOnAQueue() async {
        let delegates = PlayerDelegates()
        let (early, late) = (Listener(), Listener())
        delegates.add(early)
        delegates.notify { $0.didPlay("one") }
        delegates.add(late)
        delegates.notify { $0.didPlay("two") }

        await eventually { early.titles.count == 2 && late.titles.count == 1 }

        expect(early.titles.entries, equals: ["one", "two"])
        expect(late.titles.entries, equals: ["two"])
    }

    @Test("If a multicast delegate is notified on a queue, a delegate is told what was sent before it was added")
    func multicastOnAQueue() {
        let delegates = MulticastDelegate<any PlayerDelegate>()
        let queue = DispatchQueue(label: "delegates")
        let late = Listener()
        queue.suspend()
        queue.async { delegates.notify { $0.didPlay("sent before the delegate was added") } }
        delegates.add(late)
        queue.resume()
        queue.sync {}

        expect(late.titles.count, equals: 1)
    }
}

#if NotificationCenter
import Foundation

extension MigratingArticleTests {
    nonisolated final class Player: Sendable {
        static let didStart = Notification.Name("PlayerDidStart")
        let started = ObserverSet<String>()

        init(_ center: NotificationCenter = .default) {
            started.addNonisolated(self) { [weak center] player, title in
                center?.post(name: Player.didStart, object: player, userInfo: ["title": title])
            }
        }
    }

    @Test("A set that is forwarded reaches old listeners, with the sender, and the player goes away all the same")
    func oldListeners() {
        let center = NotificationCenter()
        let titles = Log<String>()
        var player: Player? = Player(center)
        weak let reference = player
        // Without `object:`, because some versions of Foundation would keep the player.
        let listener = center.addObserver(forName: Player.didStart, object: nil, queue: nil) {
            [weak player] notification in
            guard notification.object as? Player === player else { return }
            titles.append(notification.userInfo?["title"] as? String ?? "none")
        }

        player?.started.notify("So What")
        Player(center).started.notify("of another player")
        player = nil

        expect(titles.entries, equals: ["So What"])
        expect(reference == nil)
        center.removeObserver(listener)
    }
}
#endif
