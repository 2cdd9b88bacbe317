import ObserverSet

/// The world of real sets, which records in `events` what happens.
///
/// It is used on one thread only. Nothing whose `deinit` may call this object again is released during an access to a
/// property.
final class TestedWorld: World, @unchecked Sendable {
    enum Token {
        case shared(ObserverToken)
        case local(LocalObserverSet<Int>.Token)
    }

    var events: [Occurrence] = []
    /// How many captures and owners are alive.
    fileprivate(set) var alive = 0

    private var sets = [ObserverSet<Int>(), ObserverSet<Int>()]
    private var locals = [LocalObserverSet<Int>(), LocalObserverSet<Int>()]
    private var publisher = EventPublisher()
    private var owners: [WorldOwner?]
    private var ownersMade = 0
    private var tokens: [Token] = []
    /// The actor on which an observer is being called, if it is an observer of an actor.
    fileprivate var here: WorldOwner?
    /// Where the suspended calls wait.
    private var gates: [CheckedContinuation<Void, Never>] = []

    override init(routines: [[Operation]]) {
        owners = Array(repeating: nil, count: OperationGenerator.ownerCount)
        super.init(routines: routines)
    }

    override func tell(_ event: Occurrence) { events.append(event) }

    // MARK: Adding

    override func add(_ operation: Operation) {
        if let members = operation.members {
            return add(operation, to: group(of: members, operation.place)) { 0 }
        }
        switch operation.place {
        case Place.value:
            add(operation, to: publisher.observers(of: ValueEvent.self)) { $0.number }
        case Place.base:
            add(operation, to: publisher.observers(of: BaseEvent.self)) { $0.number }
        case Place.derived:
            add(operation, to: publisher.observers(of: DerivedEvent.self)) { $0.number }
        case Place.all:
            add(operation, to: publisher.allEvents) { ($0 as! any WorldEvent).number }
        case Place.local, Place.otherLocal: addLocally(operation, to: locals[operation.place - Place.local])
        default: add(operation, to: sets[operation.place]) { $0 }
        }
    }

    private func group(of members: Operation.Members, _ place: Int) -> ObserverGroup {
        let (first, second) = (sets[place], sets[1 - place])
        return switch members {
        case .both: ObserverGroup(first, second)
        case .bothReversed: ObserverGroup(second, first)
        case .sameTwice: ObserverGroup(first, first)
        case .nested: ObserverGroup(first, ObserverGroup(second))
        case .withEvents: ObserverGroup(first, publisher.observers(of: ValueEvent.self))
        }
    }

    /// Adds an observer that reports the number that it derives from its parameters.
    private func add<Source: NotificationSource>(
        _ operation: Operation, to source: Source, _ number: @escaping @Sendable (Source.Parameters) -> Int
    ) {
        let token =
            switch operation.kind {
            case .method: source.add(method: { owner in { owner.receive(number($0)) } }, of: owner(for: operation))
            case .actorOwner, .awaitedActorOwner: addToActor(operation, to: source, owner(for: operation), number)
            case .owner, .nonisolatedOwner, .onceOwner, .awaitedOwner:
                addOwned(operation, to: source, owner(for: operation), number)
            default: addUnowned(operation, to: source, number)
            }
        tokens.append(.shared(token))
        homes.append(operation.place)
    }

    private func addUnowned<Source: NotificationSource>(
        _ operation: Operation, to source: Source, _ number: @escaping @Sendable (Source.Parameters) -> Int
    ) -> ObserverToken {
        let capture = capture(for: operation)
        let buffering = Self.buffering(operation.form)
        return switch operation.kind {
        case .awaited: source.addAsync(buffering: buffering) { await capture.awaited(number($0)) }
        case .awaitedOnActor: WorldActor.add(capture, to: source, buffering: buffering, number)
        case .once: source.once.add { capture.called(number($0)) }
        case .nonisolated: source.addNonisolated { capture.called(number($0)) }
        default: source.add { capture.called(number($0)) }
        }
    }

