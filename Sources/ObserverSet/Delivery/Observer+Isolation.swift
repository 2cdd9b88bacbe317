import Dispatch

/// Where each kind of observer is to run. The only makers of observers.
extension Observer {
    /// A function that runs on the notifying thread.
    @usableFromInline
    init(nonisolated call: @escaping @Sendable (Parameters) -> Void, site: Site) {
        self.init(payload: Payload(call: call), site: site)
    }

    /// A function that belongs to a living owner, and runs on the notifying thread.
    @usableFromInline
    init<Owner: AnyObject & Sendable>(
        owner: Owner, nonisolated call: @escaping @Sendable (Owner, Parameters) -> Void, site: Site
    ) {
        self.init(payload: Payload(entry: OwnedEntry(owner: owner, call: call)), site: site)
    }

    /// A function without its isolation, which is `actor`; or none, and then it runs on the actor's instance that added it.
    @usableFromInline
    init(
        isolatedTo actor: (any Actor)?, addedOn home: (any Actor)?, call: @escaping @Sendable (Parameters) -> Void,
        site: Site
    ) {
        guard let (destination, identity) = Self.place(actor, home) else {
            self.init(nonisolated: call, site: site)
            return
        }
        let entry = HopEntry(callee: Payload(call: call), destination: destination, identity: identity)
        self.init(payload: Payload(call: call, hop: entry, isolation: identity), site: site)
    }

    /// The same for a function that belongs to a living owner.
    @usableFromInline
    init<Owner: AnyObject & Sendable>(
        owner: Owner, isolatedTo actor: (any Actor)?, addedOn home: (any Actor)?,
        call: @escaping @Sendable (Owner, Parameters) -> Void, site: Site
    ) {
        self.init(owner: owner, nonisolated: call, site: site)
        guard let (destination, identity) = Self.place(actor, home) else { return }
        let isOwner = identity == UInt(bitPattern: ObjectIdentifier(owner))
        let entry = HopEntry(
            callee: payload, destination: isOwner ? .weakActor { [weak owner] in owner as? any Actor } : destination,
            identity: identity)
        self.init(payload: Payload(entry: entry), site: site)
    }

    /// Where a function of that isolation runs if it was added on `home`, and what identifies the actor; nil if on the
    /// notifying thread.
    ///
    /// An applied method of an actor's instance (`set.add(hear)`) has lost its isolation, which no signature can refuse:
    /// so what says nothing of an isolation runs on the actor's instance that adds it. The actor is held weakly.
    private static func place(
        _ actor: (any Actor)?, _ home: (any Actor)?
    ) -> (destination: Destination, identity: UInt)? {
        if let actor { return (.actor(actor), Isolation.identity(of: actor)) }
        guard let home, home !== MainActor.shared, !(home is any GlobalActor) else { return nil }
        return (.weakActor { [weak home] in home }, Isolation.identity(of: home))
    }

    /// The same observer, run on a queue.
    func on(_ queue: DispatchQueue) -> Observer {
        Observer(
            payload: Payload(entry: HopEntry(callee: payload, destination: .queue(queue), identity: 0)), site: site)
    }
}
