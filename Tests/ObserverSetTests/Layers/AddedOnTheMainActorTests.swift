import Dispatch
import ObserverSet
import Testing

/// A function without isolation of its own, passed by name, runs on the main actor if main-actor code adds it.
///
/// A closure at the same place inherits the isolation of the code around it. A function's name has none to inherit, and in
/// language mode 5 the compiler may even lose the isolation that the function has. So `add` takes the isolation of the
/// code that calls it.
@Suite("Functions that main-actor code adds by name", .lifetimesChecked, .againstHanging)
struct AddedOnTheMainActorTests {
    private let set = ObserverSet<Int>()
    private let log = Log<Int>()
    private let owner = Tracked()
}

extension AddedOnTheMainActorTests {
    /// The sources of integers that there are, in front of a set.
    enum Chain: CaseIterable, Sendable {
        case set, map, compactMap, filter, merge, once, starting, group, events, allEvents, adapted, everywhere

        @MainActor func source(of set: ObserverSet<Int>, _ publisher: EventPublisher) -> any NotificationSource<Int> {
            switch self {
            case .set: set
            case .map: set.map { $0 }
            case .compactMap: set.compactMap { $0 }
            case .filter: set.filter { _ in true }
            case .merge: set.merge(with: ObserverSet<Int>())
            case .once: set.once
            case .starting: set.map { $0 }.starting(with: 0)
            case .group: ObserverGroup(set).map { 1 }
            case .events: publisher.observers(of: Sent.self).map(\.value)
            case .allEvents: publisher.allEvents.compactMap { ($0 as? Sent)?.value }
            case .adapted: Mapped(source: set) { $0 }
            case .everywhere: Everywhere([set])
            }
        }

        var startsWithAValue: Bool { self == .starting }
    }

    /// Scenario 59: a function by name, whose own isolation the compiler may have lost in language mode 5.
    ///
    /// `Tests/Clients/MainActorByDefaultInLanguageMode5` is a client in which that happens.
    @Test(
        "Whatever the source, it is called on the main actor: in place from there, and later from elsewhere",
        arguments: Chain.allCases, [false, true])
    @MainActor func everySource(_ chain: Chain, hasOwner: Bool) async {
        let publisher = EventPublisher()
        let source = chain.source(of: set, publisher)
        let hear: @Sendable (Int) -> Void = { [log] value in
            MainActor.preconditionIsolated()
            log.append(value)
        }
        let hearWithOwner: @Sendable (Tracked, Int) -> Void = { _, value in hear(value) }
        func add() -> ObserverToken { hasOwner ? source.add(owner, hearWithOwner) : source.add(hear) }
        let send: @Sendable () -> Void = { [set] in
            set.notify(1)
            publisher.publish(Sent(value: 1))
        }
        let first = chain.startsWithAValue ? [0] : []

        var token = add()
        join(send)
        expect(log.entries, equals: first)
        await source.settled()
        expect(log.entries, equals: first + [1])
        token.remove()

        token = add()
        send()
        expect(log.entries, equals: first + [1] + first + [1])
        token.remove()
    }

    @Test("A function of an owner, for a source without parameters, is called on the main actor, too")
    @MainActor func withoutParameters() async {
        let changed = ObserverSet<Void>()
        let hear: @Sendable (Tracked) -> Void = { [log] _ in
            MainActor.preconditionIsolated()
            log.append(1)
        }
        changed.add(owner, hear)

        join { changed.notify() }
        expect(log.entries, equals: [])
        await changed.settled()

        expect(log.entries, equals: [1])
    }

    @Test("Code that runs on its caller's actor counts as that actor's code, the main actor included")
    @MainActor func callersActor() async {
        await addOnTheCallersActor { [log] value in
            MainActor.preconditionIsolated()
            log.append(value)
        }

        await onThread { [set] in set.notify(1) }
        await set.settled()
        set.notify(2)

        expect(log.entries, equals: [1, 2])
    }

    private nonisolated(nonsending) func addOnTheCallersActor(_ hear: @escaping @Sendable (Int) -> Void) async {
        _ = set.add(hear)
    }

    // MARK: What is called on the notifying thread

    @Test(
        "A logger's method hears everything at once with `addNonisolated`, and on the main actor, in order, with `add`")
    @MainActor func logger() async {
        let (direct, logger) = (Logger(), Logger())
        set.addNonisolated(direct.write).store(in: direct.bag)
        set.add(logger.write).store(in: logger.bag)

        for value in 1...3 { join { [set] in set.notify(value) } }

        expect(
            direct.lines.entries, equals: ["off the main actor: 1", "off the main actor: 2", "off the main actor: 3"])
        expect(logger.lines.entries, equals: [])
        await set.settled()
        expect(logger.lines.entries, equals: ["on the main actor: 1", "on the main actor: 2", "on the main actor: 3"])
    }

    @Test("An unapplied method that is nonisolated is called on the notifying thread, whoever adds it")
    @MainActor func unappliedMethod() {
        let logger = Logger()
        set.add(method: Logger.write, of: logger)

        join { [set] in set.notify(1) }

        expect(logger.lines.entries, equals: ["off the main actor: 1"])
    }

    @Test("A function that code on no actor adds is called on the notifying thread")
    func addedElsewhere() async {
        let logger = Logger()
        await onThread { [set] in set.add(logger.write).store(in: logger.bag) }

        await MainActor.run { [set] in set.notify(1) }
        await onThread { [set] in set.notify(2) }

        expect(logger.lines.entries, equals: ["on the main actor: 1", "off the main actor: 2"])
    }

    // MARK: A main thread that is blocked

    @Test(
        "While the main thread is blocked, values for a function by name are pending, and `once` hears the first of them"
    )
    @MainActor func blocked() async {
        let hear: @Sendable (Int) -> Void = { [log] value in log.append(value) }
        let token = set.add(hear)
        let onlyOnce = set.once.add(hear)

        join { [set] in for value in 1...3 { set.notify(value) } }

        expect([token.pendingCount, onlyOnce.pendingCount, log.count], equals: [3, 3, 0])
        #expect(onlyOnce.isActive)
        await set.settled()
        expect(log.entries, equals: [1, 1, 2, 3])
        #expect(!onlyOnce.isActive)
    }

    @Test("While the main thread is blocked, an async function without isolation is called with every value")
    @MainActor func awaited() {
        let isDelivered = Signal()
        let hear: @Sendable (Int) async -> Void = { [log] value in
            log.append(value)
            if value == 5 { isDelivered.set() }
        }
        let token = set.addAsync(hear)

        for value in 1...5 { set.notify(value) }
        isDelivered.wait()

        expect(log.entries, equals: [1, 2, 3, 4, 5])
        token.remove()
    }

    @Test("A test on the main actor that records values by name reads them right after it has sent them")
    @MainActor func recorder() {
        let recorder = Log<Int>()
        let token = set.map { $0 * 10 }.add(recorder.append)

        for value in 1...3 { set.notify(value) }

        expect(recorder.entries, equals: [10, 20, 30])
        token.remove()
    }
}

private struct Sent: Event {
    let value: Int
}

/// Writes down where it is called.
private final class Logger: Sendable {
    let lines = Log<String>()
    let bag = ObserverBag()
    private let life = Tracked()

    func write(_ value: Int) { lines.append("\(isOnMain() ? "on" : "off") the main actor: \(value)") }

    /// The tests' main thread runs the main actor's jobs, and no other code.
    private func isOnMain() -> Bool { DispatchQueue.getSpecific(key: Self.key) == true }

    private static let key = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()
}
