import Dispatch
import ObserverSet
import Testing

/// What a source of the user's own may do with an observer: pass it on, adapt it, register it in several places or late.
@Suite("Observers and custom sources", .lifetimesChecked, .againstHanging)
struct ObserverTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()
}

extension ObserverTests {
    // MARK: A source that passes observers on

    @Test(
        "A custom source takes observers of every kind, whose registrations end in the underlying set",
        arguments: ObserverKind.allCases, [false, true])
    func everyKind(_ kind: ObserverKind, isAdapted: Bool) async {
        let source: any NotificationSource<Int> =
            isAdapted ? Mapped(source: set) { (value: Int) in value } : Forwarding(source: set)
        let called = kind.add(to: source) { [log] in log.append("\($0)") }
        set.notify(1)
        await source.settled()
        let removed = kind.add(to: source) { [log] in log.append("removed \($0)") }
        expect(called.token.remove(), equals: !kind.isOnce)
        #expect(removed.token.isActive && set.remove(removed.token))
        set.notify(2)
        await source.settled()

        expect(log.entries, equals: ["1"])
        #expect(set.isEmpty)
        called.end()
        removed.end()
    }

    // MARK: One observer in several places

    @Test(
        "An observer registered in two sets receives their values in the order of the notifications",
        arguments: ObserverKind.lastingHopping)
    func oneMailbox(_ kind: ObserverKind) async {
        let (left, right, source) = twoSets()
        let registration = kind.add(to: source) { [log] in log.append($0) }

        await onThread {
            for value in 0..<500 {
                left.notify(value)
                right.notify("\(value)")
            }
        }
        await source.settled()

        expect(log.entries, equals: (0..<500).flatMap { ["left \($0)", "right \($0)"] })
        registration.end()
    }

    @Test("When one of two sets removes an observer, its values are dropped; when the token does, those of both are")
    func removedFromTwo() async {
        let (left, right, source) = twoSets()
        let queue = DispatchQueue(label: "Q")
        let token = source.addNonisolated(on: queue) { [log] in log.append($0) }
        #expect(left.count == 1 && right.count == 1)
        func notify(_ value: Int, thenRemove remove: () -> Void) async {
            queue.suspend()
            left.notify(value)
            right.notify("\(value)")
            remove()
            queue.resume()
            await source.settled()
        }

        await notify(1) { left.removeAll() }
        #expect(token.isActive)
        await notify(2) {}
        await notify(3) { expect(token.remove(), equals: true) }

        expect(log.entries, equals: ["right 1", "right 2"])
        #expect(!token.isActive)
        #expect(left.isEmpty && right.isEmpty)
    }

    /// Scenario 40 for an observer that was made once and registered twice.
    ///
    /// Source: boost signals2 (disconnect_equal), Qt (uniqConnection). Each `add` makes a separate registration.
    @Test("The same observer registered twice is called twice, and removing one registration leaves the other")
    func sameObserverTwice() async {
        let kept = KeptObserver<Int>()
        let log = Log<Int>()
        _ = kept.addNonisolated(on: DispatchQueue(label: "Q")) { log.append($0) }
        let tokens = (0..<2).compactMap { _ in kept.observer.value.map { set.register($0) } }

        set.notify(1)
        await set.settled()
        expect(log.entries, equals: [1, 1])
        #expect(tokens[0].remove())
        set.notify(2)
        await set.settled()

        expect(log.entries, equals: [1, 1, 2])
        expect(set.count, equals: 1)
    }

    private func twoSets() -> (left: ObserverSet<Int>, right: ObserverSet<String>, both: Everywhere<String>) {
        let (left, right) = (ObserverSet<Int>(), ObserverSet<String>())
        return (left, right, Everywhere([left.map { "left \($0)" }, right.map { "right \($0)" }]))
    }
}

/// A source that passes observers on unchanged.
private struct Forwarding<Parameters: Sendable>: NotificationSource {
    let source: any NotificationSource<Parameters>

    func register(_ observer: Observer<Parameters>) -> ObserverToken { source.register(observer) }
    func settled() async { await source.settled() }
}
