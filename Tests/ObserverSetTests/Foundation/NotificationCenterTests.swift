#if NotificationCenter
import Dispatch
import Foundation
import Testing

@testable import ObserverSet

/// Foundation's notifications, posted and observed by type, and by name.
@Suite("Notification centers", .lifetimesChecked, .againstHanging)
struct NotificationCenterTests {
    private let center = NotificationCenter()
    private let log = Log<String>()
}

extension NotificationCenterTests {
    private func logged(_ text: String) -> @Sendable (ThemeChanged) -> Void {
        { [log] event in log.append("\(text) \(event.isDark)") }
    }

    // MARK: Settled

    @Test("`settled()` of each source waits for an actor's observer")
    func settled() async {
        let typed = center.observers(of: ThemeChanged.self)
        let named = center.observers(named: .themeDidChange)
        let made = center.observers(named: .themeDidChange) { $0.userInfo?["dark"] as? Bool }

        #expect(await settledWaitsForAnActor(typed) { center.post(ThemeChanged(isDark: true)) })
        #expect(await settledWaitsForAnActor(typed.map(\.isDark)) { center.post(ThemeChanged(isDark: true)) })
        #expect(await settledWaitsForAnActor(named) { center.post(name: .themeDidChange, object: nil) })
        #expect(await settledWaitsForAnActor(made) { center.post(ThemeChanged(isDark: true)) })
    }

    @Test("A center without observers is settled and needs no registration for it; a released center is settled, too")
    func settledWithoutObservers() async {
        var center: NotificationCenter? = NotificationCenter()
        let source = center!.observers(of: ThemeChanged.self)
        await source.settled()
        expect(NotificationChannel.existing(.themeDidChange, of: center!) == nil)
        let token = source.add(logged("typed"))
        await source.settled()
        token.remove()
        await source.settled()

        center = nil
        await source.settled()

        expect(log.entries, equals: [])
    }

    @Test("The description of a source has all observers of its name")
    func description() {
        let source = center.observers(named: .themeDidChange)
        let name = Notification.Name.themeDidChange.rawValue
        expect(String(reflecting: source), equals: "\(name): not observed")
        _ = center.observers(of: ThemeChanged.self).add(logged("typed"))
        _ = source.add {}

        let lines = String(reflecting: source).split(separator: "\n")

        expect(lines.count, equals: 3)
        #expect(lines[0].hasPrefix("\(name): ObserverSet<"))
        #expect(lines[1].contains("NotificationCenterTests.swift"))
    }

    // MARK: Typed and untyped code

    /// Scenario 56: observers, and code that posts, which know only the name and the contents of `userInfo`; no echo.
    @Test("Every observer receives each post once, whether the observer and the post are typed or not")
    func typedAndUntyped() {
        let token = center.addObserver(forName: .themeDidChange, object: nil, queue: nil) { [log] notification in
            log.append("old \(notification.userInfo?["dark"] as? Bool ?? false)")
        }
        _ = center.observers(of: ThemeChanged.self).add(logged("typed"))
        _ = center.observers(named: .themeDidChange).add { [log] in log.append("named") }

        center.post(ThemeChanged(isDark: true))
        center.post(name: .themeDidChange, object: nil, userInfo: ["dark": false])

        expect(log.entries.sorted(), equals: ["named", "named", "old false", "old true", "typed false", "typed true"])
        center.removeObserver(token)
    }

    /// Scenario 56: a payload of the wrong shape.
    @Test(
        "A payload of the wrong shape is skipped, and disturbs nobody",
        arguments: [nil, [:], ["dark": "yes"], ["event": 1], [1: true]] as [Payload])
    func wrongShape(_ payload: Payload) {
        _ = center.observers(of: ThemeChanged.self).add(logged("first"))
        _ = center.observers(named: .themeDidChange).add { [log] in log.append("any shape") }
        _ = center.observers(of: ThemeChanged.self).add(logged("last"))

        center.post(name: .themeDidChange, object: nil, userInfo: payload.userInfo)
        center.post(ThemeChanged(isDark: false))

        expect(log.entries, equals: ["any shape", "first false", "any shape", "last false"])
    }

