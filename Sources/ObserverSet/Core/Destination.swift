/// What an observer is isolated to: an actor or a queue.
@usableFromInline
final class Destination: Sendable {
    private enum Kind: Sendable {
        case actor(any Actor)
        /// An actor that is held weakly, since the set must not keep it alive: the observer's owner, or the actor that
        /// added it.
        case weakActor(@Sendable () -> (any Actor)?)
        case queue(async: @Sendable (@escaping @Sendable () -> Void) -> Void, label: @Sendable () -> String)
    }

    private let kind: Kind
    /// The address of the actor or queue.
    ///
    /// A notifier on the actor with this address may call the observer in place. No notifier has the address of a
    /// queue.
    let identity: UInt

    /// The destination that most observers have.
    private static let mainActor = Destination(.actor(MainActor.shared), MainActor.shared)

    private init(_ kind: Kind, _ object: AnyObject) {
        self.kind = kind
        identity = UInt(bitPattern: ObjectIdentifier(object))
    }

    /// A dispatch queue, as closures: this file does not import Dispatch, which not every system has.
    convenience init(
        queue: AnyObject, async: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        label: @escaping @Sendable () -> String
    ) {
        self.init(.queue(async: async, label: label), queue)
    }

    /// The actor on which a function of that isolation runs if it was added on `home`; nil if on none.
    ///
    /// A partially applied method of an actor's instance (`set.add(hear)`) has lost its isolation, and no signature can
    /// reject it. So a function without an isolation of its own runs on the actor that adds it. The main actor is an
    /// exception, since nobody writes methods of `MainActor` itself.
    static func actor(for isolation: (any Actor)?, addedOn home: (any Actor)?) -> (any Actor)? {
        isolation ?? (home === MainActor.shared ? nil : home)
    }

    /// Where a function of that isolation runs if it was added on `home`; nil if it runs on the notifying thread.
    ///
    /// The actor that adds an observer is held weakly, and so is an actor that is the owner. One to which the function
    /// itself is isolated, since it captures the actor, is held strongly.
    @usableFromInline
    static func of(
        _ actor: (any Actor)?, addedOn home: (any Actor)? = nil, owner: AnyObject? = nil
    ) -> Destination? {
        let isHeld = actor != nil && actor !== owner
        guard let actor = Self.actor(for: actor, addedOn: home) else { return nil }
        if actor === MainActor.shared { return mainActor }
        return Destination(isHeld ? .actor(actor) : .weakActor { [weak actor] in actor }, actor)
    }

    /// Schedules one drain of the mailbox there; `again` is true if the drain before it has reached its limit.
    ///
    /// A mailbox calls this only when no other drain is on its way. One job for each value would lose the order: jobs
    /// reach an actor through tasks, which the runtime may start in any order. The task has the caller's priority and
    /// task-local values, as any `Task { }`; values that arrive meanwhile are delivered under these, too.
    func schedule(_ mailbox: Mailbox, again: Bool = false) {
        AwaitingCall.outside { start(mailbox, again: again) }
    }

    private func start(_ mailbox: Mailbox, again: Bool) {
        switch kind {
        case .queue(let async, _):
            async { mailbox.drain() }
        case .actor(let actor) where actor !== MainActor.shared:
            Task { await drain(mailbox, on: actor) }
        case .actor:
            // An immediate task starts in place if the caller already runs on the main actor, even if no type says so.
            // That is how an observer on the main actor is called in place from nonisolated code that runs there.
            if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *), !again {
                Task.immediate { @MainActor in mailbox.drain() }
            } else {
                Task { @MainActor in mailbox.drain() }
            }
        case .weakActor(let load):
            if let actor = load() {
                Task { await drain(mailbox, on: actor) }
            } else if again {
                Task { mailbox.drain() }
            } else {
                // The actor is gone. If it was the owner, no delivery calls anything. Otherwise the observer has no
                // isolation of its own, and may be called anywhere: here, but for no longer than one turn.
                mailbox.drain()
            }
        }
    }

    private func drain(_ mailbox: Mailbox, on actor: isolated any Actor) { mailbox.drain() }
}

extension Destination {
    /// The actor's type or the queue's label, as descriptions of a set show them.
    var description: String {
        switch kind {
        case .actor(let actor): "\(type(of: actor))"
        case .weakActor(let load): load().map { "\(type(of: $0))" } ?? "an actor that is gone"
        case .queue(_, let label): "queue \(label())"
        }
    }
}
