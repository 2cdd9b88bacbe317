import Dispatch
import Foundation
import ObserverSet

/// The world of real sources, which records in `events` what happens.
///
/// It uses the library's public interface alone. One thread at a time uses it: the round's, or that of its dispatch queue,
/// for which the round then waits. Nothing whose `deinit` may call this object again is released during an access to a
/// property.
final class TestedWorld: World, @unchecked Sendable {
    private enum Token {
        case shared(ObserverToken)
        case local(LocalObserverSet<Parcel>.Token)
        case delegate(ObserverToken, Delegate)
    }

    /// A delegate, held weakly.
    private final class Delegate {
        weak let owner: WorldOwner?

        init(_ owner: WorldOwner) { self.owner = owner }
    }

    var events: [Occurrence] = []
    /// How many captures, owners and pieces of cargo are alive.
    fileprivate(set) var alive = 0

    private var sets: [ObserverSet<Parcel>] = []
    private var locals = [LocalObserverSet<Parcel>(), LocalObserverSet<Parcel>()]
    private var publisher = EventPublisher()
    private var center = WorldCenter()
    private var delegates = MulticastDelegate<any WorldDelegate>()
    private var owners: [WorldOwner?] = Array(repeating: nil, count: ProgramGenerator.ownerCount)
    private var senders = (0..<ProgramGenerator.senderCount).map { _ in WorldSender() }
    private var bags = (0..<ProgramGenerator.bagCount).map { _ in ObserverBag() }
    private var ownersMade = 0
    /// The observer that is being added.
    private var observer = 0
    private var hasOwner = false
    private var tokens: [Token] = []
    private var kept: [() -> ObserverToken] = []
    private var iterators: [Int: Reader] = [:]
    private var readingTasks: [Int: Task<Void, Never>] = [:]
    /// The actor on which user code is running, if that is known.
    fileprivate var here: WorldOwner?
    /// Where the suspended calls wait.
    private var gates: [CheckedContinuation<Void, Never>] = []
    fileprivate lazy var queue = newQueue()

    override init(_ program: ModelProgram) {
        super.init(program)
        sets = Place.sets.map { newSet($0) }
    }

    private func newQueue() -> DispatchQueue {
        let queue = DispatchQueue(label: "queue")
        queue.suspend()
        JobQueue.current?.keepJobs(of: queue)
        return queue
    }

    deinit { if usesQueue { queue.resume() } }

    override func tell(_ event: Occurrence) { events.append(event) }

    // MARK: Sources

    private func newSet(_ place: Int) -> ObserverSet<Parcel> {
        guard place == Place.produced else { return ObserverSet() }
        return ObserverSet { [unowned self] isObserved in
            tell(Occurrence(.observed, place, 2 * innermost + (isObserved ? 1 : 0)))
            run(1)
        }
    }

    private func source(_ tree: Tree) -> any NotificationSource<Parcel> {
        switch tree {
        case .leaf(Place.value): publisher.observers(of: ParcelEvent.self).map(\.value)
        case .leaf(Place.base): publisher.observers(of: BaseEvent.self).map(\.value)
        case .leaf(Place.derived): publisher.observers(of: DerivedEvent.self).map(\.value)
        case .leaf(Place.all): publisher.allEvents.map { ($0 as! any WorldEvent).value }
        case .leaf(let place) where Place.isPosted(place): center.observers(of: place, from: nil)
        case .leaf(let place): sets[place]
        case .posts(let place, let sender): center.observers(of: place, from: senders[sender])
        case .map(let tree, let program): source(tree).map(transform(program) { $0.plus(1_000) })
        case .compactMap(let tree, let program):
            source(tree).compactMap(transform(program) { $0.number % 3 == 0 ? nil : $0.plus(3_000) })
        case .filter(let tree, let program): source(tree).filter(transform(program) { $0.number % 2 == 0 })
        case .merge(let trees, let fold): Self.merged(trees.map(source), fold)
        case .group(let trees):
            ObserverGroup(trees.map { source($0) as any NotificationSource }).map { Parcel(number: 0) }
        case .once(let tree): source(tree).once
        case .starting(let tree, let program): source(tree).starting(with: newValue(newValue(), program))
        case .adapted(let tree): Adapted(base: source(tree))
        case .twice(let tree): Twice(base: source(tree))
        case .late(let tree):
            Late(base: source(tree)) {
                self.kept.append($0); self.keptCount += 1
            }
        case .nothing: Nothing()
        }
    }