    @Test("A typed post carries its event, even one that cannot be read, beside what `userInfo` has under the same key")
    func carried() {
        let token = center.addObserver(forName: TakenKey.notificationName, object: nil, queue: nil) { [log] in
            log.append("old \($0.userInfo?["event"] as? Int == 1)")
        }
        _ = center.observers(of: TakenKey.self).add { [log] event in log.append("typed \(event.number)") }
        _ = center.observers(of: Unreadable.self).add { [log] event in log.append("unreadable \(event.number)") }

        center.post(TakenKey(number: 1))
        center.post(Unreadable(number: 1))
        center.post(name: Unreadable.notificationName, object: nil, userInfo: ["number": 2])

        expect(log.entries.sorted(), equals: ["old true", "typed 1", "unreadable 1"])
        center.removeObserver(token)
    }

    // MARK: Notifications that others define

    @Test("The transform's result for a notification is delivered, and nil is skipped")
    func namedWithTransform() {
        _ = center.observers(named: Notification.Name("Counted")) { $0.userInfo?["count"] as? Int }
            .add { [log] in log.append("\($0)") }

        center.post(name: Notification.Name("Counted"), object: nil, userInfo: ["count": 3])
        center.post(name: Notification.Name("Counted"), object: nil)
        center.post(name: Notification.Name("Other"), object: nil, userInfo: ["count": 4])

        expect(log.entries, equals: ["3"])
    }

    @Test("A name may be observed without the notification's contents, also by methods")
    func namedVoid() {
        let listener = Listener(log)
        center.observers(named: .themeDidChange).add(listener) { $0.note("closure") }
        center.observers(named: .themeDidChange).add(method: Listener.hear, of: listener)

        center.post(name: .themeDidChange, object: 5, userInfo: ["anything": 1])

        expect(log.entries, equals: ["closure", "method"])
    }

    // MARK: Senders

    @Test("An observer that asks for a sender receives only that sender's posts")
    func sender() {
        let window = Tracked()
        let other = Tracked()
        _ = center.observers(of: ThemeChanged.self, object: window).add(logged("window"))
        _ = center.observers(named: .themeDidChange, object: other).add { [log] in log.append("other") }

        center.post(ThemeChanged(isDark: true), object: window)
        center.post(ThemeChanged(isDark: true), object: other)
        center.post(ThemeChanged(isDark: true))
        center.post(name: .themeDidChange, object: "text", userInfo: ["dark": true])

        expect(log.entries, equals: ["window true", "other"])
    }

    /// A sender need not be `Sendable`, so it must not be deallocated on a thread other than the one that uses it.
    @Test("An observed sender is not held by the posts of others, not even for a moment")
    func senderIsNotHeld() async {
        let name = Notification.Name("Posted by others")
        let center = center
        let wrongThread = Counter()
        let lifetimes = Lifetimes.current
        await race(times: 2_000) { _ in
            let own = ObjectIdentifier(Thread.current)
            var sender: Tracked? = Tracked(in: lifetimes) {
                if ObjectIdentifier(Thread.current) != own { wrongThread.increment() }
            }
            let token = center.observers(named: name, object: sender).addNonisolated {}
            for _ in 0..<5 { center.post(name: name, object: nil) }
            sender = nil
            token.remove()
        } _: { _ in
            for _ in 0..<10 { center.post(name: name, object: center) }
        }

        expect(wrongThread.value, equals: 0)
    }

    /// Scenario 24: an object at the address of a dead sender.
    @Test("Another object at the address of a dead sender is not mistaken for the sender")
    func reusedAddress() {
        var hits = 0
        for _ in 0..<200 {
            var sender: Tracked? = Tracked()
            let address = ObjectIdentifier(sender!)
            let token = center.observers(of: ThemeChanged.self, object: sender).add(logged("dead"))
            sender = nil

            // The objects are kept, so that each new one gets another address.
            var others: [Tracked] = []
            for _ in 0..<64 {
                let other = Tracked()
                others.append(other)
                guard ObjectIdentifier(other) == address else { continue }
                hits += 1
                center.post(ThemeChanged(isDark: true), object: other)
                break
            }
            token.remove()
        }

        expect(log.entries, equals: [])
        #if !OBSERVERSET_TSAN
        // A sanitizer keeps released memory back.
        if !AllocatedMemory.isSanitized { expect(hits > 0, "no address was ever used again") }
        #endif
    }

