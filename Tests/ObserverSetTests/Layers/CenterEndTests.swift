#if NotificationCenter
import Foundation
import Testing

@testable import ObserverSet

/// What happens to a center's observers when the center is released.
///
/// Who holds the block of a registration differs: with Foundation of Swift 6.3 on Linux only the center does. On
/// Apple's systems, and with Foundation of Swift 6.2 on Linux, the center holds the registration's token, and the token
/// holds the block.
@Suite("Ends of notification centers", .lifetimesChecked, .againstHanging)
struct CenterEndTests {
    private let log = Log<String>()
}

extension CenterEndTests {
    struct ThemeChanged: BridgedEvent {
        static var notificationName: Notification.Name { Notification.Name("ThemeDidChange") }
        let isDark: Bool
        var userInfo: [AnyHashable: Any]? { ["dark": isDark] }
    }
    struct LoggedOut: BridgedEvent {}

    private func logged(_ text: String) -> @Sendable (ThemeChanged) -> Void {
        { [log] event in log.append("\(text) \(event.isDark)") }
    }

    /// Passes a center to `body` and releases it afterwards; nobody may have kept it.
    private func withShortLivedCenter<Result>(_ body: (NotificationCenter) -> Result) -> Result {
        weak var weakCenter: NotificationCenter?
        let result = {
            let center = NotificationCenter()
            weakCenter = center
            return body(center)
        }()
        expect(weakCenter == nil, "something holds the center")
        return result
    }

    // MARK: Observers end

    @Test(
        "A center that is released ends its observers, and releases what they capture",
        arguments: ObserverKind.allCases)
    func everyKind(_ kind: ObserverKind) {
        weak var capture: Tracked?
        let registration = withShortLivedCenter { center in
            let fresh = Tracked()
            capture = fresh
            let registration = kind.add(to: center.observers(of: ThemeChanged.self)) { _ in _ = fresh.value }
            #expect(registration.token.isActive)
            return registration
        }

        // A method is held by its owner, and with it what the test's owner captures.
        expect(capture == nil, equals: ObserverKind.held.contains(kind))
        #expect(!registration.token.isActive)
        #expect(!registration.token.remove())
        registration.end()
    }

    @Test("A center that is released ends the observers of every source that is made of it")
    func everySource() {
        let tokens = withShortLivedCenter { center in
            let typed = center.observers(of: ThemeChanged.self)
            let named = center.observers(named: ThemeChanged.notificationName)
            let made = center.observers(named: ThemeChanged.notificationName) { $0.userInfo?["dark"] as? Bool }
            let tokens = [
                typed.add { [life = Tracked()] _ in _ = life.value },
                named.add { [life = Tracked()] in _ = life.value },
                made.add { [life = Tracked()] _ in _ = life.value },
                center.observers(of: ThemeChanged.self, object: center).add { [life = Tracked()] _ in _ = life.value },
                typed.map(\.isDark).filter { $0 }.add { [life = Tracked()] _ in _ = life.value },
                typed.once.add { [life = Tracked()] _ in _ = life.value },
                typed.starting(with: ThemeChanged(isDark: true)).add { [life = Tracked()] _ in _ = life.value },
                made.merge(with: typed.map(\.isDark)).add { [life = Tracked()] _ in _ = life.value },
                ObserverGroup(typed, center.observers(of: LoggedOut.self)).add { [life = Tracked()] in _ = life.value },
            ]
            expect(tokens.count(where: \.isActive), equals: tokens.count)
            expect(Lifetimes.current.count, equals: tokens.count)
            return tokens
        }

        expect(Lifetimes.current.count, equals: 0)
        expect(tokens.count(where: \.isActive), equals: 0)
    }

