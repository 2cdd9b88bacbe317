import ObserverSet

/// The contract as a sequential program, in which a set is a plain array of entries.
///
/// It runs after the tested world, and compares each step with what that has reported. Where the contract leaves something
/// open, it follows the report: the order of releases, the order in which tasks run, and when an actor is released that a
/// task has held.
final class ModelWorld: World {
    let fault: Fault?
    private var places: [Model] = []
    private var publisher = Container(Array(Place.value...Place.all))
    private var center = Container([Place.named, Place.bridged])
    private var owners: [Owner?] = Array(repeating: nil, count: ProgramGenerator.ownerCount)
    private var senders = (0..<ProgramGenerator.senderCount).map { _ in Sender() }
    private var bags = (0..<ProgramGenerator.bagCount).map { _ in Bag() }
    private var ownersMade = 0
    private var tokens: [Token] = []
    private var kept: [Kept] = []
    private var observers: [Observer] = []
    /// The owners of all observers that ever had one.
    private var owned: [Int: Owner] = [:]
    /// The cargo of the first values of the sources that are being made.
    private var cargoMade: [Mortal] = []
    /// How many objects that are reported are alive.
    private var alive = 0
    /// How many entries have ever been made.
    private var time = 0
    /// The mailboxes, other than those on the queue, for which a task runs or is on its way.
    private var busy: [Mailbox] = []
    /// What is pending on the queue.
    private var queued: [Job] = []
    private var waiters: [Waiter] = []
    /// The sets with producers, and the ends of such sets that are being told.
    private var producing: [Model] = []
    private var farewells: [Mortal] = []
    /// Whether asking a set may tell its producer.
    private var isAsking = true
    private var gates: [Gate] = []
    /// How many jobs have ever been made.
    private var jobsMade = 0
    /// The job of the awaited call that is running now; zero if none is.
    private var inside = 0
    /// The job whose call has returned, and whose value is being released, inside the call or just after it.
    private var closing = 0
    /// How often the queue has run, and whether it is running.
    private var queueRuns = 0
    private var isQueueRunning = false
    /// Whether tasks are being run, and the actor on which one is running.
    private var isDelivering = false
    /// What somebody who is on the way may still have to release.
    private var dropped: [Mortal] = []
    private var deliverer: Mailbox?
    /// False if an object has been released on two actors, and on one of them last.
    private var isDelivererKnown = true
    /// Owners that only pending values or tasks hold.
    private var leaving: [Owner] = []
    /// The actor on which user code is running, if that is known.
    private var here: Mailbox?

    private var told: [Occurrence] = []
    private var position = 0
    /// The first difference: what the contract says, and what was reported instead.
    private(set) var divergence: String?

    init(_ program: ModelProgram, fault: Fault?) {
        self.fault = fault
        super.init(program)
        places = (0..<Place.count).map(Model.init)
        enter(publisher)
        enter(center)
        producing = [places[Place.produced]]
    }

    /// Performs one step, and compares it with what the tested world has reported for it.
    func follow(_ events: [Occurrence], _ body: (World) -> Void) {
        told = events
        position = 0
        body(self)
        followUnpromised()
        if divergence == nil, position < told.count { diverge("nothing more") }
        told = []
    }

    private func enter(_ container: Container) {
        for (place, set) in zip(container.places, container.sets) { places[place] = set }
    }

    // MARK: Sources

    /// Registers an observer, and returns its token.
    private typealias Source = (Observer, Link) -> Token

    private func source(_ tree: Tree) -> Source {
        switch tree {
        case .leaf(let place):
            return leaf(places[place], Place.isPublished(place) || Place.isPosted(place) ? .identity : nil)
        case .posts(let place, let sender): return leaf(places[place], .sender(senders[sender]))
        case .map(let tree, let program): return wrapping(tree, .function(program) { $0.plus(1_000) })
        case .compactMap(let tree, let program):
            return wrapping(tree, .function(program) { $0.number % 3 == 0 ? nil : $0.plus(3_000) })
        case .filter(let tree, let program): return wrapping(tree, .function(program) { $0.number % 2 == 0 ? $0 : nil })
        case .adapted(let tree): return wrapping(tree, .function(nil) { $0.plus(7_000) })
        case .merge(let trees, _):
            let members = trees.map(source)
            return { observer, link in .combined(members.map { $0(observer, link) }) }
        case .group(let trees):
            let members = trees.map(source)
            return { observer, link in
                let link = link.adding(.function(nil) { _ in Parcel(number: 0) })
                return .combined(members.map { $0(observer, link) })
            }
        case .twice(let tree):
            let base = source(tree)
            return { observer, link in .combined([base(observer, link), base(observer, link)]) }
        case .once(let tree):
            let base = source(tree)
            return { [self] observer, link in
                let gate = newGate()
                let token = base(observer, link.adding(.gate(gate)))
                gate.token = token
                // It has been called already.
                if gate.isPassed { _ = remove(token) }
                return Token(.once(gate, token))
            }
        case .starting(let tree, let farewell):
            let base = source(tree)
            let first = newValue(newValue(), farewell)
            if let cargo = first.cargo { cargoMade.append(cargo) }
            return { [self] in starting(base, first, $0, $1) }
        case .late(let tree):
            let before = cargoMade.count
            let base = source(tree)
            let (cargo, sets) = (Array(cargoMade[before...]), heldSets(of: tree))
            return { [self] observer, link in
                kept.append(Kept(observer: observer, register: { base(observer, link) }, sets: sets, cargo: cargo))
                keptCount += 1
                for set in sets { set.holds += 1 }
                for object in cargo + [observer.capture] { object.holds += 1 }
                return .combined([])
            }
        case .nothing: return { _, _ in .combined([]) }
        }
    }

    private func leaf(_ set: Model, _ wrap: Wrap?) -> Source {
        { [self] observer, link in
            if set.isGone { return .combined([]) }
            var link = wrap.map(link.adding) ?? link
            // Each registration has a state of its own.
            if let state = link.state {
                if state.isClaimed { link.state = State() }
                link.state!.isClaimed = true
            }
            return Token(.entry(append(observer, link, to: set)))
        }
    }

    private func append(_ observer: Observer, _ link: Link, to set: Model) -> Entry {
        time += 1
        let entry = Entry(observer, link, set, time)
        use(set)
        set.entries.append(entry)
        if let mailbox = observer.mailbox { set.mailboxes.append(mailbox) }
        reportDemand(set)
        return entry
    }

    private func wrapping(_ tree: Tree, _ wrap: Wrap) -> Source {
        let base = source(tree)
        return { observer, link in base(observer, link.adding(wrap)) }
    }

    private func starting(_ base: Source, _ first: Parcel, _ observer: Observer, _ link: Link) -> Token {
        var link = link
        if link.state?.isClaimed == true { link.state = State() }
        let token = base(observer, link)
        link.state?.isClaimed = true
        if fault != .startsNothing, isActive(token) || !token.standsForRegistrations {
            send(first, nil, through: link, to: observer, from: nil)
        }
        guard let state = link.state, observer.mailbox != nil else { return token }
        var isKnown = false
        visit(token) { known, _ in if known === state { isKnown = true } }
        if isKnown { return token }
        return .combined([token, Token(.unregistered(state, observer))])
    }

    /// The sets that a source holds.
    private func heldSets(of tree: Tree) -> [Model] { tree.places.filter(Place.sets.contains).map { places[$0] } }

    private func newGate() -> Gate {
        gates.append(Gate())
        return gates.last!
    }

    // MARK: Adding

    override func add(_ operation: Operation) {
        let owner = operation.kind.hasOwner || operation.place == Place.delegates ? owner(for: operation) : nil
        owner?.holds += 1
        if operation.place == Place.delegates {
            _ = newObserver()
            append(delegateToken(operation, owner!))
        } else {
            let observer = Observer(newObserver(), operation, owner)
            observers.append(observer)
            owned[observer.id] = owner
            if observer.capture.tag != nil { alive += 1 }
            if operation.kind == .awaitedActorOwner {
                owner!.awaiting.append(observer.mailbox!)
                if operation.buffering == .unbounded { owner!.unbounded.append(observer.mailbox!) }
            }
            observer.capture.holds += 1
            if Place.locals.contains(operation.place) {
                append(localToken(observer, operation))
            } else {
                addToSource(observer, operation)
            }
            release([observer.capture])
        }
        if let owner { release(owner) }
    }

