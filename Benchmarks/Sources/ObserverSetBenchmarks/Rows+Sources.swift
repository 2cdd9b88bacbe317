import Dispatch
import ObserverSet

/// The costs of sources that are made from a set, with `map` for example: of adding and removing an observer, and of a
/// notification.
///
/// The source is made anew for each observer, as in `titleChanged.map(\.count).add(view) { … }`.
enum SourceRows {
    static var all: [Row] { changing + notifying + [called, first] }

    private enum Form: String, CaseIterable {
        case plain = "no source between", map, filter, compactMap, once, merge = "a merge of two", group =
            "a group of three"

        /// The targets for adding and removing an observer: one without an owner, and one whose owner is on the main
        /// actor.
        var reaches: (closure: Reach, owner: Reach) {
            switch self {
            case .map, .filter, .compactMap: (.time(atMost: 3), .time(atMost: 2))
            case .once: (.time(atMost: 4), .time(atMost: 3))
            // A good run has 4.7 and 2.9, because there are two registrations, and the token marks both as removed
            // before it ends one of them.
            case .merge: (.time(atMost: 5.5), .time(atMost: 3.5))
            // For a group, which makes three registrations, each through a `map`, no limit is known yet.
            case .plain, .group: (.told(unit: "ns"), .told(unit: "ns"))
            }
        }
    }

    /// Three sets with one observer each.
    ///
    /// A source is made from as many of them as it needs.
    private struct Sets: Sendable {
        let first = NotifyRows.nonisolatedSet(1)
        let second = NotifyRows.nonisolatedSet(1)
        let third = NotifyRows.nonisolatedSet(1)
    }

    // MARK: Adding and removing

    private static var changing: [Row] {
        Form.allCases.filter { $0 != .plain }.flatMap { form -> [Row] in
            let name = "add + remove through \(form.rawValue)"
            return [
                .comparing(name, to: "plain add + remove", reach: form.reaches.closure) { plan in
                    (changing(form, plan), changing(.plain, plan))
                },
                .comparing(
                    "\(name), an owner on the main actor", to: "plain add + remove with that owner",
                    reach: form.reaches.owner
                ) { plan in (changingOwned(form, plan), changingOwned(.plain, plan)) },
            ]
        }
    }

    private static func changing(_ form: Form, _ plan: Plan) -> Sampler {
        let (sets, counter) = (Sets(), Counter())
        return loop(plan) { repetitions in
            for _ in 0..<repetitions { add(form, sets, counter).remove() }
        }
    }

    private static func changingOwned(_ form: Form, _ plan: Plan) -> Sampler {
        let (sets, owner) = (Sets(), Owner())
        return loop(plan) { repetitions in
            MainActor.assumeIsolated {
                for _ in 0..<repetitions { add(form, sets, owner).remove() }
            }
        }
    }

    @inline(never)
    private static func add(_ form: Form, _ sets: Sets, _ counter: Counter) -> ObserverToken {
        let set = sets.first
        return switch form {
        case .plain: set.addNonisolated { counter.value &+= $0 }
        case .map: set.map { $0 &+ 1 }.addNonisolated { counter.value &-= $0 }
        case .filter: set.filter { $0 >= 0 }.addNonisolated { counter.value ^= $0 }
        case .compactMap: set.compactMap { $0 < 0 ? nil : $0 }.addNonisolated { counter.value |= $0 }
        case .once: set.once.addNonisolated { counter.value = $0 }
        case .merge: set.merge(with: sets.second).addNonisolated { counter.value &= $0 }
        case .group: ObserverGroup(set, sets.second, sets.third).addNonisolated { counter.value &+= 1 }
        }
    }

    @MainActor @inline(never)
    private static func add(_ form: Form, _ sets: Sets, _ owner: Owner) -> ObserverToken {
        let set = sets.first
        return switch form {
        case .plain: set.add(owner) { owner, value in owner.value &+= value }
        case .map: set.map { $0 &+ 2 }.add(owner) { owner, value in owner.value &-= value }
        case .filter: set.filter { $0 >= -1 }.add(owner) { owner, value in owner.value ^= value }
        case .compactMap: set.compactMap { $0 < -1 ? nil : $0 }.add(owner) { owner, value in owner.value |= value }
        case .once: set.once.add(owner) { owner, value in owner.value = value }
        case .merge: set.merge(with: sets.second).add(owner) { owner, value in owner.value &= value }
        case .group: ObserverGroup(set, sets.second, sets.third).add(owner) { owner in owner.value &+= 1 }
        }
    }

    // MARK: Notifying