    @Test(
        "An observer of a center and of a set, in a group or merged, keeps its place in the set when the center is gone"
    )
    func mixedSources() {
        let set = ObserverSet<Bool>()
        let tokens = withShortLivedCenter { center in
            let typed = center.observers(of: ThemeChanged.self)
            let tokens = [
                ObserverGroup(typed, set).add { [log] in log.append("group") },
                typed.map(\.isDark).merge(with: set).add { [log] isDark in log.append("merged \(isDark)") },
            ]
            center.post(ThemeChanged(isDark: true))
            return tokens
        }
        expect(log.entries, equals: ["group", "merged true"])

        set.notify(false)

        expect(log.entries, equals: ["group", "merged true", "group", "merged false"])
        for token in tokens { #expect(token.remove()) }
        #expect(set.isEmpty)
    }

    @Test("The observers of all names of a center end with it, and those of other centers do not")
    func everyName() {
        let other = NotificationCenter()
        let kept = other.observers(of: ThemeChanged.self).add(logged("other"))
        let tokens = withShortLivedCenter { center in
            (0..<50).map { number in
                center.observers(named: Notification.Name("\(number)")).add { [life = Tracked()] in _ = life.value }
            } + [center.observers(of: ThemeChanged.self).add(logged("gone"))]
        }

        expect(Lifetimes.current.count, equals: 0)
        expect(tokens.count(where: \.isActive), equals: 0)
        other.post(ThemeChanged(isDark: true))
        expect(log.entries, equals: ["other true"])
        #expect(kept.remove())
    }

    @Test("Adding to a source of a released center does nothing")
    func addedLate() {
        let sources = withShortLivedCenter { center -> [any NotificationSource<Bool>] in
            let observed = center.observers(of: ThemeChanged.self).map(\.isDark)
            _ = observed.add { [log] _ in log.append("never") }
            return [observed, center.observers(of: LoggedOut.self).map { _ in true }]
        }

        for source in sources {
            let token = source.add { [log] _ in log.append("never") }
            #expect(!token.isActive)
            #expect(!token.remove())
        }
        expect(log.entries, equals: [])
    }

    // MARK: What has been posted

    @Test("What a center has posted before it is released is still delivered, on actors and to observers that await")
    func pendingValues() async {
        let actor = Held()
        let door = Door()
        weak var weakCenter: NotificationCenter?
        do {
            let center = NotificationCenter()
            weakCenter = center
            let source = center.observers(of: ThemeChanged.self)
            source.add(actor) { [log] (_: isolated Held, event) in log.append("actor \(event.isDark)") }
            _ = source.addAsync { [log] event in
                await door.pass()
                log.append("awaiting \(event.isDark), cancelled \(Task.isCancelled)")
            }
            for isDark in [true, false] { center.post(ThemeChanged(isDark: isDark)) }
            await eventually { door.waiting == 1 }
        }

        expect(weakCenter == nil)
        door.open()
        actor.letGo()
        await eventually { log.count == 4 }

        expect(log.entries.filter { $0.hasPrefix("actor") }, equals: ["actor true", "actor false"])
        let awaited = ["awaiting true, cancelled false", "awaiting false, cancelled false"]
        expect(log.entries.filter { $0.hasPrefix("awaiting") }, equals: awaited)
    }

    @Test("A sequence ends with its center, behind what it has buffered")
    func sequences() async {
        let (typed, named, once) = withShortLivedCenter { center in
            let typed = center.observers(of: ThemeChanged.self).map(\.isDark).values()
            let named = center.observers(named: ThemeChanged.notificationName).map { 1 }.values()
            let once = center.observers(of: LoggedOut.self).once.map { _ in 1 }.values()
            for isDark in [true, false] { center.post(ThemeChanged(isDark: isDark)) }
            return (typed, named, once)
        }

        expect(await elements(of: typed), equals: [true, false])
        expect(await elements(of: named), equals: [1, 1])
        expect(await elements(of: once), equals: [])
    }

    @Test("An observer may release its center, which ends when the post has reached all observers")
    func releasedInsideAnObserver() {
        let center = Shared<NotificationCenter?>(NotificationCenter())
        weak let weakCenter = center.value
        let source = center.value!.observers(of: ThemeChanged.self)
        let tokens = [
            source.add { [life = Tracked(), log] _ in
                center.value = nil
                log.append("releases it \(life.value)")
            },
            source.add(logged("later")),
        ]

        center.value?.post(ThemeChanged(isDark: true))

        expect(log.entries, equals: ["releases it 0", "later true"])
        expect(weakCenter == nil)
        expect(Lifetimes.current.count, equals: 0)
        expect(tokens.count(where: \.isActive), equals: 0)
    }

    // MARK: What is left

    @Test("A capture may use its center's sources, and another center, in its `deinit` when the center is released")
    func captureUsesSources() {
        let other = NotificationCenter()
        _ = other.observers(of: LoggedOut.self).add { [log] _ in log.append("heard") }
        withShortLivedCenter { center in
            let source = center.observers(of: ThemeChanged.self)
            let atEnd: @Sendable () -> Void = { [weak center, log] in
                log.append("has a center: \(center != nil)")
                log.append("can observe it: \(source.add { _ in }.isActive)")
                other.observers(of: ThemeChanged.self).add { _ in }.remove()
                other.post(LoggedOut())
            }
            _ = source.add { [life = Tracked(atEnd: atEnd)] _ in _ = life.value }
        }

        expect(log.entries, equals: ["has a center: false", "can observe it: false", "heard"])
    }

    @Test("Centers that come and go at one address have nothing to do with each other")
    func centersAtOneAddress() {
        for number in 0..<500 {
            let center = NotificationCenter()
            _ = center.observers(of: ThemeChanged.self).add { [log] _ in log.append("\(number)") }
            center.post(ThemeChanged(isDark: true))
        }

        let expected = (0..<500).map { "\($0)" }
        expect(log.entries, equals: expected)
    }

    @Test("Centers that come and go leave no memory, although their observers are never removed", .measuringMemory)
    func centersLeaveNoMemory() async {
        await #expect(processExitsWith: .success) {
            let observe: (Int) -> Void = { count in
                // The first half lives at the same time, so that no address is used twice.
                var kept: [NotificationCenter] = []
                for number in 0..<count {
                    let center = NotificationCenter()
                    if number < count / 2 { kept.append(center) }
                    _ = center.observers(of: ThemeChanged.self).add { _ in }
                    _ = center.observers(named: ThemeChanged.notificationName).map { 1 }.values()
                }
                withExtendedLifetime(kept) {}
            }

            let growth = await AllocatedMemory.growth {
                observe(2_000)
            } _: {
                observe(2_000)
            }

            // The observers of one center take more than a kilobyte.
            expect(growth < 512 << 10, "\(growth) bytes")
        }
    }

