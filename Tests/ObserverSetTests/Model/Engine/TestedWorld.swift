import ObserverSet

#if NotificationCenter
import Foundation
#endif

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
    private var delegates = MulticastDelegate<any WorldDelegate>()
    #if NotificationCenter
    /// Made when it is first needed.
    private var center: NotificationCenter?
    #endif
    private var owners: [WorldOwner?]
    private var ownersMade = 0
    private var tokens: [Token] = []
    private var bags = [ObserverBag(), ObserverBag()]
    private var values: [AsyncStream<Int>?] = [nil, nil]
    private var iterators: [IteratorBox?] = [nil, nil]
    /// The actor on which an observer is being called, if it is an observer of an actor.
    fileprivate var here: WorldOwner?
    /// Where the suspended calls wait.
    private var gates: [CheckedContinuation<Void, Never>] = []

    override init(routines: [[Operation]]) {
        owners = Array(repeating: nil, count: OperationGenerator.ownerCount)
        super.init(routines: routines)
    }

    override func tell(_ event: Occurrence) {
        events.append(event)
    }

    // MARK: Adding

    override func add(_ operation: Operation) {
        switch operation.place {
        case Place.value:
            add(operation, to: publisher.observers(of: ValueEvent.self), WorldOwner.receiveValue) { $0.number }
        case Place.base:
            add(operation, to: publisher.observers(of: BaseEvent.self), WorldOwner.receiveObject) { $0.number }
        case Place.derived:
            add(operation, to: publisher.observers(of: DerivedEvent.self), WorldOwner.receiveObject) { $0.number }
        case Place.all:
            add(operation, to: publisher.allEvents, WorldOwner.receiveAny) { ($0 as! any WorldEvent).number }
        case Place.local, Place.otherLocal:
            addLocally(operation, to: locals[operation.place - Place.local])
        case Place.bridge:
            #if NotificationCenter
            add(operation, to: loadedCenter.observers(of: BridgedNumber.self), WorldOwner.receiveBridged) { $0.number }
            #endif
        default:
            add(operation, to: sets[operation.place], WorldOwner.receive) { $0 }
        }
    }

    override func addToGroup(_ operation: Operation) {
        let first = sets[operation.place]
        let second = sets[1 - operation.place]
        let group =
            switch operation.members {
            case .both: ObserverGroup(first, second)
            case .bothReversed: ObserverGroup(second, first)
            case .sameTwice: ObserverGroup(first, first)
            case .nested: ObserverGroup(first, ObserverGroup(second))
            case .withEvents: ObserverGroup(first, publisher.observers(of: ValueEvent.self))
            }
        switch operation.kind {
        case .method:
            register(operation, group.add(method: WorldOwner.receiveNothing, of: owner(for: operation)))
        case .actorOwner, .awaitedOwner, .awaitedActorOwner:
            register(operation, addToGroup(operation, tokens.count, group, owner(for: operation)))
        default:
            add(operation, to: group, { _ in { _ in } }) { 0 }
        }
    }

    /// Adds an observer that reports the number that it derives from its parameters.
    private func add<Source: NotificationSource>(
        _ operation: Operation, to source: Source,
        _ method: @escaping @Sendable (WorldOwner) -> @Sendable (Source.Parameters) -> Void,
        _ number: @escaping @Sendable (Source.Parameters) -> Int
    ) {
        if operation.kind == .method {
            register(operation, source.add(method: method, of: owner(for: operation)))
        } else if operation.kind == .actorOwner || operation.kind == .awaitedActorOwner {
            register(operation, addToActor(operation, tokens.count, to: source, actor: owner(for: operation), number))
        } else if operation.kind.hasOwner {
            register(operation, addOwned(operation, tokens.count, to: source, owner(for: operation), number))
        } else {
            register(operation, addUnowned(operation, tokens.count, to: source, number))
        }
    }

    private func register(_ operation: Operation, _ token: ObserverToken) {
        tokens.append(.shared(token))
        homes.append(operation.place)
    }

    private func addUnowned<Source: NotificationSource>(
        _ operation: Operation, _ id: Int, to source: Source, _ number: @escaping @Sendable (Source.Parameters) -> Int
    ) -> ObserverToken {
        let capture = WorldCapture(id, farewell: operation.farewell, in: self)
        let program = operation.program
        let buffering = Self.buffering(operation.form)
        return switch operation.kind {
        case .awaited:
            source.addAsync(buffering: buffering) { await capture.awaited(number($0), operation) }
        case .awaitedOnActor: WorldActor.add(operation, capture, to: source, buffering: buffering, number)
        case .once: source.once.add { capture.called(number($0), program) }
        case .nonisolated: source.addNonisolated { capture.called(number($0), program) }
        default: source.add { capture.called(number($0), program) }
        }
    }

    /// Generic over the owner, so that the overloads for actors are not chosen.
    private func addOwned<Source: NotificationSource, Owner: WorldOwning>(
        _ operation: Operation, _ id: Int, to source: Source, _ owner: Owner,
        _ number: @escaping @Sendable (Source.Parameters) -> Int
    ) -> ObserverToken {
        // The contract does not say during which operation a dead owner's entry is removed, so its capture's end is not
        // reported.
        let capture = WorldCapture(id, farewell: nil, in: self)
        let program = operation.program
        return switch operation.kind {
        case .awaitedOwner:
            source.addAsync(owner, buffering: Self.buffering(operation.form)) {
                await capture.awaited($0, number($1), operation)
            }
        case .onceOwner: source.once.add(owner) { capture.called($0, number($1), program) }
        case .nonisolatedOwner: source.addNonisolated(owner) { capture.called($0, number($1), program) }
        default: source.add(owner) { capture.called($0, number($1), program) }
        }
    }

    private func addToActor<Source: NotificationSource>(
        _ operation: Operation, _ id: Int, to source: Source, actor owner: WorldOwner,
        _ number: @escaping @Sendable (Source.Parameters) -> Int
    ) -> ObserverToken {
        let capture = WorldCapture(id, farewell: nil, in: self)
        if operation.kind == .actorOwner {
            return source.add(owner) { (owner: isolated WorldOwner, value) in
                owner.assertIsolated()
                capture.called(on: owner, number(value), operation.program)
            }
        }
        return source.addAsync(owner, buffering: Self.buffering(operation.form)) {
            (owner: isolated WorldOwner, value) in
            owner.assertIsolated()
            await capture.awaited(owner, number(value), operation)
        }
    }

    /// The forms for a group, which have no parameters.
    private func addToGroup(
        _ operation: Operation, _ id: Int, _ group: ObserverGroup, _ owner: WorldOwner
    ) -> ObserverToken {
        let capture = WorldCapture(id, farewell: nil, in: self)
        if operation.kind == .actorOwner {
            return group.add(owner) { (owner: isolated WorldOwner) in
                owner.assertIsolated()
                capture.called(on: owner, 0, operation.program)
            }
        }
        let buffering = Self.buffering(operation.form)
        if operation.kind == .awaitedActorOwner {
            return group.addAsync(owner, buffering: buffering) { (owner: isolated WorldOwner) in
                owner.assertIsolated()
                await capture.awaited(owner, 0, operation)
            }
        }
        // Generic over the owner, so that the overload for actors is not chosen.
        func add(_ owner: some WorldOwning) -> ObserverToken {
            group.addAsync(owner, buffering: buffering) { owner in await capture.awaited(owner, 0, operation) }
        }
        return add(owner)
    }

    private func addLocally(_ operation: Operation, to set: LocalObserverSet<Int>) {
        let kind = operation.kind
        let program = operation.program
        let token: LocalObserverSet<Int>.Token
        if kind.hasOwner {
            let owner = owner(for: operation)
            // A method does not use it, since it has no capture.
            let capture = kind == .method ? nil : WorldCapture(tokens.count, farewell: nil, in: self)
            token =
                switch kind {
                case .method: set.add(method: WorldOwner.receive, of: owner)
                case .onceOwner: set.once.add(owner) { capture!.called($0, $1, program) }
                default: set.add(owner) { capture!.called($0, $1, program) }
                }
        } else {
            let capture = WorldCapture(tokens.count, farewell: operation.farewell, in: self)
            token =
                kind == .once
                ? set.once.add { capture.called($0, program) } : set.add { capture.called($0, program) }
        }
        tokens.append(.local(token))
        homes.append(operation.place)
    }

    // MARK: Owners

    private func owner(for operation: Operation) -> WorldOwner {
        if let owner = owners[operation.owner] { return owner }
        let owner = newOwner(program: 0, farewell: 0)
        owners[operation.owner] = owner
        return owner
    }

    override func replaceOwner(_ owner: Int, program: Int, farewell: Int) {
        let old = exchangeOwner(owner, with: newOwner(program: program, farewell: farewell))
        withExtendedLifetime(old) {}
    }

    override func dropOwner(_ owner: Int) {
        let old = exchangeOwner(owner, with: nil)
        withExtendedLifetime(old) {}
    }

    /// Returns the old owner, so that when it is deallocated only the array holds the new one.
    private func exchangeOwner(_ owner: Int, with fresh: WorldOwner?) -> WorldOwner? {
        let old = owners[owner]
        owners[owner] = fresh
        return old
    }

    private func newOwner(program: Int, farewell: Int) -> WorldOwner {
        ownersMade += 1
        return WorldOwner(id: ownersMade, program: program, farewell: farewell, world: self)
    }

    // MARK: Removing

    override func remove(_ registration: Int, by place: Int?, isItsOwn: Bool) {
        let isRemoved =
            switch tokens[registration] {
            case .shared(let token): remove(token, by: place)
            case .local(let token):
                if let place { withLocal(place) { $0.remove(token) } } else { token.remove() }
            }
        tell(Occurrence(.removed, registration, isRemoved))
    }

    private func remove(_ token: ObserverToken, by place: Int?) -> Bool {
        guard let place else { return token.remove() }
        if place == Place.delegates { return withDelegates { $0.remove(token) } }
        return withSet(place) { $0.remove(token) }
    }

    override func removeAll(place: Int) {
        switch place {
        case Place.local, Place.otherLocal: withLocal(place) { $0.removeAll() }
        case Place.delegates: withDelegates { $0.removeAll() }
        default: withSet(place) { $0.removeAll() }
        }
    }

    override func removeAll(place: Int, owner: Int) {
        guard let loaded = owners[owner], place != Place.bridge else { return }
        let count =
            switch place {
            case Place.local, Place.otherLocal: withLocal(place) { $0.removeAll(ownedBy: loaded) }
            case Place.delegates: withDelegates { $0.remove(loaded) } ? 1 : 0
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
        case Place.delegates:
            let old = delegates
            withExtendedLifetime(old) { delegates = MulticastDelegate() }
        case Place.bridge:
            #if NotificationCenter
            let old = center
            withExtendedLifetime(old) { center = nil }
            #endif
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
        case Place.delegates: withDelegates { notify($0, form, value) }
        case Place.bridge:
            #if NotificationCenter
            let center = loadedCenter
            withExtendedLifetime(center) { post(value, form, to: center) }
            #endif
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

    private func notify(_ delegates: MulticastDelegate<any WorldDelegate>, _ form: Int, _ value: Int) {
        do throws(WorldError) {
            try delegates.notify { (delegate) throws(WorldError) in
                delegate.receiveAsDelegate(value)
                if form != 0, delegate.id % 2 == 0 { throw WorldError(id: delegate.id) }
            }
        } catch {
            tell(Occurrence(.threw, error.id, value))
        }
    }

    #if NotificationCenter
    private var loadedCenter: NotificationCenter {
        if let center { return center }
        let fresh = NotificationCenter()
        center = fresh
        return fresh
    }

    private func post(_ value: Int, _ form: Int, to center: NotificationCenter) {
        switch form {
        // A `userInfo` of the wrong type: this is not an event.
        case 0: center.post(name: BridgedNumber.notificationName, object: nil, userInfo: ["number": "\(value)"])
        case 1: center.post(name: BridgedNumber.notificationName, object: nil, userInfo: ["number": value])
        default: center.post(BridgedNumber(number: value))
        }
    }
    #endif

    // MARK: Delegates

    override func addDelegate(_ operation: Operation) {
        let owner = owner(for: operation)
        let token = delegates.add(owner)
        if let known = unsafe owner.delegateRegistration, case .shared(token) = tokens[known] {
            tell(Occurrence(.delegateStayed, owner.id, known))
            return
        }
        tell(Occurrence(.delegateAdded, owner.id, tokens.count))
        unsafe owner.delegateRegistration = tokens.count
        tokens.append(.shared(token))
        homes.append(Place.delegates)
    }

    override func listDelegates() {
        var ids: [Int] = []
        withDelegates { for delegate in $0.delegates { ids.append(delegate.id) } }
        for id in ids { tell(Occurrence(.delegateListed, id, 0)) }
    }

    // MARK: Questions

    override func count(place: Int) {
        let count =
            switch place {
            case Place.local, Place.otherLocal: locals[place - Place.local].count
            case Place.delegates: delegates.count
            default: sets[place].count
            }
        tell(Occurrence(.counted, place, count))
    }

    override func isEmpty(place: Int) {
        let isEmpty =
            switch place {
            case Place.local, Place.otherLocal: locals[place - Place.local].isEmpty
            case Place.delegates: delegates.isEmpty
            default: sets[place].isEmpty
            }
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

    private func withDelegates<Result>(_ body: (MulticastDelegate<any WorldDelegate>) -> Result) -> Result {
        let delegates = delegates
        return withExtendedLifetime(delegates) { body(delegates) }
    }

    /// The order in which the publisher's channels are deallocated is not promised.
    private func withPublisher<Result>(_ body: (EventPublisher) -> Result) -> Result {
        var held: EventPublisher? = publisher
        let result = withExtendedLifetime(held) { body(held!) }
        silently { held = nil }
        return result
    }

    // MARK: Bags

    override func store(_ registration: Int, in bag: Int) {
        guard case .shared(let token) = tokens[registration] else { return }
        let bag = bags[bag]
        token.store(in: bag)
    }

    override func emptyBag(_ bag: Int) {
        let bag = bags[bag]
        withExtendedLifetime(bag) { bag.removeAll() }
    }

    override func replaceBag(_ bag: Int) {
        let old = bags[bag]
        withExtendedLifetime(old) { bags[bag] = ObserverBag() }
    }

    override func countBag(_ bag: Int) {
        let place = bag
        let bag = bags[place]
        tell(Occurrence(.bagCounted, place, withExtendedLifetime(bag) { bag.count }))
    }

    // MARK: Sequences

    override func makeValues(_ operation: Operation) {
        let buffering = Self.buffering(operation.form)
        let old = values[operation.slot]
        withExtendedLifetime(old) { values[operation.slot] = sets[operation.place].values(buffering: buffering) }
    }

    private static func buffering(_ form: Int) -> Buffering {
        switch form {
        case 0: .unbounded
        case 1: .newest(1)
        case 2: .newest(3)
        case 3: .oldest(1)
        default: .oldest(3)
        }
    }

    override func dropValues(_ slot: Int) {
        let old = values[slot]
        withExtendedLifetime(old) { values[slot] = nil }
    }

    override func makeIterator(_ slot: Int) {
        guard let sequence = values[slot] else { return }
        let old = iterators[slot]
        withExtendedLifetime(old) { iterators[slot] = IteratorBox(sequence.makeAsyncIterator()) }
    }

    override func dropIterator(_ slot: Int) {
        let old = iterators[slot]
        withExtendedLifetime(old) { iterators[slot] = nil }
    }

    override func take(slot: Int, count: Int, isEnd: Bool) {
        guard let box = iterators[slot] else { return }
        for _ in 0..<count + (isEnd ? 1 : 0) {
            switch box.nextAtOnce() {
            case .some(.some(let value)): tell(Occurrence(.taken, slot, value))
            case .some(.none): tell(Occurrence(.ended, slot, 0))
            case .none: return tell(Occurrence(.waits, slot, 0))
            }
        }
    }

    // MARK: Observers that await

    override func deliver() {
        JobQueue.current?.run()
    }

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

    override func settle(place: Int, _ number: Int) {
        if Place.sets.contains(place) {
            settle(sets[place], number)
        } else {
            settle(ObserverGroup(sets[0], sets[1]), number)
        }
    }

    /// Waits until the source is settled, and keeps it alive until then.
    private func settle<Source: NotificationSource>(_ source: Source, _ number: Int) {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        // The task is already waiting when this returns.
        Task.immediate { [self] in
            await source.settled()
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
        _ operation: Operation, _ capture: WorldCapture, to source: Source, buffering: Buffering,
        _ number: @escaping @Sendable (Source.Parameters) -> Int
    ) -> ObserverToken {
        let actor = WorldActor()
        let box = TokenBox()
        // Nothing else runs on the actor, and jobs that wait in the world's own queue stay there.
        JobQueue.keepingJobs {
            Task { box.token = await actor.add(operation, capture, to: source, buffering: buffering, number) }
            JobQueue.current?.run()
        }
        return box.token!
    }

    private func add<Source: NotificationSource>(
        _ operation: Operation, _ capture: WorldCapture, to source: Source, buffering: Buffering,
        _ number: @escaping @Sendable (Source.Parameters) -> Int
    ) -> ObserverToken {
        source.addAsync(buffering: buffering) { value in
            self.assertIsolated()
            await capture.awaited(number(value), operation)
        }
    }
}

private final class TokenBox: @unchecked Sendable {
    var token: ObserverToken?
}

/// An iterator whose waiting values can be taken without waiting.
private final class IteratorBox: @unchecked Sendable {
    private var iterator: AsyncStream<Int>.Iterator
    private var taken: Int??

    init(_ iterator: AsyncStream<Int>.Iterator) {
        self.iterator = iterator
    }

    /// What `next` returns at once; nil if it waits.
    func nextAtOnce() -> Int?? {
        taken = nil
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return nil }
        // The task runs on this thread until it has to wait.
        Task.immediateDetached { [self] in taken = .some(await iterator.next(isolation: nil)) }
        return taken
    }
}

/// What the closure of an observer captures.
private final class WorldCapture: @unchecked Sendable {
    private let id: Int
    /// Nil if its deallocation is not reported.
    private let farewell: Int?
    private let world: TestedWorld
    private var canary = 0x600D

    init(_ id: Int, farewell: Int?, in world: TestedWorld) {
        self.id = id
        self.farewell = farewell
        self.world = world
        world.alive += 1
    }

    func called(_ value: Int, _ program: Int) {
        world.tell(Occurrence(.called, canary == 0x600D ? id : -1, value))
        world.run(program)
    }

    func called(_ owner: some WorldOwning, _ value: Int, _ program: Int) {
        called(owner.isIntact ? value : -1, program)
    }

    /// A call on the actor that owns the observer.
    func called(on owner: WorldOwner, _ value: Int, _ program: Int) {
        let before = world.here
        world.here = owner
        called(owner, value, program)
        world.here = before
    }

    /// A call that is awaited, on the actor on which the observer runs.
    func awaited(_ value: Int, _ operation: Operation, isolation: isolated (any Actor)? = #isolation) async {
        await awaited(value, operation) { true }
    }

    func awaited(
        _ owner: some WorldOwning, _ value: Int, _ operation: Operation,
        isolation: isolated (any Actor)? = #isolation
    ) async {
        await awaited(owner.isIntact ? value : -1, operation) { owner.isIntact }
    }

    private func awaited(
        _ value: Int, _ operation: Operation, isolation: isolated (any Actor)? = #isolation, isIntact: () -> Bool
    ) async {
        called(value, operation.program)
        for _ in 0..<operation.suspensions {
            await world.suspend(id)
            world.tell(Occurrence(.resumed, isIntact() ? id : -1, Task.isCancelled))
            world.run(operation.sequel)
        }
        world.tell(Occurrence(.returned, isIntact() && canary == 0x600D ? id : -1, Task.isCancelled))
    }

    deinit {
        if let farewell {
            world.tell(Occurrence(.captureDied, id, world.innermost))
            world.run(farewell)
        }
        canary = 0xDEAD
        world.alive -= 1
    }
}

/// What the delegates of a world do.
protocol WorldDelegate: AnyObject, Sendable {
    var id: Int { get }
    func receiveAsDelegate(_ value: Int)
}

/// What a delegate throws.
struct WorldError: Error {
    let id: Int
}

/// What a capture needs to know of the owner with which it is called.
protocol WorldOwning: AnyObject, Sendable {
    /// Whether this is a living object, and not the memory of a dead one.
    var isIntact: Bool { get }
}

/// An owner with methods that can observe.
///
/// It is an actor, although for most forms of `add` it is an object like any other.
actor WorldOwner: WorldDelegate, WorldOwning {
    let id: Int
    /// The newest registration as a delegate.
    nonisolated(unsafe) var delegateRegistration: Int?
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

    nonisolated func receive(_ value: Int) { told(.methodCalled, value) }
    nonisolated func receiveNothing() { receive(0) }
    nonisolated func receiveValue(_ event: ValueEvent) { receive(event.number) }
    nonisolated func receiveObject(_ event: BaseEvent) { receive(event.number) }
    nonisolated func receiveAny(_ event: any Event) { receive((event as! any WorldEvent).number) }
    nonisolated func receiveAsDelegate(_ value: Int) { told(.delegateTold, value) }
    #if NotificationCenter
    nonisolated func receiveBridged(_ event: BridgedNumber) { receive(event.number) }
    #endif

    private nonisolated func told(_ tag: Occurrence.Tag, _ value: Int) {
        world.tell(Occurrence(tag, isIntact ? id : -1, value))
        world.run(program)
    }

    deinit {
        world.tell(Occurrence(.ownerDied, id, 0))
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

    init(_ number: Int) {
        self.number = number
    }
}

final class DerivedEvent: BaseEvent, @unchecked Sendable {}

#if NotificationCenter
struct BridgedNumber: BridgedEvent, WorldEvent {
    let number: Int

    init(number: Int) {
        self.number = number
    }

    static var notificationName: Notification.Name { Notification.Name("ObserverSet.Model.number") }
    var userInfo: [AnyHashable: Any]? { ["number": number] }

    init?(_ notification: Notification) {
        guard let number = notification.userInfo?["number"] as? Int else { return nil }
        self.number = number
    }
}
#endif