    private func addToSource(_ observer: Observer, _ operation: Operation) {
        let outer = cargoMade
        cargoMade = []
        // The sets are those that are there when the source is made.
        let sets = heldSets(of: operation.tree)
        let source = source(operation.tree)
        let cargo = cargoMade
        cargoMade = outer
        for set in sets { set.holds += 1 }
        for object in cargo { object.holds += 1 }
        let link = Link(state: observer.mailbox.map { _ in State(isFirst: true) })
        let withoutCargo = Link(chain: [.function(nil) { Parcel(number: $0.number) }], state: link.state ?? State())
        if operation.kind == .stream {
            let token = source(observer, withoutCargo)
            streams.append(observer.id)
            observer.token = .combined([token, Token(.dropped(observer))])
            append(observer.token!)
        } else {
            append(source(observer, receivesCargo(operation.kind) ? link : withoutCargo))
        }
        silently { release(sets, cargo) }
    }

    private func append(_ token: Token) {
        tokens.append(token)
        tokenCount += 1
    }

    private func localToken(_ observer: Observer, _ operation: Operation) -> Token {
        let set = places[operation.place]
        guard operation.form == 1 else { return Token(.entry(append(observer, Link(), to: set)), isLocal: true) }
        let gate = newGate()
        let token = Token(.entry(append(observer, Link().adding(.gate(gate)), to: set)))
        gate.token = token
        return Token(.once(gate, token), isLocal: true)
    }

    /// A delegate that has been added already keeps its place.
    private func delegateToken(_ operation: Operation, _ owner: Owner) -> Token {
        let set = places[Place.delegates]
        let known = set.registered.first { $0.observer.owner === owner }
        let isNew = known == nil || fault == .addsDelegatesTwice
        let method = Operation(verb: .add, kind: .method)
        return Token(.entry(isNew ? append(Observer(0, method, owner), Link(), to: set) : known!), isLocal: true)
    }

    override func registerLater(_ index: Int) {
        keptCount -= 1
        let kept = kept.remove(at: index)
        append(kept.register())
        silently { release(kept.sets, kept.cargo + [kept.observer.capture]) }
    }

    override func combine(_ first: Int, _ second: Int) { append(.combined([tokens[first], tokens[second]])) }

    override func isLocal(_ token: Int) -> Bool { tokens[token].isLocal }

    // MARK: Removing

    /// Whether the token's delegate has died, which the multicast may not have noticed.
    override func isUndecided(_ token: Int) -> Bool { tokens[token].delegate?.isDead == true }

    override func remove(_ token: Int, by place: Int?) {
        let isAddressed = place.map { isIssued(tokens[token], by: places[$0]) || fault == .removesForeign } ?? true
        let caller = place.map { places[$0] }
        caller?.holds += 1
        let results = isAddressed ? possibleResults(ofRemoving: tokens[token]) : [false]
        if let caller { release([caller], []) }
        let possible = results.map { Occurrence(.removed, token, $0) }
        expect(possible.first(where: isNext) ?? possible[0])
    }

    /// Does what a token's `remove` does, and returns what that may return.
    ///
    /// If an owner dies meanwhile, that may happen before its registration ends (`false`) or after (`true`).
    private func possibleResults(ofRemoving token: Token) -> [Bool] {
        let before = position
        var owners: [Owner] = []
        token.forEachEntry { if !$0.isRemoved, let owner = $0.observer.owner, !owner.isDead { owners.append(owner) } }
        let isRemoved = remove(token)
        let died = told[before..<position].filter { $0.tag == .ownerDied }.map(\.subject)
        return !isRemoved && owners.contains { died.contains($0.id) } ? [false, true] : [isRemoved]
    }

    private func isIssued(_ token: Token, by set: Model) -> Bool {
        switch token.kind {
        case .entry(let entry): return entry.set === set
        case .once(_, let token): return isIssued(token, by: set)
        case .combined(let tokens):
            let parts = tokens.filter { if case .dropped = $0.kind { false } else { true } }
            return parts.count == 1 && isIssued(parts[0], by: set)
        case .unregistered, .dropped: return false
        }
    }

    /// Does what a token's `remove` does, and returns the same.
    private func remove(_ token: Token) -> Bool {
        switch token.kind {
        case .entry(let entry):
            ask(entry.set, isTraversal: false)
            let wasRegistered = !entry.isRemoved
            let isEnded = wasRegistered && entry.observer.isAlive
            if wasRegistered {
                if fault == .keepsLocalRemoved, Place.locals.contains(entry.set.place) { return isEnded }
                remove([entry], from: entry.set)
            } else if entry.isLeft, let state = entry.link.state, fault != .deliversWhatADeadSetLeft {
                entry.isLeft = false
                if state.isFirst || isBusy(state, of: entry.observer) { drop(state, of: entry.observer) }
            }
            return isEnded || fault == .removesTwice
        case .combined(let tokens):
            // All are marked first, so that none is called while another is removed.
            for token in tokens {
                if case .unregistered = token.kind, fault == .deliversFirstValuesOfNoSet { continue }
                visit(token) { state, _ in state?.remove(in: innermost) }
            }
            var isAny = false
            for token in tokens where remove(token) {
                isAny = true
                if fault == .endsOneMemberOnly { break }
            }
            guard isAny, !token.hasBeenRemoved else { return false }
            token.hasBeenRemoved = true
            return true
        case .once(let gate, let inner):
            let isMine = mayBeCalled(token)
            if isMine { gate.decide() }
            _ = remove(inner)
            return isMine
        case .unregistered(let state, let observer):
            if fault != .deliversFirstValuesOfNoSet { drop(state, of: observer) }
            return false
        case .dropped: return false
        }
    }

    /// Drops what is pending for a registration that is in no set.
    private func drop(_ state: State, of observer: Observer) {
        state.remove(in: innermost)
        if observer.kind.isAwaiting { cancel(state, of: observer) }
    }

    override func removeAll(place: Int) {
        let set = places[place]
        set.holds += 1
        use(set)
        let dropped = set.queue
        set.queue = []
        remove(set.registered, from: set)
        dropped.forEach(release)
        release([set], [])
    }

    override func removeAll(place: Int, owner: Int) {
        guard let owner = owners[owner] else { return }
        owner.holds += 1
        var count = 0
        for set in Place.isPublished(place) ? publisher.sets : [places[place]] {
            use(set)
            let owned = set.registered.filter { $0.observer.owner === owner }
            if !owned.isEmpty { remove(owned, from: set) }
            count += owned.count
        }
        expect(Occurrence(.removedOwned, owner.id, count))
        release(owner)
    }

    /// Ends registrations as their tokens do: what is pending for them is dropped.
    private func remove(_ entries: [Entry], from set: Model) {
        use(set)
        for entry in entries {
            entry.isRemoved = true
            entry.link.state?.remove(in: innermost)
        }
        // The producer may be told before or after the captures are released.
        releasing(entries.map(\.observer.capture)) {
            // The producer is told when all calls have been cancelled.
            let before = set.cancelling
            set.cancelling = innermost
            for entry in entries where entry.observer.kind.isAwaiting { cancel(entry.link.state!, of: entry.observer) }
            set.cancelling = before
            retire(entries, from: set)
            reportDemand(set)
        }
    }

    /// Drops the values that are pending for a removed observer that awaits, and cancels its call.
    private func cancel(_ state: State, of observer: Observer) {
        let mailbox = observer.mailbox!
        if fault == .deliversRemoved { return }
        let dropped = mailbox.jobs.filter { !$0.link.state!.isRegistered }
        mailbox.jobs.removeAll { !$0.link.state!.isRegistered }
        if let call = mailbox.call, call.job.link.state === state, fault != .cancelsNothing { cancel(call) }
        for job in dropped { job.link.state!.pending -= 1 }
        release(dropped.flatMap(\.objects))
        followLeaving()
    }