    private func transform<Result>(
        _ program: Int, _ function: @escaping @Sendable (Parcel) -> Result
    ) -> @Sendable (Parcel) -> Result {
        // The function of an observer that has an owner may be called after the owner's end, or not.
        { [observer, program = hasOwner ? 0 : program] value in
            self.tell(Occurrence(.transformed, observer, value.number))
            self.run(program)
            return function(value)
        }
    }

    private static func merged(
        _ members: [any NotificationSource<Parcel>], _ fold: Tree.Fold
    ) -> any NotificationSource<Parcel> {
        func merged(
            _ first: any NotificationSource<Parcel>, _ others: [any NotificationSource<Parcel>]
        ) -> any NotificationSource<Parcel> { first.merge(with: others) }
        let others = Array(members.dropFirst())
        return switch fold {
        case .array: merged(members[0], others)
        case .left: others.reduce(members[0]) { merged($0, [$1]) }
        case .right: others.isEmpty ? members[0] : merged(members[0], [self.merged(others, fold)])
        }
    }

    // MARK: Adding

    override func add(_ operation: Operation) {
        let needsOwner = operation.kind.hasOwner || operation.place == Place.delegates
        var owner = needsOwner ? owner(for: operation) : nil
        let hasCapture = operation.place != Place.delegates && operation.kind != .method
        let id = newObserver()
        var capture =
            hasCapture && operation.kind != .stream ? WorldCapture(id, operation, in: self) : nil
        switch operation.place {
        case Place.delegates:
            append(.delegate(withExtendedLifetime(delegates) { $0.add(owner!) }, Delegate(owner!)))
        case Place.locals:
            append(.local(withLocal(operation.place) { addLocally(operation, to: $0, capture, owner) }))
        default:
            (observer, hasOwner) = (id, operation.kind.hasOwner)
            var source: (any NotificationSource<Parcel>)? = source(operation.tree)
            if !receivesCargo(operation.kind) { source = source!.map { Parcel(number: $0.number) } }
            append(.shared(add(operation, id, to: source!, capture, owner)))
            withExtendedLifetime(source) {}
            silently { source = nil }
        }
        // They are released one after the other, whatever the optimizer does.
        withExtendedLifetime(capture) {}
        capture = nil
        withExtendedLifetime(owner) {}
        owner = nil
    }

    private func append(_ token: Token) {
        tokens.append(token)
        tokenCount += 1
    }

    private func add(
        _ operation: Operation, _ id: Int, to source: some NotificationSource<Parcel>, _ capture: WorldCapture?,
        _ owner: WorldOwner?
    ) -> ObserverToken {
        if operation.kind == .stream { return addStream(operation, id, to: source) }
        guard let capture else { return source.add(method: WorldOwner.receive, of: owner!) }
        let buffering = operation.buffering
        return switch operation.kind {
        case .owner: add(capture, to: source, of: owner!)
        case .nonisolated: source.addNonisolated { capture.called($0) }
        case .nonisolatedOwner: source.addNonisolated(owner!) { capture.called($1, of: $0) }
        case .queue: source.addNonisolated(on: queue) { capture.calledOnQueue($0) }
        case .queueOwner: source.addNonisolated(on: queue, owner!) { capture.calledOnQueue($1, of: $0) }
        case .onActor: WorldOwner(id: 0, world: self).add(capture, to: source)
        case .actorOwner:
            source.add(owner!) { (owner: isolated WorldOwner, value: Parcel) in
                owner.assertIsolated()
                capture.called(on: owner, value)
            }
        case .awaited: source.addAsync(buffering: buffering) { await capture.awaited($0) }
        case .awaitedOnActor: WorldOwner(id: 0, world: self).addAsync(capture, to: source, buffering)
        case .awaitedOwner: addAsync(capture, to: source, of: owner!, buffering)
        case .awaitedActorOwner:
            source.addAsync(owner!, buffering: buffering) { (owner: isolated WorldOwner, value: Parcel) in
                owner.assertIsolated()
                await capture.awaited(on: owner, value)
            }
        default: source.add { capture.called($0) }
        }
    }

