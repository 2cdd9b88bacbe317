import ObserverSet
import Synchronization

/// What many threads do to two sets at once, and what must hold all the while.
///
/// Nothing here is guarded by a lock, lest the test order what the sets should. There are only atomics, and what a
/// thread has alone.
final class Storm: Sendable {
    /// Has observers that stay, and is never emptied.
    let calm = ObserverSet<Int>()
    /// Is emptied now and then.
    let wild = ObserverSet<Int>()
    let lifetimes: Lifetimes

    /// Written by the thread that adds and read by those that call, through nothing atomic: where the set does not
    /// order the two, the sanitizer reports a race.
    ///
    /// Computed, since the first use of a stored global goes through a lock of the runtime, which would order them.
    private static var plainValue: Int { 7 }

    /// Drawn before each notification, which tells it, and read after each removal.
    private let clock = Atomic<Int>(1)
    private let deliveries = Atomic<Int>(0)
    private let goal: Int
    /// Registrations on their way from one thread to another.
    private let market = Slot<Registration>()
    /// A set that one thread holds, for another to notify.
    private let visited = Slot<WeakSet>()

    init(goal: Int, lifetimes: Lifetimes) {
        self.goal = goal
        self.lifetimes = lifetimes
    }

    var isOver: Bool { deliveries.load(ordering: .relaxed) >= goal }

    // MARK: What must never happen

    let calledAfterRemoval = Atomic<Int>(0)
    let calledWithDeadOwner = Atomic<Int>(0)
    let calledWithDeadCapture = Atomic<Int>(0)
    let removedTwice = Atomic<Int>(0)
    let activeAfterRemoval = Atomic<Int>(0)
    let missedAfterAddition = Atomic<Int>(0)

    var mistakes: [String: Int] {
        [
            "called after removal": calledAfterRemoval.load(ordering: .relaxed),
            "called with a dead owner": calledWithDeadOwner.load(ordering: .relaxed),
            "called with a dead capture": calledWithDeadCapture.load(ordering: .relaxed),
            "removed twice": removedTwice.load(ordering: .relaxed),
            "active after removal": activeAfterRemoval.load(ordering: .relaxed),
            "missed after addition": missedAfterAddition.load(ordering: .relaxed),
        ].filter { $0.value != 0 }
    }

    // MARK: What threads do

    /// Notifies with a number that is greater than the clock was at each removal that has returned.
    func notify(_ set: ObserverSet<Int>) {
        set.notify(clock.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue)
    }

    /// Adds an observer of a closure, which looks whether its capture lives.
    func add(to set: ObserverSet<Int>, isOnce: Bool) -> Registration {
        let record = Record()
        let capture = capture(of: set)
        let observer: @Sendable (Int) -> Void = { [self] in called(record, capture, $0) }
        return Registration(record, isOnce ? set.addOnce(observer) : set.add(observer))
    }

    /// Adds an observer with an owner, which looks whether owner and capture live.
    func add(to set: ObserverSet<Int>, owner: Tracked) -> Registration {
        let record = Record()
        let capture = capture(of: set)
        let token = set.add(owner) { [self] owner, value in
            if !owner.isIntact { calledWithDeadOwner.add(1, ordering: .relaxed) }
            called(record, capture, value)
        }
        return Registration(record, token)
    }

    /// Removes an observer, which another thread may be removing or calling.
    func remove(_ registration: Registration) {
        let isRemoved = registration.token.remove()
        registration.record.removed(at: clock.load(ordering: .sequentiallyConsistent))
        if isRemoved, registration.record.removals.add(1, ordering: .relaxed).newValue > 1 {
            removedTwice.add(1, ordering: .relaxed)
        }
        if registration.token.isActive { activeAfterRemoval.add(1, ordering: .relaxed) }
    }

    /// Hands a registration to whichever thread comes next, and takes what was there.
    func trade(_ registration: Registration?) -> Registration? {
        market.exchange(registration)
    }

    /// Shows a set to whichever thread comes next, and notifies the one that was shown, which may be dying meanwhile.
    func visit(showing set: ObserverSet<Int>) {
        if let other = visited.exchange(WeakSet(set))?.set { notify(other) }
    }

    /// An owner whose end looks into the sets, on whichever thread that is.
    func owner() -> Tracked {
        Tracked(in: lifetimes) { [weak calm] in _ = calm?.isEmpty }
    }

    /// A capture whose end takes the set's lock. (The set owns none of its observers.)
    private func capture(of set: ObserverSet<Int>) -> Tracked {
        Tracked(Self.plainValue, in: lifetimes) { [weak set] in
            if let set { set.removeAll(ownedBy: set) }
        }
    }

    private func called(_ record: Record, _ capture: Tracked, _ begin: Int) {
        if !capture.isIntact || capture.value != Self.plainValue { calledWithDeadCapture.add(1, ordering: .relaxed) }
        if record.isRemoved(before: begin) { calledAfterRemoval.add(1, ordering: .relaxed) }
        record.calls.add(1, ordering: .relaxed)
        deliveries.add(1, ordering: .relaxed)
    }
}

/// What is known of one registration, by its observer and by those who remove it.
final class Record: Sendable {
    let calls = Atomic<Int>(0)
    let removals = Atomic<Int>(0)
    private let end = Atomic<Int>(0)

    /// For an observer that is to be called once, one of both.
    var outcomes: Int { calls.load(ordering: .relaxed) + removals.load(ordering: .relaxed) }

    /// Notes what the clock was after a removal; the first note counts.
    func removed(at time: Int) {
        _ = end.compareExchange(expected: 0, desired: time, ordering: .relaxed)
    }

    /// Whether a removal had returned when the notification of that number began.
    func isRemoved(before begin: Int) -> Bool {
        let end = end.load(ordering: .relaxed)
        return end != 0 && begin > end
    }
}

final class Registration: Sendable {
    let record: Record
    let token: ObserverToken

    init(_ record: Record, _ token: ObserverToken) {
        self.record = record
        self.token = token
    }
}

/// Removes its observer between the pass's decision to call it and the call.
struct LateRemoval: NotificationSource {
    let set = ObserverSet<Int>()
    let token = Shared<ObserverToken?>(nil)
    let isRemoved = Shared(false)

    func register(_ observer: Observer<Int>) -> ObserverToken {
        set.register(
            observer.adapted { [token, isRemoved] value in
                isRemoved.value = token.value?.remove() ?? false
                return value
            })
    }
}

/// A set that is somebody else's.
final class WeakSet: Sendable {
    weak let set: ObserverSet<Int>?

    init(_ set: ObserverSet<Int>) {
        self.set = set
    }
}

/// Room for one object, which threads exchange without a lock.
@safe final class Slot<Object: AnyObject & Sendable>: Sendable {
    private let content = unsafe Atomic<Unmanaged<Object>?>(nil)

    func exchange(_ object: Object?) -> Object? {
        let fresh = unsafe object.map { unsafe Unmanaged.passRetained($0) }
        return unsafe content.exchange(fresh, ordering: .acquiringAndReleasing)?.takeRetainedValue()
    }

    deinit {
        _ = exchange(nil)
    }
}