    /// A call that removes its own observer goes on, and so does the only call of an observer that is called once.
    private func cancel(_ call: Call) {
        let isCaller = inside == call.job.number && fault != .cancelsItself
        let isOnly = call.job.link.isCalledOnce
        if !isCaller, !isOnly { call.isCancelled = true }
    }

    override func store(_ token: Int, _ index: Int) {
        let bag = bags[index]
        bag.holds += 1
        bag.tokens.append(tokens[token])
        // A full bag asks all its tokens.
        if bag.tokens.count > 16 { for token in bag.tokens { visit(token) { _, _ in } } }
        release(bag)
        expect(Occurrence(.stored, token, index))
    }

    override func emptyBag(_ bag: Int) {
        let bag = bags[bag]
        bag.holds += 1
        expectCount(of: bag)
        empty(bag)
        release(bag)
    }

    override func endBag(_ bag: Int) {
        let old = bags[bag]
        bags[bag] = Bag()
        release(old)
    }

    private func release(_ bag: Bag) {
        bag.holds -= 1
        if bag.holds == 0 { empty(bag) }
    }

    private func empty(_ bag: Bag) {
        let ended = bag.tokens
        bag.tokens = []
        for token in fault == .endsBagsInReverse ? ended.reversed() : ended {
            // A bag may have forgotten what a removal would not end.
            if !isSpent(token), fault != .forgetsInBags || isActive(token) {
                _ = remove(token)
            } else {
                token.forEachEntry { ask($0.set) }
                noteForgotten(token)
            }
        }
    }

    /// A second removal, if the bag hasn't forgotten the token, cancels a call with a first value.
    private func noteForgotten(_ token: Token) {
        guard case .combined(let tokens) = token.kind else { return }
        for case .unregistered(let state, let observer) in tokens.map(\.kind) {
            if let call = observer.mailbox?.call, call.job.link.state === state { call.mayBeCancelled = true }
        }
    }

    /// A producer that is told meanwhile may change what the bag has yet to count, in an order of its own.
    private func expectCount(of bag: Bag) {
        let tokens = bag.tokens
        func count() -> Int { Set(tokens.filter(isActive).map(identity)).count }
        func countAskingNobody() -> Int {
            isAsking = false
            defer { isAsking = true }
            return count()
        }
        let before = countAskingNobody()
        followUnpromised()
        _ = count()
        let after = countAskingNobody()
        let counted = min(max(next?.value ?? 0, min(before, after)), max(before, after))
        expect(Occurrence(.counted, Place.count, counted))
    }

    /// Tokens of the same registration are equal.
    private func identity(of token: Token) -> ObjectIdentifier {
        if case .entry(let entry) = token.kind { ObjectIdentifier(entry) } else { ObjectIdentifier(token) }
    }

    // MARK: Lifetimes

    private func owner(for operation: Operation) -> Owner {
        if let owner = owners[operation.owner] { return owner }
        let owner = newOwner(nil)
        owners[operation.owner] = owner
        return owner
    }

    private func newOwner(_ operation: Operation?) -> Owner {
        ownersMade += 1
        alive += 1
        let owner = Owner(ownersMade, operation)
        owner.holds = 1
        return owner
    }

    override func replaceOwner(_ owner: Int, by successor: Operation?) {
        let old = owners[owner]
        owners[owner] = successor.map(newOwner)
        if let old { release(old) }
    }

    override func replaceSender(_ sender: Int) { senders[sender] = Sender() }

    private func newValue(_ number: Int, _ farewell: Int) -> Parcel {
        if farewell == 0 || !valuesCarryCargo { return Parcel(number: number) }
        alive += 1
        return Parcel(number: number, cargo: Mortal(.cargoDied, number, farewell))
    }

    override func replace(place: Int) {
        if Place.isPublished(place) {
            let old = publisher
            publisher = Container(old.places)
            enter(publisher)
            silently { release(old) }
        } else if Place.isPosted(place) {
            let old = center
            center = Container(old.places)
            enter(center)
            silently { release(old) }
        } else {
            let old = places[place]
            places[place] = Model(place)
            if place == Place.produced { producing.append(places[place]) }
            release([old], [])
        }
    }

    private func release(_ container: Container) {
        container.holds -= 1
        guard container.holds == 0 else { return }
        release(container.sets, [])
    }

    /// Releases sets and other objects, in any order.
    private func release(_ sets: [Model], _ objects: [Mortal]) {
        var objects = objects
        for set in sets {
            set.holds -= 1
            guard set.holds == 0 else { continue }
            let ended = set.registered
            set.isGone = true
            producing.removeAll { $0 === set }
            set.entries = []
            for entry in ended {
                entry.isRemoved = true
                entry.isLeft = entry.observer.mailbox.map { $0.isBusy || $0.hasTask } ?? false
                if fault == .dropsWhatADeadSetLeft { entry.link.state?.remove(in: innermost) }
            }
            objects += ended.map(\.observer.capture)
            if set.lastReported {
                set.lastReported = false
                // The producer hears of the end before, between or after the releases.
                let farewell = Mortal(.observed, innermost, 1)
                farewell.holds = 1
                alive += 1
                objects.append(farewell)
                set.farewell = farewell
                farewells.append(farewell)
            }
        }
        release(objects)
        farewells.removeAll(where: \.isDead)
    }

    /// Releases entries at once, or when the notifications in progress have ended.
    private func retire(_ entries: [Entry], from set: Model) {
        if set.passes == 0 || fault == .releasesDuringThePass {
            if set.passes == 0 { set.entries.removeAll { $0.isRemoved } }
            if set.doubts == 0 { return release(entries.map(\.observer.capture)) }
            for entry in entries {
                entry.observer.capture.holds -= 1
                drop(entry.observer.capture)
            }
            followUnpromised()
        } else {
            set.retired += entries
        }
    }

    private func release(_ owner: Owner) {
        owner.holds -= 1
        if owner.holds > 0 || owner.isDead { return }
        if !leaving.contains(where: { $0 === owner }) { leaving.append(owner) }
        followLeaving()
        let isHeld = fault != .holdsNoActors && (owner.isHeldByMailboxes || owner.mayHaveTask)
        if !owner.isDead, !isHeld { diverge("\(death(of: owner))") }
    }

    /// Whether a task that ends has released an actor.
    private func followLeaving() {
        while divergence == nil, let owner = leaving.first(where: { isNext(death(of: $0)) && $0.holds == 0 }) {
            // What is dropped when its turn comes doesn't hold it any longer.
            if isDelivering {
                // Its turn comes after the operation inside user code that has removed an observer.
                func isTooEarly(_ job: Job) -> Bool { isInside && job.link.state!.removal == innermost }
                for mailbox in [owner.actor] + owner.unbounded where !mailbox.jobs.contains(where: isTooEarly) {
                    skip(mailbox)
                }
            }
            if owner.isDead { continue }
            if owner.isHeldByMailboxes || !isNext(death(of: owner)) { return }
            position += 1
            die(owner)
        }
    }

    /// A producer is told by the change that is under way, or by one that is nested in it.
    private func followProducer() {
        guard next?.tag == .observed else { return }
        let due = producing.first { set in
            set.isDue && set.users.contains(innermost) && set.cancelling != innermost
                && isNext(told(!set.lastReported))
        }
        if let due {
            reportDemand(due)
        } else if let farewell = farewells.last(where: { $0.id == innermost && isNext(death(of: $0)) }) {
            tell(farewell)
        }
    }

    /// The operation that is under way may tell the producer.
    private func use(_ set: Model) { if set.place == Place.produced { set.users.insert(innermost) } }

    /// Whoever asks a set meanwhile also tells its producer, of the set's end, too.
    private func ask(_ set: Model, isTraversal: Bool = true) {
        guard isAsking, set.place == Place.produced, next?.tag == .observed else { return }
        if isTraversal { set.passes += 1 }
        if let farewell = set.farewell, isNext(death(of: farewell)) {
            tell(farewell)
        } else if set.isDue, isNext(told(!set.lastReported)) {
            reportDemand(set)
        }
        if isTraversal { endPass(over: set) }
    }

