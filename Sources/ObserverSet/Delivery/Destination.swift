import Dispatch

/// Where an observer runs when it cannot run in place.
enum Destination: Sendable {
    case actor(any Actor)
    /// An actor that is held weakly, or the set would keep it alive: the observer's owner, or the one that added it.
    case weakActor(@Sendable () -> (any Actor)?)
    case queue(DispatchQueue)

    /// How many deliveries a drain makes before it lets others onto the actor or queue.
    private static let turn = 1_000

    /// Has the mailbox drained there, once.
    ///
    /// A mailbox asks for that only when no drain is on its way. One job for each value would lose the order: jobs for an
    /// actor pass through tasks, which the runtime may start in any order. The job takes the priority and the task-local
    /// values of whoever asks for it, as a task made by hand would; values that come meanwhile are delivered under them.
    func schedule(_ mailbox: Mailbox, again: Bool = false) {
        switch self {
        case .queue(let queue):
            queue.async {
                if mailbox.drain(limit: Self.turn) { schedule(mailbox, again: true) }
            }
        case .actor(let actor):
            if actor === MainActor.shared {
                scheduleOnMain(mailbox, again: again)
            } else {
                Task { await drain(mailbox, on: actor) }
            }
        case .weakActor(let load):
            if let actor = load() {
                Task { await drain(mailbox, on: actor) }
            } else {
                // Either the owner was the actor, so that no delivery calls anything; or the observer says nothing of an
                // isolation, and may be called anywhere: here, but for no longer than a turn.
                if mailbox.drain(limit: Self.turn) { Task { schedule(mailbox, again: true) } }
            }
        }
    }

    private func drain(_ mailbox: Mailbox, on actor: isolated any Actor) {
        if mailbox.drain(limit: Self.turn) { schedule(mailbox, again: true) }
    }

    /// An immediate task starts in place if the caller is on the main actor already, even where no type says so; that
    /// is how an observer on the main actor is called in place from nonisolated code that runs there.
    private func scheduleOnMain(_ mailbox: Mailbox, again: Bool) {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *), !again {
            Task.immediate { @MainActor in drain(mailbox, on: MainActor.shared) }
        } else {
            Task { @MainActor in drain(mailbox, on: MainActor.shared) }
        }
    }
}

extension Destination: CustomStringConvertible {
    /// The actor's type or the queue's label, as descriptions of a set show them.
    var description: String {
        switch self {
        case .actor(let actor): "\(type(of: actor))"
        case .weakActor(let load): load().map { "\(type(of: $0))" } ?? "an actor that is gone"
        case .queue(let queue): "queue \(queue.label)"
        }
    }
}