    /// Generic over the owner, so that the overloads for actors are not chosen.
    private func addOwned<Source: NotificationSource, Owner: WorldOwning>(
        _ operation: Operation, to source: Source, _ owner: Owner,
        _ number: @escaping @Sendable (Source.Parameters) -> Int
    ) -> ObserverToken {
        let capture = capture(for: operation)
        return switch operation.kind {
        case .awaitedOwner:
            source.addAsync(owner, buffering: Self.buffering(operation.form)) {
                await capture.awaited(number($1), of: $0)
            }
        case .onceOwner: source.once.add(owner) { capture.called(number($1), of: $0) }
        case .nonisolatedOwner: source.addNonisolated(owner) { capture.called(number($1), of: $0) }
        default: source.add(owner) { capture.called(number($1), of: $0) }
        }
    }

    private func addToActor<Source: NotificationSource>(
        _ operation: Operation, to source: Source, _ owner: WorldOwner,
        _ number: @escaping @Sendable (Source.Parameters) -> Int
    ) -> ObserverToken {
        let capture = capture(for: operation)
        if operation.kind == .actorOwner {
            return source.add(owner) { (owner: isolated WorldOwner, value) in
                owner.assertIsolated()
                capture.called(on: owner, number(value))
            }
        }
        return source.addAsync(owner, buffering: Self.buffering(operation.form)) {
            (owner: isolated WorldOwner, value) in
            owner.assertIsolated()
            await capture.awaited(number(value), of: owner)
        }
    }

    private func addLocally(_ operation: Operation, to set: LocalObserverSet<Int>) {
        let owner = operation.kind.hasOwner ? owner(for: operation) : nil
        // A method has no capture.
        let capture = operation.kind == .method ? nil : capture(for: operation)
        let token =
            switch operation.kind {
            case .method: set.add(method: WorldOwner.receive, of: owner!)
            case .onceOwner: set.once.add(owner!) { capture!.called($1, of: $0) }
            case .once: set.once.add { capture!.called($0) }
            case _ where owner != nil: set.add(owner!) { capture!.called($1, of: $0) }
            default: set.add { capture!.called($0) }
            }
        tokens.append(.local(token))
        homes.append(operation.place)
    }

    private func capture(for operation: Operation) -> WorldCapture { WorldCapture(tokens.count, operation, in: self) }

    private static func buffering(_ form: Int) -> Buffering {
        [.unbounded, .newest(1), .newest(3), .oldest(1), .oldest(3)][form]
    }

    // MARK: Owners

    private func owner(for operation: Operation) -> WorldOwner {
        if let owner = owners[operation.owner] { return owner }
        let owner = newOwner(nil)
        owners[operation.owner] = owner
        return owner
    }

    override func replaceOwner(_ owner: Int, by successor: Operation?) {
        let old = exchangeOwner(owner, with: successor.map(newOwner))
        withExtendedLifetime(old) {}
    }

    /// Returns the old owner, so that when it is deallocated only the array holds the new one.
    private func exchangeOwner(_ owner: Int, with fresh: WorldOwner?) -> WorldOwner? {
        let old = owners[owner]
        owners[owner] = fresh
        return old
    }

    private func newOwner(_ operation: Operation?) -> WorldOwner {
        ownersMade += 1
        return WorldOwner(
            id: ownersMade, program: operation?.program ?? 0, farewell: operation?.farewell ?? 0, world: self)
    }

    // MARK: Removing

    override func remove(_ registration: Int, by place: Int?) {
        let isRemoved =
            switch tokens[registration] {
            case .shared(let token):
                if let place { withSet(place) { $0.remove(token) } } else { token.remove() }
            case .local(let token):
                if let place { withLocal(place) { $0.remove(token) } } else { token.remove() }
            }
        tell(Occurrence(.removed, registration, isRemoved))
    }

    override func removeAll(place: Int) {
        if Place.isLocal(place) { withLocal(place) { $0.removeAll() } } else { withSet(place) { $0.removeAll() } }
    }

    override func removeAll(place: Int, owner: Int) {
        guard let loaded = owners[owner] else { return }
        let count =
            switch place {
            case Place.local, Place.otherLocal: withLocal(place) { $0.removeAll(ownedBy: loaded) }
            case 0, 1: withSet(place) { $0.removeAll(ownedBy: loaded) }
            default: withPublisher { $0.removeAll(ownedBy: loaded) }
            }
        tell(Occurrence(.removedOwned, loaded.id, count))
    }

    override func replace(place: Int) {
        switch place {
        case Place.local, Place.otherLocal:
            let old = locals[place - Place.local]
            withExtendedLifetime(old) { locals[place - Place.local] = LocalObserverSet() }
        case 0, 1:
            let old = sets[place]
            withExtendedLifetime(old) { sets[place] = ObserverSet<Int>() }
        default:
            withPublisher { _ in publisher = EventPublisher() }
        }
    }