    private func tell(_ farewell: Mortal) {
        if farewell.isDead { return }
        farewell.holds = 0
        position += 1
        die(farewell)
    }

    /// Follows what may happen at any time.
    override func followUnpromised() {
        var before: Int
        repeat {
            before = position
            // Whether the functions of a dead owner's observer are called depends on who has noticed that it is dead.
            if let next, next.tag == .transformed, owned[next.subject]?.isDead == true { position += 1 }
            if !isSilent {
                // An actor that another task has held doesn't go while a call is being ended.
                if closing == 0 { followLeaving() }
                _ = followDropped()
            }
            followProducer()
        } while position > before
    }

    private func die(_ object: Mortal) {
        object.isDead = true
        if object.tag != nil { alive -= 1 }
        leaving.removeAll { $0 === object }
        run(object.farewell)
    }

    /// A call of a producer.
    private func told(_ isObserved: Bool) -> Occurrence {
        Occurrence(.observed, Place.produced, 2 * innermost + (isObserved ? 1 : 0))
    }

    private func death(of object: Mortal) -> Occurrence {
        switch object.tag {
        case .observed: told(false)
        default: Occurrence(object.tag!, object.id, innermost)
        }
    }

    /// Objects are deallocated one after another, in an order that the contract leaves open.
    ///
    /// If an outer call is releasing the same object at the moment, that may happen here or there. The operation that was
    /// reported with the deallocation says which.
    ///
    /// An inner release is known to have happened before, so that it leaves what both release to the outer one.
    private func release(_ objects: [Mortal], isInner: Bool = false) {
        if objects.isEmpty { return }
        for object in objects {
            object.holds -= 1
            object.waning += 1
        }
        var left = objects
        var isActorKnown = true
        while divergence == nil {
            guard
                let index = left.firstIndex(where: { object in
                    !object.isDead && object.tag != nil && isNext(death(of: object))
                        && !(isInner && object.waning > left.count { $0 === object })
                })
            else {
                let before = position
                // The end of a stream removes its tokens, and so asks its sets.
                if next?.tag == .observed, left.contains(where: isUnfinishedStream) { followEndOfStream() }
                if position == before { followUnpromised() }
                if position == before { break }
                continue
            }
            // What is dropped when its turn comes may have held it, too.
            if left[index].holds > 0 {
                // Those may be being released still.
                guard isDelivering, let others = skipSilently(told[position]) else { break }
                for object in others { object.waning += 1 }
                left += others
                isActorKnown = false
                continue
            }
            position += 1
            let object = left.remove(at: index)
            object.waning -= 1
            let outer = isDelivererKnown
            isDelivererKnown = outer && isActorKnown
            die(object)
            isDelivererKnown = outer
            isActorKnown = true
        }
        for object in left { object.waning -= 1 }
        for object in left where object.holds == 0 && object.waning == 0 && !object.isDead {
            if object.tag != nil { diverge("\(death(of: object)), now or before") }
            object.isDead = true
        }
    }

    /// Tells a producer, perhaps during a pass over the set, so that what is removed meanwhile is released now or later.
    private func followEndOfStream() {
        if let farewell = farewells.first(where: { !$0.isDead && isNext(death(of: $0)) }) { return tell(farewell) }
        guard let set = producing.first(where: { $0.isDue && isNext(told(!$0.lastReported)) }) else { return }
        let before = dropped.count
        set.doubts += 1
        reportDemand(set)
        set.doubts -= 1
        let late = Array(dropped[before...])
        dropped.removeSubrange(before...)
        releaseWaning(late)
    }

    /// Whether it is the capture of a stream that doesn't know of an end yet.
    private func isUnfinishedStream(_ object: Mortal) -> Bool {
        guard object.tag == nil, !object.isDead, let observer = observers.last(where: { $0.capture === object }) else {
            return false
        }
        return observer.kind == .stream && !observer.isCancelled
    }

    /// Runs `body`, in which the objects may be released, or just after.
    private func releasing(_ objects: [Mortal], _ body: () -> Void) {
        for object in objects { object.waning += 1 }
        body()
        releaseWaning(objects)
    }

    /// Releases objects that might have been released before.
    private func releaseWaning(_ objects: [Mortal]) {
        for object in objects {
            object.waning -= 1
            object.holds += 1
        }
        release(objects)
    }

    // MARK: Producers

    /// Tells a set's producer whether it is observed, unless that is being told already.
    private func reportDemand(_ set: Model) {
        guard set.place == Place.produced, !set.isReporting else { return }
        set.isReporting = true
        while divergence == nil, set.lastReported == set.registered.isEmpty {
            let event = told(!set.lastReported)
            set.lastReported.toggle()
            expect(event)
            run(1)
        }
        set.isReporting = false
    }

    // MARK: Notifying

    override func notify(_ operation: Operation, _ number: Int) {
        let value = newValue(number, operation.farewell)
        value.cargo?.holds = 1
        let place = operation.place
        if Place.isPublished(place) {
            publish(place, operation.form, value)
        } else if Place.isPosted(place) {
            let container = center
            container.holds += 1
            pass(over: places[place], value, operation.form == 0 ? nil : senders[operation.owner], time: time)
            silently { release(container) }
        } else {
            notify(places[place], value)
        }
        if let cargo = value.cargo { release([cargo]) }
    }

    private func notify(_ set: Model, _ value: Parcel) {
        if Place.locals.contains(set.place), set.isNotifying, fault != .deliversNestedAtOnce {
            if !set.registered.isEmpty { set.queue.append(Queued(value, time, isDoubtful: set.living.isEmpty)) }
            return
        }
        set.holds += 1
        set.isNotifying = true
        pass(over: set, value, nil, time: time, here: Place.sets.contains(set.place) ? here : nil)
        while !set.queue.isEmpty {
            let queued = set.queue.removeFirst()
            pass(over: set, queued.value, nil, time: queued.time)
            release(queued)
        }
        set.isNotifying = false
        release([set], [])
    }

    private func release(_ queued: Queued) {
        guard let cargo = queued.value.cargo else { return }
        if queued.isDoubtful { releaseWaning([cargo]) } else { release([cargo]) }
    }

    private func publish(_ place: Int, _ form: Int, _ value: Parcel) {
        let publisher = publisher
        publisher.holds += 1
        let time = fault == .callsAddedDuringTheEvent ? Int.max : time
        // Form 1 publishes an object as one of the superclass.
        let isOfSuperclass = place == Place.derived && form == 1 && fault != .tellsTheDynamicType
        var types = [isOfSuperclass ? Place.base : place]
        if fault == .tellsTheSuperclass, types == [Place.derived] { types.append(Place.base) }
        if place == Place.all { types = [] }
        if fault != .tellsNotAllEvents { types.insert(Place.all, at: fault == .tellsAllEventsLast ? types.count : 0) }
        for type in types { pass(over: publisher.sets[type - Place.value], value, nil, time: time) }
        silently { release(publisher) }
    }

    /// Calls the observers that were there at that time.
    private func pass(over set: Model, _ value: Parcel, _ sender: Sender?, time: Int, here: Mailbox? = nil) {
        set.passes += 1
        use(set)
        // Entries that are added meanwhile come after this index.
        let end = set.entries.count
        var index = 0
        while index < (fault == .callsAddedDuringThePass ? set.entries.count : end), divergence == nil {
            let entry = set.entries[fault == .callsInReverse ? end - 1 - index : index]
            index += 1
            if fault == .finishesNoPassOfADeadSet, set.holds == 1 { break }
            if entry.isRemoved, fault != .callsRemoved { continue }
            if entry.time > time, fault != .callsAddedDuringThePass { continue }
            send(value, sender, through: entry.link, to: entry.observer, from: set, here: here)
        }
        endPass(over: set)
        followUnpromised()
    }

