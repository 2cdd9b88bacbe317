/// Publishes events to the observers of their types.
///
/// With an `ObserverSet` you observe one object. With a publisher you observe a type of events, whichever object
/// publishes them: the two share nothing but the event's type.
///
/// ```swift
/// struct OrderPlaced: Event {
///     let number: Int
/// }
///
/// @MainActor final class Badge {
///     private var count = 0
///
///     init(_ publisher: EventPublisher = .default) {
///         publisher.observers(of: OrderPlaced.self).add(self) { badge, _ in badge.count += 1 }
///     }
/// }
///
/// EventPublisher.default.publish(OrderPlaced(number: 1))
/// ```
///
/// There may be any number of publishers: one for each part of a program, one for each test. `default` is there for
/// programs that need only one.
///
/// Observers are added, called and removed as in a set, and the guarantees of `ObserverSet` apply to the observers of
/// each type: where they run, their order, and how they end. They end with the publisher.
///
/// ## Which observers are called, and in which order
///
/// 1. The observers of ``allEvents``.
/// 2. The observers of the event's type, as the call of `publish` states it. An `any Event` counts as what is in it. An
///    instance of a subclass counts as the class it is published as: `publish(circle as Shape)` reaches the observers
///    of `Shape`, and `publish(circle)` those of `Circle`.
///
/// Within each step, observers are called in the order in which they were added. If an observer publishes another
/// event, that event passes both steps before the outer event continues. An observer that is added during an event,
/// whatever its type, is first called for the next event.
///
/// `allEvents` comes first so that a log shows causes before effects: if an observer of a type publishes another event,
/// each log has already received the event that led to it. This has a price: when an observer of `allEvents` is called,
/// the observers of the event's type have not been called yet, so any state that they change is still old. If you need
/// the new state, observe the event's type instead. If an actor publishes the event, you can also start a task on that
/// actor, because the task runs after `publish` has returned.
///
/// ## What it costs
///
/// Publishing takes no lock, and allocates only if `allEvents` is observed and the event is larger than three words, or
/// where `notify` of a set does. To find the observers of a type costs about as much as notifying a set. For an event
/// that is not observed there are no other costs.
///
/// The set of an observed type is kept as long as the publisher. Empty, it takes up to three kilobytes. Types that are
/// only published use no memory.
public final class EventPublisher: Sendable {
    /// The publisher of programs that need only one.
    ///
    /// Take the publisher as a parameter with this as its default, so that a test can pass another.
    public static let `default` = EventPublisher()

    /// Finds the sets of `channels` by the types of their events.
    private let table = EventTable()
    private let all = ObserverSet<any Event>()
    /// The sets of the types that have been observed, in the order in which they were made; one is added only under
    /// this lock.
    let channels = Lock<[any EventChannel]>([])

    /// Makes a publisher without observers.
    public init() {}
}

// MARK: - Publishing

extension EventPublisher {
    /// Calls the observers of all events, and then the observers of the event's type.
    ///
    /// As with ``ObserverSet/ObserverSet/notify(_:isolation:)-(Parameters,_)``, observers that belong to no actor, or
    /// to the one the caller is on, are called before this returns. For the others the event is put into their mailbox.
    /// May be called on any thread, and from inside an observer.
    ///
    /// ```swift
    /// publisher.publish(OrderPlaced(number: 1))
    ///
    /// let events: [any Event] = [OrderPlaced(number: 2), CartEmptied()]
    /// for event in events { publisher.publish(event) }        // each as its own type
    /// ```
    ///
    /// - Parameters:
    ///   - event: What has happened.
    ///   - isolation: The caller's own, filled in by the compiler.
    /// - Complexity: O(*n*) in the number of observers that are called.
    public func publish<Published: Event>(_ event: Published, isolation: isolated (any Actor)? = #isolation) {
        publish(event, from: isolation)
    }

    // Not isolated itself: the closures of an isolated function check at run time that they are called on its actor.
    @inline(__always)
    private func publish<Published: Event>(_ event: Published, from actor: (any Actor)?) {
        // The set of the type is used without being retained. The publisher keeps it, and this line keeps the
        // publisher.
        defer { _fixLifetime(self) }
        // Both sets and both limits are taken before any observer is called. An observer that is added later has a
        // higher id than its set's limit, or is in a set that did not exist yet, so it is not called for this event
        // (guarantee 3).
        let limit = all.lastID
        let set = unsafe table.set(of: Published.self)
        var limitOfType = UInt64.max
        if limit != 0 {
            // fault: limit-of-the-type-later
            if let set = unsafe set { unsafe limitOfType = set._withUnsafeGuaranteedRef { $0.lastID } }
            // An event of more than three words is boxed when it becomes an `any Event`.
            // fault: type-before-all-events
            all.notify(event, upTo: limit, from: actor)
        }
        if let set = unsafe set {
            // fault: type-before-all-events
            unsafe set._withUnsafeGuaranteedRef { $0.notify(event, upTo: limitOfType, from: actor) }
        }
    }

