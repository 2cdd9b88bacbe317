import Dispatch
import ObserverSet
import Synchronization

/// What is sent to an observer of an actor, one value after the other, and what the observer has received.
nonisolated final class Track: Sendable {
    let sent = ObserverSet<Int>()
    private let home = Mutex<ObjectIdentifier?>(nil)
    private let isCurrent: @Sendable () -> Bool?
    private let heard = Mutex<[Int]>([])
    private let next = Atomic<Int>(0)
    private let notified = Atomic<Int>(0)

    /// `isCurrent` says whether the caller runs on the actor's executor; nil if nobody but the runtime knows.
    init(isCurrent: @escaping @Sendable () -> Bool?) { self.isCurrent = isCurrent }

    func begin(on actor: any Actor) { home.withLock { $0 = ObjectIdentifier(actor) } }

    /// How many values have been sent.
    var count: Int { notified.load(ordering: .acquiring) }

    /// Notifies, and checks that the call is made in place if the caller says that it is on the actor, and is.
    func send(mustBeInPlace: Bool = false, isolation: isolated (any Actor)? = #isolation) {
        let (value, isConfirmed) = begin(by: isolation)
        sent.notify(value)
        end(value, mustBeInPlace: mustBeInPlace || isConfirmed)
    }

    // Functions of their own: the closures of one that says that it is on an actor trap where it is not.

    private func begin(by actor: (any Actor)?) -> (value: Int, isConfirmed: Bool) {
        let isClaimed = home.withLock { home in home == actor.map { ObjectIdentifier($0) } }
        return (next.add(1, ordering: .acquiringAndReleasing).oldValue, isClaimed && isCurrent() == true)
    }

    private func end(_ value: Int, mustBeInPlace: Bool) {
        let isInPlace = heard.withLock { $0.last == value }
        notified.add(1, ordering: .releasing)
        precondition(isInPlace || !mustBeInPlace, "a call is late, though the caller is on the actor")
    }

    /// Called where the observer runs.
    func receive(_ value: Int) {
        precondition(isCurrent() != false, "an observer is called off its actor")
        heard.withLock { $0.append(value) }
    }

    /// Checks that everything was received, in the order in which it was sent.
    func check(_ entries: [Int], _ form: String) {
        precondition(count > 0 && entries == Array(0..<count), "\(form): \(count) sent, received \(entries)")
    }
}

/// An actor with an observer, which checks that each of its calls is made on the actor.
protocol Host: Actor {
    nonisolated var track: Track { get }
    /// What calls off the actor would race for.
    var entries: [Int] { get set }
}

extension Host {
    nonisolated func observing() -> Self {
        track.begin(on: self)
        track.sent.add(self) { host, value in
            host.preconditionIsolated()
            host.entries.append(value)
            host.track.receive(value)
        }
        return self
    }

    func check(_ form: String) async {
        await track.sent.settled()
        track.check(entries, form)
    }
}

/// An actor as most are.
actor Ledger: Host {
    let track = Track { nil }
    var entries: [Int] = []
}

/// An actor on an event loop.
actor Station: Host {
    let loop: EventLoop
    let track: Track
    var entries: [Int] = []
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ loop: EventLoop) {
        self.loop = loop
        // Outside tasks the runtime does not know the loop, but the loop may know itself.
        track = Track { loop.isCurrent && (loop.isRecognizedOutsideTasks || withUnsafeCurrentTask { $0 != nil }) }
    }

    /// A closure of this actor, which says so to the compiler wherever it is called.
    func callback() -> Callback { Callback { self.track.send() } }
}

/// An actor on the main executor.
actor Clerk: Host {
    let track = Track { isOnMainQueue() }
    var entries: [Int] = []
    nonisolated var unownedExecutor: UnownedSerialExecutor { MainActor.sharedUnownedExecutor }
}

nonisolated struct Callback: @unchecked Sendable {
    let call: () -> Void
}

/// What belongs to the main actor.
@MainActor final class Screen {
    nonisolated let track = Track { isOnMainQueue() }
    private var entries: [Int] = []

    nonisolated init() {
        track.begin(on: MainActor.shared)
        track.sent.add(self) { @MainActor screen, value in
            MainActor.preconditionIsolated()
            screen.entries.append(value)
            screen.track.receive(value)
        }
    }

    func check(_ form: String) async {
        await track.sent.settled()
        track.check(entries, form)
    }
}

nonisolated private let mainKey = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
}()

nonisolated func isOnMainQueue() -> Bool { DispatchQueue.getSpecific(key: mainKey) == true }
