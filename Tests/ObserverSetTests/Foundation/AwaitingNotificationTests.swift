#if NotificationCenter
import Foundation
import ObserverSet
import Testing

/// Observers of Foundation's notifications that await.
@Suite("Observers of notification centers that await", .lifetimesChecked, .againstHanging)
struct AwaitingNotificationTests {
    struct Moved: BridgedEvent {
        let number: Int
    }

    private let center = NotificationCenter()
    private let log = Log<String>()

    @Test("What is posted comes one at a time, in order; `settled()` waits, and a token ends it")
    func typed() async {
        let moved = center.observers(of: Moved.self)
        let token = moved.addAsync { [log] event in
            log.append("in \(event.number)")
            await Task.yield()
            log.append("out \(event.number)")
        }

        for number in 1...3 { center.post(Moved(number: number)) }
        await moved.settled()
        #expect(log.entries == (1...3).flatMap { ["in \($0)", "out \($0)"] })

        #expect(token.remove())
        center.post(Moved(number: 4))
        await moved.settled()
        #expect(log.count == 6)
    }

    @Test("By name, with an owner, which ends it")
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
        #expect(log.entries == ["moved"])

        owner = nil
        center.post(name: name, object: nil)
        await named.settled()
        #expect(log.entries == ["moved"])
    }
}
#endif
