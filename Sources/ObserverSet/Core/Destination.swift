/// What an observer is isolated to: an actor or a queue.
@usableFromInline
final class Destination: Sendable {
    private enum Kind: Sendable {
        case actor(any Actor)
        /// An actor that is held weakly, or the set would keep it alive: the observer's owner, or the one that added it.
        case weakActor(@Sendable () -> (any Actor)?)
        case queue(async: @Sendable (@escaping @Sendable () -> Void) -> Void, label: @Sendable () -> String)
    }

    private let kind: Kind
    /// The address of the actor or queue.
    ///
    /// A notifier on that actor is where the observer belongs; on a queue nobody is ever known to be.
    let identity: UInt

    /// Most observers' own.
    private static let mainActor = Destination(.actor(MainActor.shared), MainActor.shared)

    private init(_ kind: Kind, _ object: AnyObject) {
        self.kind = kind
        identity = UInt(bitPattern: ObjectIdentifier(object))
    }

    /// A queue of Dispatch's, which is not known here: not every system has it.
    convenience init(
        queue: AnyObject, async: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        label: @escaping @Sendable () -> String
    ) {
        self.init(.queue(async: async, label: label), queue)
    }

    /// Where a function of that isolation runs if it was added on `home`; nil if on the notifying thread.
    ///
    /// An applied method of an actor's instance (`set.add(hear)`) has lost its isolation, which no signature can refuse:
    /// so what says nothing of an isolation runs on the actor that adds it, unless that is the main actor, of which nobody
    /// writes methods. That actor is held weakly, and so is one that is the owner.
    @usableFromInline
    static func of(
        _ actor: (any Actor)?, addedOn home: (any Actor)? = nil, owner: AnyObject? = nil
    ) -> Destination? {
        if let actor {
            if actor === MainActor.shared { return mainActor }
            if actor !== owner { return Destination(.actor(actor), actor) }
        }
        guard let actor = actor ?? home, actor !== MainActor.shared else { return nil }
        return Destination(.weakActor { [weak actor] in actor }, actor)
    }

    /// Has the mailbox drained there, once; `again` if its turn was over.
    ///
    /// A mailbox asks for that only when no drain is on its way. One job for each value would lose the order: jobs for an
    /// actor pass through tasks, which the runtime may start in any order. The job takes the priority and the task-local
    /// values of whoever asks for it, as a task made by hand would; values that come meanwhile are delivered under them.
    func schedule(_ mailbox: Mailbox, again: Bool = false) {
        // What is delivered is no part of the awaited call inside which it was notified: `settled()` waits for that.
        guard AwaitingCall.number == 0 else {
            return AwaitingCall.$number.withValue(0) { schedule(mailbox, again: again) }
        }
        switch kind {
        case .queue(let async, _):
            async { mailbox.drain() }
        case .actor(let actor) where actor !== MainActor.shared:
            Task { await drain(mailbox, on: actor) }
        case .actor:
            // An immediate task starts in place if the caller is on the main actor already, even where no type says so; that
            // is how an observer on the main actor is called in place from nonisolated code that runs there.
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
                // Either the owner was the actor, so that no delivery calls anything; or the observer says nothing of an
                // isolation, and may be called anywhere: here, but for no longer than a turn.
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
