#if NotificationCenter
import Foundation
import ObserverSet
import Testing

/// Observers of Foundation's notifications that await.
@Suite("Notification center observers that await", .lifetimesChecked, .againstHanging)
struct AwaitingNotificationTests {
    struct Moved: BridgedEvent {
        let number: Int
    }

    private let center = NotificationCenter()
    private let log = Log<String>()

    @Test("An observer that awaits receives posts one at a time, in order, until its token is removed")
    func typed() async {
        let moved = center.observers(of: Moved.self)
        let token = moved.addAsync { [log] event in
            log.append("in \(event.number)")
            await Task.yield()
            log.append("out \(event.number)")
        }

        for number in 1...3 { center.post(Moved(number: number)) }
        await moved.settled()
        expect(log.entries, equals: (1...3).flatMap { ["in \($0)", "out \($0)"] })

        #expect(token.remove())
        center.post(Moved(number: 4))
        await moved.settled()
        expect(log.count, equals: 6)
    }

    @Test("An observer that awaits posts by name ends with its owner")
    func named() async {
        let name = Notification.Name("Moved")
        let named = center.observers(named: name)
        var owner: PlainListener<Int>? = PlainListener { _ in }
        named.addAsync(owner!) { [log] _ in
            await Task.yield()
            log.append("moved")
        }

        center.post(name: name, object: nil)
        await named.settled()
        expect(log.entries, equals: ["moved"])

        owner = nil
        center.post(name: name, object: nil)
        await named.settled()
        expect(log.entries, equals: ["moved"])
    }
}
#endif
