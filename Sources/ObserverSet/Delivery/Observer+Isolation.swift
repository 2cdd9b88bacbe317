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

    /// A function without its isolation, which is `actor`.
    @usableFromInline
    init(isolatedTo actor: (any Actor)?, call: @escaping @Sendable (Parameters) -> Void, site: Site) {
        guard let actor else {
            self.init(nonisolated: call, site: site)
            return
        }
        let identity = Isolation.identity(of: actor)
        let entry = HopEntry(callee: Payload(call: call), destination: .actor(actor), identity: identity)
        self.init(payload: Payload(call: call, hop: entry, isolation: identity), site: site)
    }

    /// A function without its isolation, which is `actor`, and which belongs to a living owner.
    @usableFromInline
    init<Owner: AnyObject & Sendable>(
        owner: Owner, isolatedTo actor: (any Actor)?, call: @escaping @Sendable (Owner, Parameters) -> Void, site: Site
    ) {
        self.init(owner: owner, nonisolated: call, site: site)
        guard let actor else { return }
        let identity = Isolation.identity(of: actor)
        let destination: Destination
        if identity == UInt(bitPattern: ObjectIdentifier(owner)) {
            destination = .owner { [weak owner] in owner as? any Actor }
        } else {
            destination = .actor(actor)
        }
        let entry = HopEntry(callee: payload, destination: destination, identity: identity)
        self.init(payload: Payload(entry: entry), site: site)
    }

    /// The same observer, run on a queue.
    func on(_ queue: DispatchQueue) -> Observer {
        Observer(
            payload: Payload(entry: HopEntry(callee: payload, destination: .queue(queue), identity: 0)), site: site)
    }
}