    // MARK: Notifying

    override func notify(place: Int, form: Int, _ value: Int) {
        switch place {
        case Place.value: withPublisher { publish(ValueEvent(number: value), form, by: $0) }
        case Place.base: withPublisher { publish(BaseEvent(value), form, by: $0) }
        case Place.derived: withPublisher { publish(DerivedEvent(value), form, by: $0) }
        case Place.all: withPublisher { publish(OtherEvent(number: value), form, by: $0) }
        case Place.local, Place.otherLocal: withLocal(place) { $0.notify(value) }
        default: withSet(place) { Self.notify($0, value, here) }
        }
    }

    /// Notifies from that actor, on which the caller is, although the compiler does not see it.
    private static func notify(_ set: ObserverSet<Int>, _ value: Int, _ here: WorldOwner?) {
        typealias Isolated = (ObserverSet<Int>, Int, isolated (any Actor)?) -> Void
        typealias Nonisolated = (ObserverSet<Int>, Int, (any Actor)?) -> Void
        let notify: Isolated = { $0.notify($1, isolation: $2) }
        withoutActuallyEscaping(notify) { unsafe unsafeBitCast($0, to: Nonisolated.self)(set, value, here) }
    }

    private func publish(_ event: some WorldEvent, _ form: Int, by publisher: EventPublisher) {
        if form == 0 {
            let event: any Event = event
            publisher.publish(event)
        } else if form == 1, let event = event as? BaseEvent {
            publisher.publish(event)
        } else {
            publisher.publish(event)
        }
    }

    // MARK: Questions

    override func count(place: Int) {
        let (count, isEmpty) =
            Place.isLocal(place)
            ? withLocal(place) { ($0.count, $0.isEmpty) } : withSet(place) { ($0.count, $0.isEmpty) }
        tell(Occurrence(.counted, place, count))
        tell(Occurrence(.isEmpty, place, isEmpty))
    }

    override func isActive(_ registration: Int) {
        let isActive =
            switch tokens[registration] {
            case .shared(let token): token.isActive
            case .local(let token): token.isActive
            }
        tell(Occurrence(.isActive, registration, isActive))
    }

    // MARK: Keeping a set alive exactly as long as a call, in debug and release builds

    private func withSet<Result>(_ place: Int, _ body: (ObserverSet<Int>) -> Result) -> Result {
        let set = sets[place]
        return withExtendedLifetime(set) { body(set) }
    }

    private func withLocal<Result>(_ place: Int, _ body: (LocalObserverSet<Int>) -> Result) -> Result {
        let set = locals[place - Place.local]
        return withExtendedLifetime(set) { body(set) }
    }

    /// The order in which the publisher's channels are deallocated is not promised.
    private func withPublisher<Result>(_ body: (EventPublisher) -> Result) -> Result {
        var held: EventPublisher? = publisher
        let result = withExtendedLifetime(held) { body(held!) }
        silently { held = nil }
        return result
    }

    // MARK: Observers that await

    override func deliver() { JobQueue.current?.run() }

    /// Suspends a call until `letOn` resumes it.
    fileprivate func suspend(_ id: Int, isolation: isolated (any Actor)? = #isolation) async {
        await withCheckedContinuation { continuation in
            suspended.append(id)
            gates.append(continuation)
        }
    }

    override func letOn(_ index: Int) {
        suspended.remove(at: index)
        gates.remove(at: index).resume()
    }

    /// Resumes all suspended calls, however often they are suspended.
    func letOnAll() {
        deliver()
        while !suspended.isEmpty {
            letOn(0)
            deliver()
        }
    }

    /// Waits until the set is settled, and keeps it alive until then.
    override func settle(place: Int, _ number: Int) {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        // The task is already waiting when this returns.
        Task.immediate { [self, set = sets[place]] in
            await set.settled()
            tell(Occurrence(.settled, number, 0))
        }
    }

    override func countLost(_ registration: Int) {
        guard case .shared(let token) = tokens[registration] else { return }
        tell(Occurrence(.lost, registration, token.droppedCount))
    }
}