    private func endPass(over set: Model) {
        set.passes -= 1
        if set.passes > 0 { return }
        set.entries.removeAll { $0.isRemoved }
        let retired = set.retired
        set.retired = []
        release(retired.map(\.observer.capture))
    }

    /// Sends a value to an observer through what stands between; `here` is the actor from which it is sent.
    private func send(
        _ value: Parcel, _ sender: Sender?, through link: Link, to observer: Observer, from set: Model?,
        here: Mailbox? = nil
    ) {
        var value = value
        for wrap in link.chain.reversed() {
            switch wrap {
            case .gate: continue
            case .sender(let expected):
                if sender !== expected, fault != .ignoresSenders { return }
            case .function(let program, let function):
                if let program, observer.isAlive {
                    expect(Occurrence(.transformed, observer.id, value.number))
                    if observer.owner == nil { run(program) }
                }
                guard let result = function(value) else { return }
                value = result
            }
            // The function may have ended the registration, or a token that has marked it is still removing others.
            guard link.state?.isRegistered != false || fault == .callsWhatAFunctionRemoved else { return }
        }
        let job = Sent(observer: observer, link: link, value: value, set: set)
        switch observer.kind {
        case .actorOwner, .onActor: sendToActor(job, here)
        case .queue, .queueOwner: if link.state!.isRegistered { post(job) }
        case let kind where kind.isAwaiting: if link.state!.isRegistered, !link.isClosed { postToAwait(job) }
        case .stream: if passGates(link) { yield(value.number, to: observer) }
        default:
            if observer.isAlive || fault == .callsDeadOwners, passGates(link) { call(job) }
        }
    }

    /// Passes the gates, unless one has been passed before, and ends their registrations; returns whether the call may
    /// begin, which it doesn't if what that runs removes the observer.
    private func passGates(_ link: Link) -> Bool {
        var gates: [Gate] = []
        for case .gate(let gate) in link.chain.reversed() {
            if gate.isPassed { return false }
            gate.isPassed = true
            gates.append(gate)
        }
        var mayCall = true
        for gate in gates {
            if let token = gate.token, fault != .keepsOnceRegistered { _ = remove(token) }
            if gate.isDecided { mayCall = false }
            gate.isDecided = true
        }
        return mayCall
    }

    private func call(_ job: Sent, on actor: Mailbox? = nil) {
        let observer = job.observer
        let before = here
        if let actor { here = actor }
        observer.owner?.holds += 1
        if observer.kind == .method {
            expect(Occurrence(.methodCalled, observer.owner!.id, job.value.number))
            run(observer.owner!.program)
        } else {
            expect(callEvent(observer.id, job.value.number))
            run(observer.operation.program)
        }
        here = before
        guard let owner = observer.owner else { return }
        if actor == nil { return release(owner) }
        leave(owner)
    }

    // MARK: Pending values

    private func isSkipped(_ job: Job) -> Bool {
        !job.link.state!.isRegistered && fault != .deliversRemoved || job.link.isClosed
            || !job.observer.isAlive && fault != .callsLaterForDeadOwners
    }

    private func post(_ sent: Sent) {
        jobsMade += 1
        sent.link.state!.pending += 1
        let job = Job(sent.observer, sent.link, sent.value, sent.set, jobsMade)
        let mailbox = job.observer.mailbox!
        if job.observer.kind.isOnQueue {
            queued.append(job)
        } else {
            mailbox.hasTask = true
            if !busy.contains(where: { $0 === mailbox }) { busy.append(mailbox) }
        }
        let last = mailbox.jobs.lastIndex { $0.observer === job.observer }
        mailbox.jobs.insert(
            job, at: fault == .deliversByObserver ? last.map { $0 + 1 } ?? mailbox.jobs.count : mailbox.jobs.count)
    }

    /// Calls the observer at once if the notifier is on its actor, and posts the value otherwise.
    private func sendToActor(_ job: Sent, _ sender: Mailbox?) {
        let (observer, actor, state) = (job.observer, job.observer.mailbox!, job.link.state!)
        // For a first value, the runtime is asked, whatever the compiler knows.
        let isDeliverer =
            isDelivererKnown ? deliverer === actor : isNext(callEvent(observer.id, job.value.number))
        let isHere = sender === actor || job.set == nil && (here === actor || isDeliverer)
        let pending = actor.jobs.filter { $0.observer === observer }
        // A notifier looks no further back.
        let isNear = pending.isEmpty || actor.jobs.suffix(1_000).count { $0.observer === observer } == pending.count
        if !isHere || !isNear || observer.isInCall && fault != .callsInsideItsOwnCall || fault == .callsNoActorInPlace {
            // A value for an actor that is gone is dropped at once, or by a task that is on its way.
            if state.isRegistered, observer.isAlive {
                post(job)
            } else if isDelivering, let cargo = job.value.cargo {
                drop(cargo)
            }
            return
        }
        if !pending.isEmpty {
            guard state.isRegistered else { return }
            if fault != .overtakesInPlace { catchUp(pending, on: actor) }
            guard state.isRegistered else { return }
        }
        if passGates(job.link), observer.isAlive { call(job, on: actor) }
    }

    /// What is pending for this observer comes first, and nothing else.
    private func catchUp(_ pending: [Job], on actor: Mailbox) {
        let observer = pending[0].observer
        actor.jobs.removeAll { $0.observer === observer }
        observer.isInCall = true
        for job in pending { receive(job, on: actor) }
        observer.isInCall = false
    }

    /// Calls the observer with a value that was pending, unless that is to be dropped, and releases it.
    private func receive(_ job: Job, on actor: Mailbox?) {
        let before = job.observer.isInCall
        job.observer.isInCall = true
        job.link.state!.pending -= 1
        if !isSkipped(job), passGates(job.link) { call(job.sent, on: actor) }
        job.observer.isInCall = before
        release(job.objects)
        followLeaving()
    }

    override func letQueueRun() {
        let jobs = queued
        queued = []
        isQueueRunning = true
        for job in jobs where divergence == nil {
            job.observer.mailbox!.jobs.removeFirst()
            receive(job, on: nil)
        }
        isQueueRunning = false
        queueRuns += 1
    }

    // MARK: Observers that await

    private func postToAwait(_ job: Sent) {
        let (observer, mailbox) = (job.observer, job.observer.mailbox!)
        // Whether there is room for a value for a dead owner can't be known.
        if !observer.isAlive { return post(job) }
        let buffering = observer.operation.buffering
        let room = buffering.room.map { $0 - (fault == .countsTheCallAsPending && mailbox.call != nil ? 1 : 0) }
        var dropped: Job?
        if let room, mailbox.jobs.count >= room {
            if buffering.keepsOldest != (fault == .dropsAtTheOtherEnd) || mailbox.jobs.isEmpty {
                return noteDropped(job.link)
            }
            dropped = mailbox.jobs.removeFirst()
            dropped!.link.state!.pending -= 1
            noteDropped(dropped!.link)
        }
        if buffering == .latest, let call = mailbox.call, fault != .cancelsNothingForTheLatest { cancel(call) }
        post(job)
        if let dropped { release(dropped.objects) }
    }

    private func noteDropped(_ link: Link) { if fault != .countsNoDrops { link.state!.dropped += 1 } }

    private func begin(_ job: Job) {
        let (observer, mailbox) = (job.observer, job.observer.mailbox!)
        let call = Call(with: job)
        let outer = inside
        mailbox.call = call
        inside = job.number
        let actor = observer.kind == .awaitedActorOwner ? observer.owner!.actor : nil
        if let owner = observer.owner, fault != .letsOwnersDieInCalls { owner.holds += 1 }
        leaving.removeAll { $0 === observer.owner }
        if passGates(job.link) {
            expect(callEvent(observer.id, job.value.number))
            run(observer.operation.program, on: actor ?? mailbox)
            goOn(call, of: observer)
        } else {
            end(call, of: observer)
        }
        inside = outer
    }

    private func run(_ program: Int, on actor: Mailbox) {
        let before = here
        here = actor
        run(program)
        here = before
    }