    // MARK: Order and removal

    @Test("Observers are called in the order in which they were added, whatever their form")
    func registrationOrder() {
        let listener = Listener(log)
        for number in 0..<50 {
            switch number % 4 {
            case 0: _ = center.observers(of: ThemeChanged.self).add { [log] _ in log.append("\(number)") }
            case 1: _ = center.observers(named: .themeDidChange).add { [log] in log.append("\(number)") }
            case 2:
                center.observers(of: ThemeChanged.self).add(listener) { $0.note("\(number)\($1.isDark ? "" : "?")") }
            default:
                _ = center.observers(named: .themeDidChange) { $0.name }.once.add { [log] _ in log.append("\(number)") }
            }
        }

        center.post(ThemeChanged(isDark: true))

        let expected = (0..<50).map { "\($0)" }
        expect(log.entries, equals: expected)
    }

    /// Scenario 2, through Foundation's center, which during a post still calls observers that were removed meanwhile.
    @Test("An observer that an earlier one removes is not called")
    func removedDuringPost() {
        let later = Shared<[ObserverToken]>([])
        _ = center.observers(of: ThemeChanged.self).add { [log] _ in
            log.append("remover")
            for token in later.value { #expect(token.remove()) }
        }
        later.value = (0..<3).map { number in
            center.observers(of: ThemeChanged.self).add(logged("later \(number)"))
        }

        center.post(ThemeChanged(isDark: true))

        expect(log.entries, equals: ["remover"])
    }

    /// Scenario 23: on Linux, Foundation's center reuses its keys.
    @Test("Removing an observer twice affects no later observer, neither of this library nor of Foundation")
    func removedTwice() {
        let token = center.observers(of: ThemeChanged.self).add(logged("gone"))
        #expect(token.remove())
        let old = center.addObserver(forName: .themeDidChange, object: nil, queue: nil) { [log] _ in log.append("old") }

        #expect(!token.remove())
        center.post(ThemeChanged(isDark: true))
        let newer = center.observers(of: ThemeChanged.self).add(logged("newer"))
        #expect(!token.remove())
        center.post(ThemeChanged(isDark: true))

        expect(log.entries.sorted(), equals: ["newer true", "old", "old"])
        #expect(newer.isActive)
        center.removeObserver(old)
    }

    // MARK: Registrations with Foundation's center

    @Test("All observers of a name share one registration, which lives until the last of them is removed")
    func oneRegistration() {
        weak var channel = NotificationChannel.named(.themeDidChange, of: center)
        expect(channel == nil, "nothing holds the channel")
        var tokens: [ObserverToken] = []
        for number in 0..<100 {
            tokens.append(center.observers(of: ThemeChanged.self).add { _ in })
            tokens.append(center.observers(named: .themeDidChange).add {})
            if number == 0 { channel = .named(.themeDidChange, of: center) }
            expect(channel === NotificationChannel.named(.themeDidChange, of: center))
        }
        expect(channel?.posts.count, equals: 200)

        for token in tokens.dropLast() { token.remove() }
        expect(channel != nil)
        tokens.last?.remove()

        expect(channel == nil)
        _ = center.observers(of: ThemeChanged.self).add(logged("again"))
        center.post(ThemeChanged(isDark: true))
        expect(log.entries, equals: ["again true"])
    }

    @Test(
        "A center keeps no memory for a registration, nor for a name, when its last observer has gone", .measuringMemory
    )
    func nothingIsKept() async {
        await #expect(processExitsWith: .success) {
            let center = NotificationCenter()
            // On Linux, `removeObserver` leaves an empty dictionary for the name with Foundation of Swift 6.2.
            #if compiler(>=6.3)
            let names = 2_000
            #else
            let names = 1
            #endif
            let churn: (Int) -> Void = { count in
                for number in 0..<count {
                    center.observers(named: Notification.Name("\(count), \(number % names)")).add { _ in }.remove()
                }
            }

            let growth = await AllocatedMemory.growth {
                churn(100)
            } _: {
                churn(2_000)
            }

            // A registration that stays takes some 170 bytes.
            expect(growth < 128 << 10, "\(growth) bytes")
        }
    }