/// An actor to which an observer belongs.
///
/// Each observer has its own actor, so that rounds on other threads never run on the same one.
private actor WorldActor {
    /// Adds an observer on an actor.
    static func add<Source: NotificationSource>(
        _ capture: WorldCapture, to source: Source, buffering: Buffering,
        _ number: @escaping @Sendable (Source.Parameters) -> Int
    ) -> ObserverToken {
        let actor = WorldActor()
        let token = Shared<ObserverToken?>(nil)
        // Nothing else runs on the actor, and jobs that wait in the world's own queue stay there.
        JobQueue.keepingJobs {
            Task { token.value = await actor.add(capture, to: source, buffering: buffering, number) }
            JobQueue.current?.run()
        }
        return token.value!
    }

    private func add<Source: NotificationSource>(
        _ capture: WorldCapture, to source: Source, buffering: Buffering,
        _ number: @escaping @Sendable (Source.Parameters) -> Int
    ) -> ObserverToken {
        source.addAsync(buffering: buffering) { value in
            self.assertIsolated()
            await capture.awaited(number(value))
        }
    }
}

/// What the closure of an observer captures.
private final class WorldCapture: @unchecked Sendable {
    private let id: Int
    private let operation: Operation
    private let world: TestedWorld
    private var canary = 0x600D

    init(_ id: Int, _ operation: Operation, in world: TestedWorld) {
        self.id = id
        self.operation = operation
        self.world = world
        world.alive += 1
    }

    func called(_ value: Int, of owner: (any WorldOwning)? = nil) {
        let isIntact = owner?.isIntact != false
        world.tell(Occurrence(.called, canary == 0x600D ? id : -1, isIntact ? value : -1))
        world.run(operation.program)
    }

    /// A call on the actor that owns the observer.
    func called(on owner: WorldOwner, _ value: Int) {
        let before = world.here
        world.here = owner
        called(value, of: owner)
        world.here = before
    }

    /// A call that is awaited, on the actor on which the observer runs.
    func awaited(
        _ value: Int, of owner: (any WorldOwning)? = nil, isolation: isolated (any Actor)? = #isolation
    ) async {
        func isIntact() -> Bool { canary == 0x600D && owner?.isIntact != false }
        called(isIntact() ? value : -1)
        for _ in 0..<operation.suspensions {
            await world.suspend(id)
            world.tell(Occurrence(.resumed, isIntact() ? id : -1, Task.isCancelled))
            world.run(operation.sequel)
        }
        world.tell(Occurrence(.returned, isIntact() ? id : -1, Task.isCancelled))
    }

    deinit {
        // The contract does not say during which operation a dead owner's entry is removed, so the end of its capture is
        // not reported.
        if !operation.kind.hasOwner {
            world.tell(Occurrence(.captureDied, id, world.innermost))
            world.run(operation.farewell)
        }
        canary = 0xDEAD
        world.alive -= 1
    }
}

/// What a capture needs to know of the owner with which it is called.
protocol WorldOwning: AnyObject, Sendable {
    /// Whether this is a living object, and not the memory of a dead one.
    var isIntact: Bool { get }
}

/// An owner with methods that can observe.
///
/// It is an actor, although for most forms of `add` it is an object like any other.
actor WorldOwner: WorldOwning {
    let id: Int
    private let program: Int
    private let farewell: Int
    private let world: TestedWorld
    private nonisolated(unsafe) var canary = 0x600D

    init(id: Int, program: Int, farewell: Int, world: TestedWorld) {
        self.id = id
        self.program = program
        self.farewell = farewell
        self.world = world
        world.alive += 1
    }

    nonisolated var isIntact: Bool { unsafe canary == 0x600D }

    nonisolated func receive(_ value: Int) {
        world.tell(Occurrence(.methodCalled, isIntact ? id : -1, value))
        world.run(program)
    }

    deinit {
        world.tell(Occurrence(.ownerDied, id, world.here?.id ?? 0))
        world.run(farewell)
        unsafe canary = 0xDEAD
        world.alive -= 1
    }
}

// MARK: - Events

protocol WorldEvent: Event {
    var number: Int { get }
}

struct ValueEvent: WorldEvent {
    let number: Int
}

/// An event that is observed only together with all other events.
struct OtherEvent: WorldEvent {
    let number: Int
}

class BaseEvent: WorldEvent, @unchecked Sendable {
    let number: Int

    init(_ number: Int) { self.number = number }
}

final class DerivedEvent: BaseEvent, @unchecked Sendable {}