    /// Continues the call until it is suspended again, or to its end.
    private func goOn(_ call: Call, of observer: Observer) {
        if call.suspensions < observer.operation.suspensions {
            call.suspensions += 1
            call.isSuspended = true
            return suspended.append(observer.id)
        }
        if call.mayBeCancelled, next?.tag == .returned { call.isCancelled = next?.value == 1 }
        expect(Occurrence(.returned, observer.id, call.isCancelled))
        end(call, of: observer)
    }

    private func end(_ call: Call, of observer: Observer) {
        let owner = fault == .letsOwnersDieInCalls ? nil : observer.owner
        if let owner, observer.kind == .awaitedActorOwner {
            leave(owner)
        } else if let owner {
            release(owner)
        }
        inside = 0
        closing = call.job.number
        release(call.job.objects)
        closing = 0
        observer.mailbox!.call = nil
        followLeaving()
    }

    /// An actor is held until the value has been released, or for longer.
    private func leave(_ owner: Owner) {
        owner.holds -= 1
        if owner.holds == 0, !owner.isDead { leaving.append(owner) }
    }

    override func letOn(_ index: Int) {
        let id = suspended.remove(at: index)
        observers.last { $0.id == id }?.mailbox?.call?.isSuspended = false
    }

    // MARK: Streams

    private func yield(_ number: Int, to observer: Observer) {
        if observer.isReleased || observer.isCancelled || observer.capture.isDead { return }
        // A task that waits takes the value at once.
        if reading.contains(observer.id), observer.arrived == nil, observer.buffer.isEmpty {
            observer.arrived = number
            return
        }
        let buffering = observer.operation.buffering
        if let room = buffering.room, observer.buffer.count >= room {
            observer.dropped += 1
            if buffering.keepsOldest { return }
            observer.buffer.removeFirst()
        }
        observer.buffer.append(number)
    }

    private func stream(_ id: Int) -> Observer { observers.last { $0.id == id }! }

    override func read(_ stream: Int) {
        let observer = self.stream(stream)
        if let next = observer.buffer.first {
            observer.buffer.removeFirst()
            reading.remove(stream)
            expect(Occurrence(.element, stream, next))
        } else if observer.isCancelled || observer.capture.isDead
            || observer.capture.holds == 0 && isNext(Occurrence(.element, stream, Occurrence.end))
        {
            // It may be being released at the moment.
            reading.remove(stream)
            expect(Occurrence(.element, stream, Occurrence.end))
        }
    }

    override func cancelReading(_ stream: Int) { endStream(self.stream(stream)) }

    override func dropStream(_ stream: Int) {
        let observer = self.stream(stream)
        // It receives values until its registrations have ended.
        endStream(observer)
        observer.isReleased = true
    }

    /// The stream's end ends its registrations.
    private func endStream(_ observer: Observer) {
        if let token = observer.token, fault != .keepsStreamsRegistered { _ = remove(token) }
        observer.isCancelled = true
    }

    // MARK: Running tasks

    /// The contract leaves the order between the calls of different observers open.
    ///
    /// So this follows the reported order, as long as each call is allowed at that moment.
    override func deliver(_ operation: Operation) {
        isDelivering = true
        while divergence == nil, let next, follow(next) { deliverer = nil }
        if divergence == nil { rest() }
        isDelivering = false
        deliverer = nil
    }

    /// Performs the reported event, if it is allowed at this moment.
    private func follow(_ event: Occurrence) -> Bool {
        switch event.tag {
        case .settled, .waited: return endWaiting(event)
        case .ownerDied:
            let before = position
            followLeaving()
            return position > before
        case .element: return followElement(event)
        case .called:
            for mailbox in busy where mailbox.call == nil {
                let jobs = mailbox.jobs.drop(while: isSkipped)
                guard let job = jobs.first, event == Occurrence(.called, job.observer.id, job.value.number) else {
                    continue
                }
                skip(mailbox)
                deliverFirst(of: mailbox)
                return true
            }
            return false
        case .resumed:
            guard let mailbox = busy.first(where: { $0.call?.job.observer.id == event.subject }),
                let call = mailbox.call,
                !call.isSuspended
            else { return false }
            let observer = call.job.observer
            inside = call.job.number
            deliverer = observer.kind == .awaitedActorOwner ? observer.owner!.actor : mailbox
            if call.mayBeCancelled { call.isCancelled = event.value == 1 }
            expect(Occurrence(.resumed, observer.id, call.isCancelled))
            run(observer.operation.sequel, on: observer.kind == .awaitedActorOwner ? observer.owner!.actor : mailbox)
            goOn(call, of: observer)
            inside = 0
            return true
        default: return followSkipping(event) || followOnlyCall(event) || followDropped()
        }
    }

    /// Leaves it open when an object is released.
    private func drop(_ object: Mortal) {
        object.waning += 1
        dropped.append(object)
    }

    private func followDropped() -> Bool {
        let index = dropped.firstIndex { $0.tag != nil && !$0.isDead && $0.holds == 0 && isNext(death(of: $0)) }
        guard let index else { return false }
        let object = dropped[index]
        position += 1
        die(object)
        return true
    }

    private func deliverFirst(of mailbox: Mailbox) {
        let job = mailbox.jobs.removeFirst()
        deliverer = job.observer.kind == .awaitedActorOwner ? job.observer.owner!.actor : mailbox
        if job.observer.kind.isAwaiting {
            job.link.state!.pending -= 1
            begin(job)
        } else {
            receive(job, on: mailbox)
        }
    }

    /// Releases the values at the front that are dropped.
    private func skip(_ mailbox: Mailbox, onlyFor event: Occurrence? = nil) {
        let before = deliverer
        defer { deliverer = before }
        while let job = mailbox.jobs.first, isSkipped(job), divergence == nil {
            if let event, !mailbox.jobs.prefix(while: isSkipped).contains(where: { concerns(event, $0) }) { return }
            deliverer = job.observer.kind == .awaitedActorOwner ? job.observer.owner!.actor : mailbox
            mailbox.jobs.removeFirst()
            job.link.state!.pending -= 1
            release(job.objects, isInner: event != nil)
        }
    }

    /// A dropped value, or its observer, is deallocated when its turn comes.
    private func followSkipping(_ event: Occurrence) -> Bool {
        let before = position
        let mailboxes = busy.filter { mailbox in
            mailbox.call == nil && mailbox.jobs.prefix(while: isSkipped).contains { concerns(event, $0) }
        }
        // If several hold the same object, those come first that report nothing else.
        while position == before, skipSilently(event) != nil {}
        for mailbox in mailboxes where position == before { skip(mailbox) }
        return position > before
    }

    /// Releases dropped values that hold an object, if their observers report nothing.
    private func skipSilently(_ event: Occurrence) -> [Mortal]? {
        var objects: [Mortal] = []
        let mailbox = busy.first { mailbox in
            let skipped = mailbox.jobs.prefix(while: isSkipped)
            let last = skipped.lastIndex { concerns(event, $0) }
            guard mailbox.call == nil, let last else { return false }
            objects = skipped[...last].flatMap(\.objects)
            return objects.allSatisfy { object in
                object.tag == nil || object.isDead || object.waning > 0 || death(of: object) == event
                    || object.holds > objects.count { $0 === object }
            }
        }
        guard let mailbox else { return nil }
        skip(mailbox, onlyFor: event)
        return objects
    }

    /// Whether the event is the end of what a pending value carries, or of its observer.
    private func concerns(_ event: Occurrence, _ job: Job) -> Bool {
        job.objects.contains { $0.tag != nil && death(of: $0) == event }
    }

    /// The only call of an observer ends its registrations first, which may release something or tell a producer.
    private func followOnlyCall(_ event: Occurrence) -> Bool {
        func first(_ mailbox: Mailbox) -> Job? { mailbox.jobs.drop(while: isSkipped).first }
        let candidates = busy.filter { mailbox in
            guard mailbox.call == nil, let job = first(mailbox), job.link.isCalledOnce else { return false }
            let mayDie = mailbox.jobs.contains { concerns(event, $0) }
            return mayDie || event == told(false) && isObserving(job.observer)
        }
        // It is the one that is reported next.
        func time(_ mailbox: Mailbox) -> Int {
            let job = first(mailbox)!
            let call = Occurrence(.called, job.observer.id, job.value.number)
            return told[position...].firstIndex(of: call) ?? .max
        }
        guard let mailbox = candidates.min(by: { time($0) < time($1) }) else { return false }
        let before = position
        skip(mailbox)
        if position == before { deliverFirst(of: mailbox) }
        return position > before
    }