    /// Waits until every event that was enqueued before the call has been delivered or dropped.
    ///
    /// It makes tests of observers on other actors and queues deterministic; see ``ObserverSet/settled()``.
    ///
    /// ```swift
    /// publisher.publish(OrderPlaced(number: 1))
    /// await publisher.settled()
    /// ```
    public func settled() async {
        // All of them before any is awaited: what is published during one wait does not prolong the next.
        let waits = allChannels.map { $0.beginSettledWait() }
        for wait in waits { await wait.wait() }
    }
}

// MARK: - Observing

extension EventPublisher {
    /// The source to which observers of one type of events are added.
    ///
    /// It has the whole `add` family, and can be a member of a group like any other source. You may keep it. It does
    /// not keep the publisher alive, nor the observers. When the publisher has been released, adding an observer does
    /// nothing and returns an inactive token.
    ///
    /// ```swift
    /// publisher.observers(of: OrderPlaced.self).add(self) { badge, order in badge.show(order.number) }
    /// ```
    ///
    /// May be called on any thread.
    ///
    /// - Parameter type: The type of the events. For an object `shape` of static type `Shape`, `type(of: shape)` means
    ///   `Shape`, whatever its class.
    /// - Returns: A source that sends each event of that type.
    /// - Complexity: O(1).
    public func observers<Observed: Event>(of type: Observed.Type) -> some NotificationSource<Observed> {
        Self.source(of: set())
    }

    /// The source to which observers of events of every type are added.
    ///
    /// For logs, for tests, and for forwarding to code that does not know the types.
    ///
    /// ```swift
    /// _ = publisher.allEvents.addNonisolated { event in log.debug("\(event)") }
    /// ```
    ///
    /// These observers are called before the observers of the event's type. So a log shows an event before the events
    /// that observers of its type publish in response. There is one exception: an observer of all events that itself
    /// publishes. The observers of all events that were added after it receive the inner event first, then the outer
    /// one (guarantee 6).
    ///
    /// - Important: State that the observers of the event's type change is still old when these observers are called. To
    ///   see the new state, observe the type itself, or start a task on the actor that publishes the event.
    public var allEvents: some NotificationSource<any Event> { Self.source(of: all) }

    /// Ends all registrations of an owner, for events of any type.
    ///
    /// - Returns: How many there were.
    /// - Complexity: O(*n*) in the number of all observers.
    @discardableResult
    public func removeAll(ownedBy owner: AnyObject) -> Int {
        allChannels.reduce(0) { count, channel in count + channel.removeAll(ownedBy: owner) }
    }

    /// The source to which the observers of a set are added; it hides the rest of the set.
    ///
    /// It holds the set weakly, so that the publisher's end releases the observers.
    private static func source<Observed>(of set: ObserverSet<Observed>) -> DerivedSource<Observed> {
        DerivedSource(
            // A combination of no tokens is inactive.
            register: { [weak set] observer in set?.register(observer) ?? ObserverToken([]) },
            // Awaited without the set, which must be able to end with its publisher.
            settled: { [weak set] in await set?.beginSettledWait().wait() },
            description: { [weak set] in set?.debugDescription ?? "\(Observed.self) of a publisher that is gone" })
    }

    private var allChannels: [any EventChannel] {
        // A new array, made under the lock: the thread sanitizer does not see that another owner of a shared array has
        // released it.
        channels.withLock { $0 + [all] }
    }

    /// The set of the observers of `Observed`.
    ///
    /// Of the static type: a value of `Shape.Type` may be a subclass.
    private func set<Observed: Event>() -> ObserverSet<Observed> {
        channels.withLock { channels in
            if let set = unsafe table.set(of: Observed.self) { return unsafe set.takeUnretainedValue() }
            let set = ObserverSet<Observed>()
            channels.append(set)
            table.enter(set)
            return set
        }
    }
}

// MARK: - Descriptions

extension EventPublisher: CustomStringConvertible, CustomDebugStringConvertible {
    /// The number of observers, and of the types of events that they observe.
    public var description: String { describe(observed) }

    /// The description, and for each type of events that is observed its name and a line for each observer.
    ///
    /// Equal lines are printed once, with their number, and at most fifty for each type.
    public var debugDescription: String {
        let observed = observed
        let types = observed.map { name, listing in
            listing.text(under: "  \(name): \(Listing.count(listing.count, "observer"))", indentation: "    ")
        }
        return ([describe(observed)] + types).joined(separator: "\n")
    }

    private var observed: [(name: String, listing: Listing)] {
        allChannels.map { ($0.name, $0.listing) }.filter { $0.listing.count > 0 }
    }

    private func describe(_ observed: [(name: String, listing: Listing)]) -> String {
        let observers = observed.reduce(0) { $0 + $1.listing.count }
        let types = observed.isEmpty ? "" : " of \(Listing.count(observed.count, "type"))"
        return "EventPublisher(\(Listing.count(observers, "observer"))\(types))"
    }
}
