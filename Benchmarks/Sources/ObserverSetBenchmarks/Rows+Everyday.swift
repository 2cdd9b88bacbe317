import Foundation
import ObserverSet

/// The sets that most programs have by the thousand, with a few observers whose owners are on the main actor.
enum EverydayRows {
    static var all: [Row] { sizes + allocations + lives + notifying }

    /// How an observer is added to a set.
    ///
    /// One object is the owner of all observers. There has been a weak reference to it before, because the first one
    /// allocates memory, which must not be counted.
    enum Form: String, CaseIterable, Sendable {
        case closure = "ObserverSet, a closure"
        case nonisolated = "ObserverSet, an owner, nonisolated"
        case mainActor = "ObserverSet, an owner on the main actor"
        case local = "LocalObserverSet, an owner"
        case article = "serial queue, an owner"
        case center = "NotificationCenter, a block"

        /// The bytes that a set and its first observer may take together, and that each of the next three observers may
        /// take.
        ///
        /// A number is nil if there is no row for it.
        var most: (first: Double?, further: Double?) {
            switch self {
            case .closure: (224, 80)
            case .nonisolated: (288, 144)
            case .mainActor: (352, 176)
            case .local: (288, nil)
            case .article, .center: (nil, nil)
            }
        }

        /// Makes a set, or its counterpart in another system, with `count` observers.
        @MainActor
        func make(_ count: Int, _ owner: Owner, _ counter: Counter) -> AnyObject {
            switch self {
            case .closure:
                let set = ObserverSet<Int>()
                for _ in 0..<count { _ = set.addNonisolated { counter.value &-= $0 } }
                return set
            case .nonisolated:
                let set = ObserverSet<Int>()
                for _ in 0..<count { set.addNonisolated(owner) { owner, value in owner.value &-= value } }
                return set
            case .mainActor:
                let set = ObserverSet<Int>()
                for _ in 0..<count { set.add(owner) { owner, value in owner.value &+= value } }
                return set
            case .local:
                let set = LocalObserverSet<Int>()
                for _ in 0..<count { set.add(owner) { owner, value in owner.value ^= value } }
                return set
            case .article:
                let set = QueueSet<Int>()
                for _ in 0..<count { set.add(owner, Owner.receive) }
                return set
            case .center:
                let center = NotificationCenter()
                for _ in 0..<count {
                    _ = center.addObserver(forName: EverydayRows.name, object: nil, queue: nil) { [weak owner] in
                        owner?.value &+= $0.userInfo?["value"] as? Int ?? 0
                    }
                }
                return center
            }
        }
    }

    private static let name = Notification.Name("Everyday")

    // MARK: Bytes

    #if canImport(Glibc)
    private static var sizes: [Row] {
        Form.allCases.flatMap { form -> [Row] in
            [
                form.most.first.map { most in
                    .figure(
                        "bytes, a set with its first observer: \(form.rawValue)",
                        reach: .figure(atMost: most, unit: "bytes")
                    ) { _ in bytes(form, 1) }
                },
                form.most.further.map { most in
                    .figure(
                        "bytes, each of its next three: \(form.rawValue)", reach: .figure(atMost: most, unit: "bytes")
                    ) { _ in (bytes(form, 4) - bytes(form, 1)) / 3 }
                },
            ].compactMap(\.self)
        } + [
            .figure(
                "bytes, a set of Void with its first observer: an owner on the main actor, `{ owner in … }`",
                reach: .figure(atMost: 400, unit: "bytes")
            ) { _ in
                bytes { (owner, _) -> AnyObject in
                    let set = ObserverSet<Void>()
                    set.add(owner) { owner in owner.value &+= 1 }
                    return set
                }
            }
        ]
    }

    /// The sizes of all forms side by side, for the chart.
    static let section = Section(
        name: "chart: bytes, of a set with few observers", unit: "bytes",
        columns: { _ in counts.map { "\($0) observer\($0 == 1 ? "" : "s")" } },
        measure: { _ in
            Form.allCases.map { form in
                Section.Series(name: form.rawValue, figures: counts.map { Quartiles([bytes(form, $0)]) })
            }
        })

    private static let counts = [1, 2, 4]

    private static func bytes(_ form: Form, _ count: Int) -> Double {
        bytes(of: { owner, counter in form.make(count, owner, counter) })
    }

    private static func bytes(of make: @MainActor (Owner, Counter) -> AnyObject) -> Double {
        Heap.checkThatItCounts()
        return MainActor.assumeIsolated {
            let owner = knownOwner()
            let counter = Counter()
            let sets = 1_000
            var kept: [AnyObject] = []
            kept.reserveCapacity(sets)
            // The first set is not counted, because the runtime may create metadata when it is made.
            kept.append(make(owner, counter))
            let change = Heap.change {
                for _ in 1..<sets { kept.append(make(owner, counter)) }
            }
            return withExtendedLifetime(kept) { change.bytes(each: sets - 1) }
        }
    }