    // MARK: Threads

    @Test("While one thread releases a center, another may add, remove and post, and nothing outlives the center")
    func releasedByAnotherThread() async {
        let rounds = (0..<many(2_000)).map { _ in Round() }

        await race(times: rounds.count) { number in
            rounds[number].use()
        } _: { number in
            rounds[number].center.value = nil
        }

        expect(rounds.count(where: \.isOver), equals: rounds.count)
        expect(Lifetimes.current.count, equals: 0)
    }

    /// A center with one observer, which one thread uses while another one releases it.
    private final class Round: Sendable {
        let center: Shared<NotificationCenter?>
        private let theme: any NotificationSource<ThemeChanged>
        private let name: any NotificationSource<Void>
        private let first: ObserverToken
        private let late = Log<ObserverToken>()
        private let lifetimes = Lifetimes.current

        init() {
            let center = NotificationCenter()
            theme = center.observers(of: ThemeChanged.self)
            name = center.observers(named: Notification.Name("Round"))
            first = theme.add { [life = Tracked()] _ in _ = life.value }
            self.center = Shared(center)
        }

        func use() {
            // The first observer of a name, the second of one, the last of one.
            late.append(name.add { [life = Tracked(in: lifetimes)] in _ = life.value })
            late.append(theme.add { [life = Tracked(in: lifetimes)] _ in _ = life.value })
            center.value?.post(ThemeChanged(isDark: true))
            late.entries[0].remove()
            first.remove()
        }

        var isOver: Bool { !first.isActive && !late.entries.contains { $0.isActive } }
    }
}
#endif