    @Test("Sixteen threads that are the first to observe, at once, all receive the next post")
    func firstObserversAtOnce() async {
        for _ in 0..<50 {
            let center = NotificationCenter()
            let calls = Counter()
            let tokens = Log<ObserverToken>()

            await onThreads(16) { _ in
                tokens.append(center.observers(of: ThemeChanged.self).add { _ in calls.increment() })
            }
            center.post(ThemeChanged(isDark: true))

            expect(calls.value, equals: 16)
            for token in tokens.entries { #expect(token.remove()) }
            center.post(ThemeChanged(isDark: true))
            expect(calls.value, equals: 16)
        }
    }

    @Test("An observer that is added while the last one is removed receives every post that begins later")
    func lastAgainstFirst() async {
        let center = NotificationCenter()

        await onThreads(4) { _ in
            for _ in 0..<500 {
                let calls = Counter()
                let token = center.observers(of: ThemeChanged.self).add { _ in calls.increment() }
                center.post(ThemeChanged(isDark: true))
                expect(calls.value, atLeast: 1)
                #expect(token.remove())
            }
        }
    }

    // MARK: Lifetimes

    /// Scenario 28: Foundation's center crashes when a capture of a removed closure posts in its `deinit`.
    @Test("A capture may post and observe in its `deinit`, whenever it is released")
    func bombs() {
        func bomb(_ name: String) -> @Sendable (ThemeChanged) -> Void {
            let capture = Tracked { [center, log] in
                log.append(name)
                center.post(LoggedOut())
                center.observers(of: ThemeChanged.self).add { _ in }.remove()
            }
            return { _ in _ = capture.value }
        }
        _ = center.observers(of: LoggedOut.self).add { [log] _ in log.append("heard") }

        let last = center.observers(of: ThemeChanged.self).add(bomb("last"))
        last.remove()
        let token = Shared<ObserverToken?>(nil)
        token.value = center.observers(of: ThemeChanged.self).add(bomb("inside"))
        _ = center.observers(of: ThemeChanged.self).once.add { [log] _ in
            token.value?.remove()
            log.append("removed")
        }
        center.post(ThemeChanged(isDark: true))

        expect(log.entries, equals: ["last", "heard", "removed", "inside", "heard"])
    }
}

/// The typed form of a notification that untyped code uses, too.
struct ThemeChanged: BridgedEvent {
    let isDark: Bool

    init(isDark: Bool) { self.isDark = isDark }

    static var notificationName: Notification.Name { .themeDidChange }
    var userInfo: [AnyHashable: Any]? { ["dark": isDark] }
    init?(_ notification: Notification) {
        guard let isDark = notification.userInfo?["dark"] as? Bool else { return nil }
        self.init(isDark: isDark)
    }
}

/// An event that defines its `userInfo`, but not how an event is made from one.
private struct Unreadable: BridgedEvent {
    let number: Int

    static let notificationName = Notification.Name("Unreadable")
    var userInfo: [AnyHashable: Any]? { ["number": number] }
}

/// An event whose own `userInfo` uses the key under which the library would store the event.
private struct TakenKey: BridgedEvent {
    let number: Int

    init(number: Int) { self.number = number }

    static let notificationName = Notification.Name("TakenKey")
    var userInfo: [AnyHashable: Any]? { ["event": number] }
    init?(_ notification: Notification) {
        guard let number = notification.userInfo?["event"] as? Int else { return nil }
        self.init(number: number)
    }
}

extension Notification.Name {
    static let themeDidChange = Notification.Name("ThemeDidChange")
}

/// What a post by name may carry, as an argument of tests.
struct Payload: @unchecked Sendable, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral {
    let userInfo: [AnyHashable: Any]?

    init(dictionaryLiteral elements: (AnyHashable, Any)...) { userInfo = Dictionary(uniqueKeysWithValues: elements) }

    init(nilLiteral: ()) { userInfo = nil }
}

private final class Listener: Sendable {
    private let log: Log<String>

    init(_ log: Log<String>) { self.log = log }

    func hear() { note("method") }
    func note(_ text: String) { log.append(text) }
}

#endif