    private func isObserving(_ observer: Observer) -> Bool {
        producing.contains { $0.registered.contains { $0.observer === observer } }
    }

    private func followElement(_ event: Occurrence) -> Bool {
        guard reading.contains(event.subject) else { return false }
        let observer = stream(event.subject)
        let isOver = observer.capture.isDead || observer.isCancelled
        guard let element = observer.arrived ?? (isOver ? Occurrence.end : nil) else { return false }
        observer.arrived = nil
        reading.remove(observer.id)
        expect(Occurrence(.element, observer.id, element))
        return true
    }

    /// Checks, when nothing more was reported, that nothing is left that should have happened by itself.
    private func rest() {
        for mailbox in busy where divergence == nil {
            if let call = mailbox.call {
                if !call.isSuspended { diverge("that the call of \(call.job.observer.id) goes on") }
                if fault != .makesTwoCallsAtATime { continue }
            }
            skip(mailbox)
            if let job = mailbox.jobs.first { diverge("\(Occurrence(.called, job.observer.id, job.value.number))") }
        }
        for object in dropped {
            object.waning -= 1
            if object.holds == 0, object.waning == 0, !object.isDead { diverge("\(death(of: object))") }
        }
        dropped = []
        // A task goes on where a call is suspended.
        for mailbox in busy { mailbox.hasTask = mailbox.call != nil }
        busy.removeAll { !$0.isBusy }
        for id in reading {
            let observer = stream(id)
            if observer.arrived != nil || observer.capture.isDead || observer.isCancelled {
                diverge("an element of \(id)")
            }
        }
        if let owner = leaving.first(where: { !$0.isHeldByMailboxes && !$0.mayHaveTask }) {
            diverge("\(death(of: owner))")
        }
        if let waiter = waiters.first(where: { !mayStillWait($0) }) { diverge("\(waiter.tag) \(waiter.number)") }
    }

    // MARK: Waiting

    override func settle(_ tree: Tree, _ wait: Int) {
        let outer = cargoMade
        cargoMade = []
        _ = source(tree)
        let cargo = cargoMade
        cargoMade = outer
        for object in cargo { object.holds += 1 }
        let sets = tree.places.map { places[$0] }.filter { _ in !tree.isLate }
        func mailboxes() -> [Mailbox] { sets.flatMap(\.mailboxes).filter { $0.isBusy && !isInside($0) } }
        let held = heldSets(of: tree)
        for set in held {
            use(set)
            set.holds += 1
        }
        let (least, last) = (mailboxes().filter { !isClosing($0) }, jobsMade)
        // It may wait for what a producer causes that is told meanwhile.
        followUnpromised()
        waiters.append(
            Waiter(
                tag: .settled, number: wait, caller: inside, last: last, latest: jobsMade, sets: sets, held: held,
                cargo: cargo, least: least, most: tree.places.count == 1 ? mailboxes() : nil,
                queueRuns: isQueueRunning ? queueRuns + 2 : 0))
        // It finishes at once if there is nothing to wait for.
        followUnpromised()
        if let next { _ = endWaiting(next) }
    }

    /// Whether the caller is in the mailbox's current call, for which it doesn't wait, nor for what is pending behind it.
    private func isInside(_ mailbox: Mailbox) -> Bool {
        inside != 0 && mailbox.call?.job.number == inside && fault != .waitsForItsOwnCall
    }

    private func isClosing(_ mailbox: Mailbox) -> Bool { closing != 0 && mailbox.call?.job.number == closing }

    override func removeAndWait(_ token: Int, _ wait: Int) {
        // The task isn't on the caller's actor.
        let outer = (here, deliverer)
        (here, deliverer) = (nil, nil)
        var mailboxes: [Mailbox] = []
        visitEntries(tokens[token]) { entry, state, observer in
            guard let mailbox = observer.mailbox, !isInside(mailbox), fault != .waitsForNoRemoved else { return }
            if entry != nil || state!.pending > 0 { mailboxes.append(mailbox) }
        }
        let last = jobsMade
        let results = possibleResults(ofRemoving: tokens[token])
        (here, deliverer) = outer
        waiters.append(
            Waiter(
                tag: .waited, number: wait, results: results, caller: inside, last: last, latest: last,
                sets: [], held: [], cargo: [],
                least: mailboxes.filter { !isClosing($0) }, most: fault == .waitsForNoRemoved ? [] : nil,
                queueRuns: isQueueRunning ? queueRuns + 2 : 0)
        )
        followUnpromised()
        if let next { _ = endWaiting(next) }
    }

    private func isEvent(_ event: Occurrence, of waiter: Waiter) -> Bool {
        waiter.results.contains { event == Occurrence(waiter.tag, waiter.number, 2 * innermost + ($0 ? 1 : 0)) }
    }

    private func endWaiting(_ next: Occurrence) -> Bool {
        guard let index = waiters.firstIndex(where: { isEvent(next, of: $0) }) else { return false }
        let waiter = waiters[index]
        let last = fault == .settlesTooLate ? .max : waiter.last
        let mustWait = waiter.least.contains { mailbox in
            if let call = mailbox.call, call.job.number <= last,
                call.job.number != waiter.caller || fault == .waitsForItsOwnCall,
                waiter.concerns(call.job)
            {
                return true
            }
            // It doesn't wait behind the call that waits for it.
            if mailbox.call?.job.number == waiter.caller, waiter.caller != 0 { return false }
            return mailbox.jobs.contains { $0.number <= last && waiter.concerns($0) && !isSkipped($0) }
        }
        if mustWait { return false }
        waiters.remove(at: index)
        position += 1
        // The sources are released by the task that has waited; it was started inside the call `waiter.caller`.
        let outside = inside
        inside = waiter.caller
        silently { release(waiter.held, waiter.cargo) }
        inside = outside
        return true
    }

    /// Whether something that was pending is left; if it waits for one source after the other, also what came later.
    private func mayStillWait(_ waiter: Waiter) -> Bool {
        // A marker may be pending on the queue, behind which others wait, too.
        if waiters.contains(where: { queueRuns < $0.queueRuns }) { return true }
        let last = waiter.most == nil ? Int.max : waiter.latest
        let mailboxes = waiter.most ?? observers.compactMap(\.mailbox)
        if fault == .settlesTooEarly { return mailboxes.contains { !$0.jobs.isEmpty } }
        return mailboxes.contains { mailbox in
            if waiter.caller != 0, mailbox.call?.job.number == waiter.caller { return false }
            return mailbox.call.map { $0.job.number <= last } ?? false || mailbox.jobs.contains { $0.number <= last }
        }
    }

    // MARK: Questions

    /// Calls `body` for each registration that is in a set, or for which a dead set has left values.
    private func visit(_ token: Token, _ body: (State?, Observer) -> Void) {
        visitEntries(token) { entry, state, observer in body(state, observer) }
    }

    private func visitEntries(_ token: Token, _ body: (Entry?, State?, Observer) -> Void) {
        switch token.kind {
        case .entry(let entry):
            ask(entry.set)
            if !entry.isRemoved {
                if entry.observer.isAlive { body(entry, entry.link.state, entry.observer) }
            } else if entry.isLeft, entry.observer.mailbox != nil, entry.link.state!.isRegistered {
                body(nil, entry.link.state, entry.observer)
            }
        case .combined(let tokens): for token in tokens { visitEntries(token, body) }
        case .once(let gate, let token): if !gate.isPassed { visitEntries(token, body) }
        case .unregistered(let state, let observer): if state.isRegistered { body(nil, state, observer) }
        case .dropped: break
        }
    }