    /// Generic over the owner, so that the overload for actors isn't chosen.
    private func add<Owner: WorldDelegate>(
        _ capture: WorldCapture, to source: some NotificationSource<Parcel>, of owner: Owner
    ) -> ObserverToken { source.add(owner) { capture.called($1, of: $0) } }

    private func addAsync<Owner: WorldDelegate>(
        _ capture: WorldCapture, to source: some NotificationSource<Parcel>, of owner: Owner, _ buffering: Buffering
    ) -> ObserverToken { source.addAsync(owner, buffering: buffering) { await capture.awaited($1, of: $0) } }

    private func addStream(
        _ operation: Operation, _ id: Int, to source: some NotificationSource<Parcel>
    ) -> ObserverToken {
        // Cargo isn't buffered, since it would be released at a time that isn't promised.
        let (stream, token) = source.map { Parcel(number: $0.number) }.makeStream(buffering: operation.buffering)
        iterators[id] = Reader(stream)
        streams.append(id)
        return token
    }

    private func addLocally(
        _ operation: Operation, to set: LocalObserverSet<Parcel>, _ capture: WorldCapture?, _ owner: WorldOwner?
    ) -> LocalObserverSet<Parcel>.Token {
        guard let capture else {
            return operation.form == 0
                ? set.add(method: WorldOwner.receive, of: owner!) : set.once.add(method: WorldOwner.receive, of: owner!)
        }
        return switch (owner, operation.form) {
        case (let owner?, 0): set.add(owner) { capture.called($1, of: $0) }
        case (let owner?, _): set.once.add(owner) { capture.called($1, of: $0) }
        case (nil, 0): set.add { capture.called($0) }
        case (nil, _): set.once.add { capture.called($0) }
        }
    }

    override func registerLater(_ index: Int) {
        keptCount -= 1
        var register: (() -> ObserverToken)? = kept.remove(at: index)
        append(.shared(register!()))
        silently { register = nil }
    }