    // MARK: Allocations

    private static var allocations: [Row] {
        [
            // These are the set, the registry, the observer, the closure's context, and on Linux the lock, whose mutex
            // must have an address that never changes.
            .figure(
                "allocations, a set and its first observer with an owner on the main actor",
                reach: .figure(atMost: 5, unit: "blocks")
            ) { _ in
                allocated { owner, counter in _ = Form.mainActor.make(1, owner, counter) }
            },
            .figure(
                "allocations, one more such observer added and removed", reach: .figure(atMost: 2, unit: "blocks")
            ) { _ in
                MainActor.assumeIsolated {
                    let owner = knownOwner()
                    let set = ObserverSet<Int>()
                    set.add(owner) { owner, value in owner.value &+= value }
                    change(set, owner)
                    return Double(Heap.change { for _ in 0..<1_000 { change(set, owner) } }.allocations) / 1_000
                }
            },
        ]
    }

    private static func allocated(by make: @MainActor (Owner, Counter) -> Void) -> Double {
        Heap.checkThatItCounts()
        return MainActor.assumeIsolated {
            let owner = knownOwner()
            let counter = Counter()
            make(owner, counter)
            return Double(Heap.change { for _ in 0..<1_000 { make(owner, counter) } }.allocations) / 1_000
        }
    }

    @MainActor @inline(never)
    private static func change(_ set: ObserverSet<Int>, _ owner: Owner) {
        set.add(owner) { owner, value in owner.value &-= value }.remove()
    }
    #else
    // Allocations can't be counted on this platform.
    private static var sizes: [Row] { [] }
    private static var allocations: [Row] { [] }
    #endif

    @MainActor
    private static func knownOwner() -> Owner {
        let owner = Owner()
        weak let reference = owner
        precondition(reference === owner)
        return owner
    }

    // MARK: Whole lives of sets

    private static var lives: [Row] {
        let article = "serial queue, the same"
        return [
            .comparing(
                "a life: a set made, an owner on the main actor added, notified once, let go", to: article,
                reach: .time(atMost: 0.55)
            ) { plan in (living(plan, onMain), living(plan, queued)) },
            .comparing(
                "a life: the same of a local set", to: article, reach: .time(atMost: 0.35)
            ) { plan in (living(plan, locally), living(plan, queued)) },
        ]
    }

    private static func living(_ plan: Plan, _ life: @escaping @MainActor (Owner) -> Void) -> Sampler {
        let owner = MainActor.assumeIsolated { knownOwner() }
        return loop(plan) { repetitions in
            MainActor.assumeIsolated { for _ in 0..<repetitions { life(owner) } }
        }
    }

    @MainActor @inline(never)
    private static func onMain(_ owner: Owner) {
        let set = ObserverSet<Int>()
        set.add(owner) { owner, value in owner.value &+= value }
        set.notify(1)
    }

    @MainActor @inline(never)
    private static func locally(_ owner: Owner) {
        let set = LocalObserverSet<Int>()
        set.add(owner) { owner, value in owner.value ^= value }
        set.notify(1)
    }

    @MainActor @inline(never)
    private static func queued(_ owner: Owner) {
        let set = QueueSet<Int>()
        set.add(owner, Owner.receive)
        set.notify(1)
    }

    // MARK: Notifying

    private static var notifying: [Row] {
        // A good run has up to 1.7 and 1.3. A retain and a release of each observer would add 0.3 to both.
        [(1, 1.8), (10, 1.4)].map { count, reach in
            .comparing(
                "notify, N = \(count), owners on the main actor, from it", to: "loop of weak load, call, release",
                reach: .time(atMost: reach)
            ) { plan in
                let sides = MainActor.assumeIsolated {
                    let owners = (0..<count).map { _ in knownOwner() }
                    let set = ObserverSet<Int>()
                    for owner in owners { set.add(owner) { owner, value in owner.value &+= value } }
                    let line = WeakLoop(capacity: count)
                    for owner in owners { line.add(owner) { owner, value in owner.value &-= value } }
                    return Unchecked((owners, set, line))
                }
                let (owners, set, line) = sides.value
                let measured = NotifyRows.notifyingOnMain(set, plan)
                let baseline = loop(plan) { repetitions in notify(line, repetitions) }
                return (
                    { withExtendedLifetime(owners) { measured() } }, { withExtendedLifetime(owners) { baseline() } }
                )
            }
        }
    }

    @inline(never)
    private static func notify(_ line: WeakLoop, _ repetitions: Int) {
        for value in 0..<repetitions { line.notify(value) }
    }
}