    private static var notifying: [Row] {
        [
            (Form.map, "map"), (.filter, "filter"), (.merge, "a merge, its second member"),
            (.group, "a group, its third member"),
        ]
        .flatMap { form, name -> [Row] in
            [
                .comparing("notify, N = 1, through \(name)", to: "plain notify, N = 1", reach: .told(unit: "ns")) {
                    plan in
                    (notifying(form, plan), notifying(.plain, plan))
                },
                .comparing(
                    "notify, N = 1, an owner on the main actor, through \(name)", to: "plain notify to that owner",
                    reach: .told(unit: "ns")
                ) { plan in (notifyingOwned(form, plan), notifyingOwned(.plain, plan)) },
            ]
        } + [
            // No value passes the filter, so the observer is never called and stays registered.
            .comparing(
                "notify, N = 1, through once and a filter that skips", to: "plain notify, N = 1",
                reach: .told(unit: "ns")
            ) { plan in
                let set = ObserverSet<Int>()
                _ = set.once.filter { $0 < 0 }.addNonisolated { _ in }
                return (NotifyRows.notifying(set, plan), notifying(.plain, plan))
            }
        ]
    }

    /// Makes sets without other observers, and says which of them is notified.
    private static func sets(_ form: Form) -> (sets: Sets, notified: ObserverSet<Int>) {
        let sets = Sets()
        for set in [sets.first, sets.second, sets.third] { set.removeAll() }
        return (sets, form == .merge ? sets.second : form == .group ? sets.third : sets.first)
    }

    private static func notifying(_ form: Form, _ plan: Plan) -> Sampler {
        let (sets, notified) = sets(form)
        _ = add(form, sets, Counter())
        return NotifyRows.notifying(notified, plan)
    }

    private static func notifyingOwned(_ form: Form, _ plan: Plan) -> Sampler {
        let (sets, notified) = sets(form)
        let owner = Owner()
        MainActor.assumeIsolated { _ = add(form, sets, owner) }
        let sampler = NotifyRows.notifyingOnMain(notified, plan)
        return { withExtendedLifetime(owner) { sampler() } }
    }

    // MARK: Once

    private static var called: Row {
        .comparing(
            "add through once, notify", to: "plain add, notify, remove", reach: .told(unit: "ns")
        ) { plan in
            let (once, plain) = (sets(.once), sets(.plain))
            let counter = Counter()
            return (
                loop(plan) { repetitions in
                    for value in 0..<repetitions {
                        _ = add(.once, once.sets, counter)
                        once.notified.notify(value)
                    }
                },
                loop(plan) { repetitions in
                    for value in 0..<repetitions {
                        let token = add(.plain, plain.sets, counter)
                        plain.notified.notify(value)
                        token.remove()
                    }
                }
            )
        }
    }

    // MARK: The first value

    private static var first: Row {
        .comparing(
            "`first()`, until resumed", to: "`AsyncStream` of one element, made for it", reach: .told(unit: "ns")
        ) { _ in
            let set = ObserverSet<Int>()
            return (
                waiting { _ in
                    _ = await set.first()
                } send: { _, value in
                    set.notify(value)
                },
                waiting { station in
                    let (stream, continuation) = AsyncStream.makeStream(
                        of: Int.self, bufferingPolicy: .bufferingOldest(1))
                    station.continuation = continuation
                    var iterator = stream.makeAsyncIterator()
                    _ = await iterator.next(isolation: station)
                } send: { station, value in
                    station.continuation?.yield(value)
                }
            )
        }
    }

    /// An actor on which one task waits for a value, and another sends it.
    private actor Station {
        var continuation: AsyncStream<Int>.Continuation?
        private var waits = 0

        func wait(_ count: Int, _ wait: @Sendable (isolated Station) async -> Void) async {
            for _ in 0..<count {
                await wait(self)
                waits += 1
            }
        }

        /// Sends values until `count` waits have ended.
        ///
        /// The two tasks take turns, because the task that waits leaves the actor, and the task that sends yields.
        func send(until count: Int, _ send: @Sendable (isolated Station, Int) -> Void) async {
            while waits < count {
                send(self, waits)
                await Task.yield()
            }
            waits = 0
        }
    }

    private static func waiting(
        _ wait: @escaping @Sendable (isolated Station) async -> Void,
        send: @escaping @Sendable (isolated Station, Int) -> Void
    ) -> Sampler {
        let (station, count) = (Station(), 1_000)
        return {
            let done = DispatchSemaphore(value: 0)
            let start = now()
            Task.detached { await station.wait(count, wait) }
            Task.detached {
                await station.send(until: count, send)
                done.signal()
            }
            done.wait()
            return Double(now() - start) / Double(count)
        }
    }
}