    /// Whether a removal would find nothing to end or to drop.
    private func isSpent(_ token: Token) -> Bool {
        if case .once(let gate, _) = token.kind, gate.isPassed, !gate.isDecided { return false }
        if case .combined(let tokens) = token.kind { return tokens.allSatisfy(isSpent) }
        var isSpent = true
        visitEntries(token) { entry, state, observer in
            if observer.isAlive, entry != nil || isBusy(state!, of: observer) { isSpent = false }
        }
        return isSpent
    }

    /// Whether values are pending for a registration, or it is being called with one; after its set's end, it lasts that
    /// long.
    private func isBusy(_ state: State, of observer: Observer) -> Bool {
        state.pending > 0 || observer.mailbox?.call?.job.link.state === state
    }

    /// Whether a removal could still prevent a call.
    private func mayBeCalled(_ token: Token) -> Bool {
        switch token.kind {
        case .once(let gate, let token): !gate.isDecided && (gate.isPassed || mayBeCalled(token))
        case .combined(let tokens): tokens.contains(where: mayBeCalled)
        default: isActive(token)
        }
    }

    private func isActive(_ token: Token) -> Bool {
        var isActive = false
        visitEntries(token) { entry, _, _ in if entry != nil { isActive = true } }
        return isActive
    }

    override func isActive(_ token: Int) { expect(Occurrence(.isActive, token, isActive(tokens[token]))) }

    override func ask(_ token: Int) {
        // These are two questions. The first one may tell a producer, whose program changes the answer to the second.
        let (pending, _, isUnknown) = counts(of: token)
        if isUnknown, next?.tag == .pending { position += 1 } else { expect(Occurrence(.pending, token, pending)) }
        expect(Occurrence(.dropped, token, counts(of: token).dropped))
    }

    private func counts(of token: Int) -> (pending: Int, dropped: Int, isUnknown: Bool) {
        var (pending, dropped, isUnknown) = (0, 0, false)
        // Only its calls find out that an owner is dead.
        tokens[token].forEachEntry { if !$0.observer.isAlive { isUnknown = true } }
        visitEntries(tokens[token]) { entry, state, observer in
            if !observer.isAlive { isUnknown = true }
            pending += state?.pending ?? 0
            if entry != nil { dropped += state?.dropped ?? 0 }
        }
        if case .combined(let parts) = tokens[token].kind {
            for case .dropped(let observer) in parts.map(\.kind) { dropped += observer.dropped }
        }
        return (pending, fault == .countsNoDrops ? 0 : dropped, isUnknown)
    }

    override func count(_ place: Int) {
        guard Place.isSet(place) else { return expectCount(of: bags[0]) }
        let set = places[place]
        use(set)
        let count = fault == .countsDead ? set.registered.count : set.living.count
        expect(Occurrence(.counted, place, 2 * count + (count == 0 ? 1 : 0)))
    }

    override func describe(_ place: Int) {
        use(places[place])
        let described = Occurrence(.described, place, description(of: place).digest)
        // If the value may have been released by a mailbox that skips it, the call that is being ended may have ended.
        let mayHaveEnded = closing != 0 && !isDelivererKnown && !isNext(described)
        expect(mayHaveEnded ? Occurrence(.described, place, description(of: place, hasEnded: true).digest) : described)
    }

    private func description(of place: Int, hasEnded: Bool = false) -> Description {
        let set = places[place]
        func title(_ type: String, _ count: Int, _ noun: String) -> String {
            "\(type)(\(count) \(noun)\(count == 1 ? "" : "s"))"
        }
        return switch place {
        case _ where Place.sets.contains(place):
            Description(
                title("ObserverSet<Parcel>", set.living.count, "observer"),
                lines: set.living.map { line($0, hasEnded: hasEnded) })
        case _ where Place.locals.contains(place):
            Description(
                title("LocalObserverSet<Parcel>", set.living.count, "observer"),
                lines: set.living.map { $0.observer.owner == nil ? "closure" : "WorldOwner" })
        case Place.delegates:
            Description(
                title("MulticastDelegate<WorldDelegate>", set.living.count, "delegate"),
                lines: set.living.map { _ in "WorldOwner" })
        default: publisherDescription
        }
    }

    private var publisherDescription: Description {
        let counts = publisher.sets.map(\.living.count).filter { $0 > 0 }
        let (sum, types) = (counts.reduce(0, +), counts.count)
        let ofTypes = types == 0 ? "" : " of \(types) type\(types == 1 ? "" : "s")"
        return Description("EventPublisher(\(sum) observer\(sum == 1 ? "" : "s")\(ofTypes))", lines: [])
    }

    /// What a set's debug description says of an observer, before or after the end of the call that is being ended.
    private func line(_ entry: Entry, hasEnded: Bool) -> String {
        let (observer, state) = (entry.observer, entry.link.state)
        var words = observer.owner == nil ? "closure" : "WorldOwner"
        switch observer.kind {
        case .queue, .queueOwner: words += ", on queue queue"
        case .onActor, .actorOwner: words += ", on WorldOwner"
        case .awaited, .awaitedOwner: words += ", on no actor, awaited"
        case .awaitedOnActor, .awaitedActorOwner: words += ", on WorldOwner, awaited"
        default: words += ", nonisolated"
        }
        let isInCall =
            observer.kind.isAwaiting
            ? observer.mailbox!.call.map { $0.job.link.state === state && !(hasEnded && $0.job.number == closing) }
                ?? false
            : observer.isInCall
        let dropped = observer.kind == .stream ? observer.dropped : observer.kind.isAwaiting ? state!.dropped : 0
        let pending = observer.mailbox == nil ? 0 : state!.pending
        return words + (isInCall ? ", in a call" : "") + (pending == 0 ? "" : ", \(pending) pending")
            + (dropped == 0 ? "" : ", \(dropped) dropped")
    }

    /// How many tracked objects may be alive; at most, also captures of dead owners' observers.
    var trackedObjects: ClosedRange<Int> {
        observers.removeAll(where: \.isOver)
        let owned = observers.filter { $0.kind.hasOwner && $0.kind != .method && !$0.capture.isDead }
        return alive + owned.count(where: \.isAlive)...alive + owned.count
    }

    /// How many entries there are, including those of dead owners.
    var entryCount: Int { places.reduce(0) { $0 + $1.entries.count } }

    // MARK: The end

    /// Forgets the observers of dead owners, which the next notification removes, unless a function may have held it back.
    func forgetDead() {
        for set in places {
            let dead = set.registered.filter { entry in
                !entry.observer.isAlive && entry.observer.kind.isInPlace
                    && !entry.link.chain.contains { if case .gate = $0 { false } else { true } }
            }
            if !dead.isEmpty { remove(dead, from: set) }
        }
    }

    /// Breaks reference cycles at the end.
    func breakCycles() {
        for gate in gates { gate.token = nil }
        for observer in observers {
            observer.mailbox?.jobs = []
            observer.token = nil
        }
        for token in tokens { token.forEachEntry { $0.set.entries = [] } }
        (kept, waiters, bags) = ([], [], [])
    }

    /// Releases everything without comparing it with what was reported.
    func abandon() {
        divergence = divergence ?? "abandoned"
        breakCycles()
    }

    // MARK: Comparing

    private var next: Occurrence? { position < told.count ? told[position] : nil }

    private func isNext(_ event: Occurrence) -> Bool { position < told.count && told[position].bits == event.bits }

    override func tell(_ event: Occurrence) { expect(event) }

    private func expect(_ event: Occurrence) {
        guard divergence == nil else { return }
        if !isNext(event) { followUnpromised() }
        guard isNext(event) else { return diverge("\(event)") }
        position += 1
    }

    private func diverge(_ expected: String) {
        guard divergence == nil else { return }
        let before = told[..<min(position, told.count)].suffix(12).map { "  \($0)" }.joined(separator: "\n")
        divergence = """
            told, as the contract says:
            \(before)
            then the contract says: \(expected)
            but it was told: \(next.map { "\($0)" } ?? "nothing more")
            """
    }
}