    override func combine(_ first: Int, _ second: Int) {
        append(.shared(ObserverToken([shared(first), shared(second)])))
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

    override func replaceSender(_ sender: Int) { senders[sender] = WorldSender() }

    private func newValue(_ number: Int, _ farewell: Int) -> Parcel {
        Parcel(number: number, cargo: farewell == 0 || !valuesCarryCargo ? nil : Cargo(number, farewell, in: self))
    }

    // MARK: Removing

    private func shared(_ token: Int) -> ObserverToken {
        guard case .shared(let token) = tokens[token] else { fatalError("a local token") }
        return token
    }

    override func isLocal(_ token: Int) -> Bool {
        if case .shared = tokens[token] { false } else { true }
    }

    override func isUndecided(_ token: Int) -> Bool {
        if case .delegate(_, let delegate) = tokens[token] { delegate.owner == nil } else { false }
    }

    override func remove(_ token: Int, by place: Int?) {
        let isRemoved =
            switch (tokens[token], place) {
            case (.shared(let token), nil), (.delegate(let token, _), nil): token.remove()
            case (.local(let token), nil): token.remove()
            case (.delegate(let token, _), Place.delegates?), (.shared(let token), Place.delegates?):
                withExtendedLifetime(delegates) { $0.remove(token) }
            case (.delegate(let token, _), let place?) where Place.sets.contains(place),
                (.shared(let token), let place?) where Place.sets.contains(place):
                withSet(place) { $0.remove(token) }
            case (.local(let token), let place?) where Place.locals.contains(place):
                withLocal(place) { $0.remove(token) }
            default: false
            }
        tell(Occurrence(.removed, token, isRemoved))
    }

    override func removeAndWait(_ token: Int, _ wait: Int) {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        // The registration has been removed when this returns.
        Task.immediate { [self, token = shared(token)] in
            let isRemoved = await token.removeAndWait()
            tell(Occurrence(.waited, wait, 2 * innermost + (isRemoved ? 1 : 0)))
        }
    }

    override func removeAll(place: Int) {
        switch place {
        case Place.locals: withLocal(place) { $0.removeAll() }
        case Place.delegates: withExtendedLifetime(delegates) { $0.removeAll() }
        default: withSet(place) { $0.removeAll() }
        }
    }

    override func removeAll(place: Int, owner: Int) {
        guard let loaded = owners[owner] else { return }
        let count =
            switch place {
            case Place.locals: withLocal(place) { $0.removeAll(ownedBy: loaded) }
            case Place.sets: withSet(place) { $0.removeAll(ownedBy: loaded) }
            default: withPublisher { $0.removeAll(ownedBy: loaded) }
            }
        withExtendedLifetime(loaded) { tell(Occurrence(.removedOwned, loaded.id, count)) }
    }

    override func store(_ token: Int, _ bag: Int) {
        shared(token).store(in: bags[bag])
        tell(Occurrence(.stored, token, bag))
    }

    override func emptyBag(_ bag: Int) {
        let bag = bags[bag]
        tell(Occurrence(.counted, Place.count, bag.count))
        bag.removeAll()
    }

    override func endBag(_ bag: Int) {
        var old: ObserverBag? = bags[bag]
        bags[bag] = ObserverBag()
        withExtendedLifetime(old) {}
        old = nil
    }

    override func replace(place: Int) {
        switch place {
        case Place.sets:
            let old = sets[place]
            withExtendedLifetime(old) { sets[place] = newSet(place) }
        case Place.locals:
            let old = locals[place - Place.locals.lowerBound]
            withExtendedLifetime(old) { locals[place - Place.locals.lowerBound] = LocalObserverSet() }
        case Place.delegates:
            let old = delegates
            withExtendedLifetime(old) { delegates = MulticastDelegate() }
        case Place.named, Place.bridged: withCenter { _ in center = WorldCenter() }
        default: withPublisher { _ in publisher = EventPublisher() }
        }
    }

    // MARK: Notifying

    override func notify(_ operation: Operation, _ number: Int) {
        var value: Parcel? = newValue(number, operation.farewell)
        notify(operation, value!)
        value = nil
    }

    @inline(never)
    private func notify(_ operation: Operation, _ value: Parcel) {
        let (form, sender) = (operation.form, operation.form == 0 ? nil : senders[operation.owner])
        switch operation.place {
        case Place.value: withPublisher { publish(ParcelEvent(value: value), form, by: $0) }
        case Place.base: withPublisher { publish(BaseEvent(value), form, by: $0) }
        case Place.derived: withPublisher { publish(DerivedEvent(value), form, by: $0) }
        case Place.all: withPublisher { publish(OtherEvent(value: value), form, by: $0) }
        case Place.named, Place.bridged: withCenter { $0.post(value, at: operation.place, from: sender) }
        case Place.locals: withLocal(operation.place) { $0.notify(value) }
        case Place.delegates: withExtendedLifetime(delegates) { $0.notify { $0.receive(value) } }
        default: withSet(operation.place) { Self.notify($0, value, here) }
        }
    }

    /// Notifies from that actor, on which the caller is, although the compiler does not see it.
    private static func notify(_ set: ObserverSet<Parcel>, _ value: Parcel, _ here: WorldOwner?) {
        typealias Isolated = (ObserverSet<Parcel>, Parcel, isolated (any Actor)?) -> Void
        typealias Nonisolated = (ObserverSet<Parcel>, Parcel, (any Actor)?) -> Void
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

    override func count(_ place: Int) {
        switch place {
        case Place.sets: withSet(place) { tell(place, $0.count, $0.isEmpty) }
        case Place.locals: withLocal(place) { tell(place, $0.count, $0.isEmpty) }
        case Place.delegates:
            let delegates = delegates
            tell(place, delegates.count, delegates.isEmpty)
        default: tell(Occurrence(.counted, Place.count, bags[0].count))
        }
    }

    private func tell(_ place: Int, _ count: Int, _ isEmpty: Bool) {
        tell(Occurrence(.counted, place, 2 * count + (isEmpty ? 1 : 0)))
    }

    override func describe(_ place: Int) {
        let (title, lines) =
            switch place {
            case Place.sets: withSet(place) { ($0.description, $0.debugDescription) }
            case Place.locals: withLocal(place) { ($0.description, $0.debugDescription) }
            case Place.delegates: (delegates.description, delegates.debugDescription)
            default: withPublisher { ($0.description, $0.description) }
            }
        tell(Occurrence(.described, place, Description(title, lines).digest))
    }

    override func isActive(_ token: Int) {
        let isActive =
            switch tokens[token] {
            case .shared(let token), .delegate(let token, _): token.isActive
            case .local(let token): token.isActive
            }
        tell(Occurrence(.isActive, token, isActive))
    }

    override func ask(_ token: Int) {
        tell(Occurrence(.pending, token, shared(token).pendingCount))
        tell(Occurrence(.dropped, token, shared(token).droppedCount))
    }

    // MARK: Keeping a container alive exactly as long as a call, in debug and release builds

    private func withSet<Result>(_ place: Int, _ body: (ObserverSet<Parcel>) -> Result) -> Result {
        let set = sets[place]
        return withExtendedLifetime(set) { body(set) }
    }

    private func withLocal<Result>(_ place: Int, _ body: (LocalObserverSet<Parcel>) -> Result) -> Result {
        let set = locals[place - Place.locals.lowerBound]
        return withExtendedLifetime(set) { body(set) }
    }

    /// The order in which the publisher's sets are deallocated is not promised.
    private func withPublisher<Result>(_ body: (EventPublisher) -> Result) -> Result {
        var held: EventPublisher? = publisher
        let result = withExtendedLifetime(held) { body(held!) }
        silently { held = nil }
        return result
    }

    private func withCenter(_ body: (WorldCenter) -> Void) {
        var held: WorldCenter? = center
        withExtendedLifetime(held) { body(held!) }
        silently { held = nil }
    }

    // MARK: Tasks

    override func deliver(_ operation: Operation) {
        JobQueue.current?.run(newestFirst: operation.form == 1)
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

    override func letQueueRun() {
        // The last block is there before the first one runs, so that blocks that are enqueued meanwhile stay in the queue.
        let hasRun = DispatchSemaphore(value: 0)
        queue.async { [queue] in
            queue.suspend()
            hasRun.signal()
        }
        queue.resume()
        hasRun.wait()
    }

    override func settle(_ tree: Tree, _ wait: Int) {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        // The task is already waiting when this returns.
        Task.immediate { [self, held = HeldSource(source(tree))] in
            await held.settled()
            tell(Occurrence(.settled, wait, 2 * innermost))
            silently { held.source = nil }
        }
    }

    // MARK: Streams

    override func read(_ stream: Int) {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let task = Task.immediate { [self, reader = iterators[stream]!] in
            let value = await reader.next()
            reading.remove(stream)
            tell(Occurrence(.element, stream, value?.number ?? Occurrence.end))
        }
        readingTasks[stream] = task
    }

    override func cancelReading(_ stream: Int) { readingTasks[stream]?.cancel() }

    override func dropStream(_ stream: Int) {
        readingTasks[stream] = nil
        let reader = iterators.removeValue(forKey: stream)
        withExtendedLifetime(reader) {}
    }

    /// Ends everything after a divergence.
    func abandon() {
        close()
        for _ in 0..<4 {
            if usesQueue { letQueueRun() }
            JobQueue.current?.run()
            while !suspended.isEmpty {
                letOn(0)
                JobQueue.current?.run()
            }
        }
    }
}

// MARK: - What observers capture

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

    func called(_ value: Parcel, of owner: (any WorldDelegate)? = nil) {
        let isIntact = canary == 0x600D && owner?.isIntact != false
        world.tell(world.callEvent(isIntact ? id : -1, value.number))
        world.run(operation.program)
    }

    func calledOnQueue(_ value: Parcel, of owner: (any WorldDelegate)? = nil) {
        dispatchPrecondition(condition: .onQueue(world.queue))
        called(value, of: owner)
    }

    /// A call on an actor.
    func called(on actor: WorldOwner, _ value: Parcel) { world.on(actor) { called(value, of: actor) } }

    /// A call that is awaited, on the actor on which the observer runs.
    func awaited(
        on actor: WorldOwner? = nil, _ value: Parcel, of owner: (any WorldDelegate)? = nil,
        isolation: isolated (any Actor)? = #isolation
    ) async {
        func isIntact() -> Bool { canary == 0x600D && owner?.isIntact != false && actor?.isIntact != false }
        world.on(actor) { called(value, of: owner) }
        for _ in 0..<operation.suspensions {
            await world.suspend(id)
            world.tell(Occurrence(.resumed, isIntact() ? id : -1, Task.isCancelled))
            world.on(actor) { world.run(operation.sequel) }
        }
        world.tell(Occurrence(.returned, isIntact() ? id : -1, Task.isCancelled))
    }

    deinit {
        // The contract does not say during which operation a dead owner's registration is removed, so the end of its
        // capture is not reported.
        if !operation.kind.hasOwner {
            world.tell(Occurrence(.captureDied, id, world.innermost))
            world.run(operation.farewell)
        }
        canary = 0xDEAD
        world.alive -= 1
    }
}

extension TestedWorld {
    fileprivate func on(_ actor: WorldOwner?, _ body: () -> Void) {
        let before = here
        here = actor
        body()
        here = before
    }
}

/// What can own an observer, and be a delegate.
protocol WorldDelegate: AnyObject, Sendable {
    /// Whether this is a living object, and not the memory of a dead one.
    var isIntact: Bool { get }
    func receive(_ value: Parcel)
}

/// An owner with methods that can observe.
///
/// It is an actor, although for most forms of `add` it is an object like any other.
actor WorldOwner: WorldDelegate {
    nonisolated let id: Int
    private let program: Int
    private let farewell: Int
    private let world: TestedWorld
    private nonisolated(unsafe) var canary = 0x600D

    init(id: Int, program: Int = 0, farewell: Int = 0, world: TestedWorld) {
        self.id = id
        self.program = program
        self.farewell = farewell
        self.world = world
        if id > 0 { world.alive += 1 }
    }

    nonisolated var isIntact: Bool { unsafe canary == 0x600D }

    nonisolated func receive(_ value: Parcel) {
        world.tell(Occurrence(.methodCalled, isIntact ? id : -1, value.number))
        world.run(program)
    }

    /// Adds an observer in the actor's code, although the caller isn't on the actor.
    fileprivate nonisolated func add(
        _ capture: WorldCapture, to source: some NotificationSource<Parcel>
    ) -> ObserverToken {
        pretendingToBeHere { actor in
            source.add { value in
                actor.assertIsolated()
                capture.called(on: actor, value)
            }
        }
    }

    fileprivate nonisolated func addAsync(
        _ capture: WorldCapture, to source: some NotificationSource<Parcel>, _ buffering: Buffering
    ) -> ObserverToken {
        pretendingToBeHere { actor in
            source.addAsync(buffering: buffering) { value in
                actor.assertIsolated()
                await capture.awaited(on: actor, value)
            }
        }
    }

    private nonisolated func pretendingToBeHere(_ body: (isolated WorldOwner) -> ObserverToken) -> ObserverToken {
        withoutActuallyEscaping(body) { unsafe unsafeBitCast($0, to: ((WorldOwner) -> ObserverToken).self)(self) }
    }

    deinit {
        if id > 0 {
            world.tell(Occurrence(.ownerDied, id, world.innermost))
            world.run(farewell)
            world.alive -= 1
        }
        unsafe canary = 0xDEAD
    }
}

private final class HeldSource: @unchecked Sendable {
    var source: (any NotificationSource<Parcel>)?

    init(_ source: any NotificationSource<Parcel>) { self.source = source }

    func settled() async { await source!.settled() }
}

/// The iterator of a stream, which it holds.
private final class Reader: @unchecked Sendable {
    private var iterator: AsyncStream<Parcel>.Iterator

    init(_ stream: AsyncStream<Parcel>) { iterator = stream.makeAsyncIterator() }

    func next() async -> Parcel? {
        var iterator = iterator
        return await iterator.next()
    }
}

// MARK: - Values

/// What observers receive: a number, and perhaps an object that runs a program when it is deallocated.
struct Parcel: Sendable {
    let number: Int
    fileprivate(set) var cargo: Cargo?

    func plus(_ difference: Int) -> Parcel { Parcel(number: number + difference, cargo: cargo) }
}

final class Cargo: @unchecked Sendable {
    private let number: Int
    private let farewell: Int
    private let world: TestedWorld

    fileprivate init(_ number: Int, _ farewell: Int, in world: TestedWorld) {
        self.number = number
        self.farewell = farewell
        self.world = world
        world.alive += 1
    }

    deinit {
        world.tell(Occurrence(.cargoDied, number, world.innermost))
        world.run(farewell)
        world.alive -= 1
    }
}

protocol WorldEvent: Event {
    var value: Parcel { get }
}

struct ParcelEvent: WorldEvent {
    let value: Parcel
}

/// An event that is observed only together with all other events.
struct OtherEvent: WorldEvent {
    let value: Parcel
}

class BaseEvent: WorldEvent, @unchecked Sendable {
    let value: Parcel

    init(_ value: Parcel) { self.value = value }
}

final class DerivedEvent: BaseEvent, @unchecked Sendable {}

// MARK: - Sources of the client's own

private struct Adapted: NotificationSource {
    let base: any NotificationSource<Parcel>

    func register(_ observer: ObserverSet.Observer<Parcel>) -> ObserverToken {
        base.register(observer.adapted { $0.plus(7_000) })
    }

    func settled() async { await base.settled() }
}

private struct Twice: NotificationSource {
    let base: any NotificationSource<Parcel>

    func register(_ observer: ObserverSet.Observer<Parcel>) -> ObserverToken {
        ObserverToken([base.register(observer), base.register(observer)])
    }

    func settled() async { await base.settled() }
}

private struct Late: NotificationSource {
    let base: any NotificationSource<Parcel>
    let keep: @Sendable (@escaping () -> ObserverToken) -> Void

    func register(_ observer: ObserverSet.Observer<Parcel>) -> ObserverToken {
        keep { base.register(observer) }
        return ObserverToken([])
    }

    func settled() async { await base.settled() }
}

private struct Nothing: NotificationSource {
    func register(_ observer: ObserverSet.Observer<Parcel>) -> ObserverToken { ObserverToken([]) }
    func settled() async {}
}

// MARK: - Descriptions

/// A description, and the lines of a debug description without the lines of code that they name, in any order.
struct Description {
    private var text: String

    init(_ title: String, _ debugDescription: String) {
        let lines = debugDescription.split(separator: "\n").dropFirst().flatMap { line -> [String] in
            let parts = line.split(separator: " × ")
            let words = parts[0].components(separatedBy: ", registered at")[0].trimmingPrefix { $0 == " " }
            return Array(repeating: String(words), count: parts.count == 1 ? 1 : Int(parts[1])!)
        }
        self.init(title, lines: lines)
    }

    /// A debug description that may leave lines out is not compared.
    init(_ title: String, lines: [String]) {
        text = ([title] + (lines.count > 50 ? [] : lines.sorted())).joined(separator: "\n")
    }

    /// A number that differs if the description does, in all probability.
    var digest: Int {
        Int(text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } % UInt64(Occurrence.end))
    }
}
