/// Publishes events to the observers of their types.
///
/// With an `ObserverSet` you observe one object. With a publisher you observe a type of events, whichever object
/// publishes them. The publishing object and the observer need to know only the event's type.
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
/// You can create any number of publishers, for example one for each part of a program, or one for each test. If your
/// program needs only one, use ``default``.
///
/// You add and remove observers as in a set. For the observers of each type the guarantees of `ObserverSet` hold: they
/// say where observers run, in which order, and how long they live. When the publisher is deallocated, all
/// registrations end.
///
/// ## Which observers are called, and in which order
///
/// 1. The observers of ``allEvents``.
/// 2. The observers of the event's static type, that is, of the type that the event has for the compiler where you call
///    `publish`. So `publish(circle as Shape)` reaches the observers of `Shape`, and `publish(circle)` those of
///    `Circle`. An `any Event` is published as the type that the event had when it was converted to `any Event`.
///
/// In each of these two groups, observers are called in the order they were added. If an observer publishes another
/// event, the observers of both groups receive that event before the outer event continues. An observer that is added
/// while an event is being published is first called for the next event, whatever type of events it observes.
///
/// `allEvents` comes first so that a log shows causes before effects: if an observer of a type publishes another event,
/// each log has already received the event that led to it. This has a price: when an observer of `allEvents` is called,
/// the observers of the event's type have not been called yet, so any state that they change is still old. If you need
/// the new state, observe the event's type instead. If an actor publishes the event, you can also start a task on that
/// actor, because the task runs after `publish` has returned.
///
/// ## What it costs
///
/// Publishing takes no lock. It allocates memory in two cases: if `allEvents` is observed and the event is larger than
/// three words, and wherever a set's `notify` allocates. Finding the observers of the event's type takes about as long
/// as notifying a set. Publishing an event that nobody observes takes only that search.
///
/// The publisher keeps a set for each type that has ever been observed. An empty one takes up to three kilobytes. A
/// type that is only published takes no memory.
public final class EventPublisher: Sendable {
    /// The publisher for programs that need only one.
    ///
    /// Let your types take the publisher as a parameter, with this one as the default, so that a test can pass another.
    public static let `default` = EventPublisher()

    /// Finds a set in `channels` by the type of its events.
    private let table = EventTable()
    private let all = ObserverSet<any Event>()
    /// The sets of the types that have been observed, in the order they were created.
    ///
    /// A set is created and entered in `table` only while this lock is held.
    let channels = Lock<[any EventChannel]>([])

    /// Creates a publisher without observers.
    public init() {}
}

// MARK: - Publishing

extension EventPublisher {
    /// Calls the observers of all events, and then the observers of the event's type.
    ///
    /// Observers that belong to no actor, or to the actor that the caller is on, are called before this method returns.
    /// For the others, the event is enqueued. The exact rules are those of
    /// ``ObserverSet/ObserverSet/notify(_:isolation:)-(Parameters,_)``. You may call this method on any thread, and
    /// from inside an observer.
    ///
    /// ```swift
    /// publisher.publish(OrderPlaced(number: 1))
    ///
    /// let events: [any Event] = [OrderPlaced(number: 2), CartEmptied()]
    /// for event in events { publisher.publish(event) }        // each as its own type
    /// ```
    ///
    /// - Parameters:
    ///   - event: The event that the observers receive.
    ///   - isolation: The caller's isolation, which the compiler fills in.
    /// - Complexity: O(*n*) in the number of observers that are called.
    public func publish<Published: Event>(_ event: Published, isolation: isolated (any Actor)? = #isolation) {
        publish(event, from: isolation)
    }

    // This function takes the actor as an ordinary parameter instead of being isolated to it. In an isolated function,
    // the closures below would check at run time that they are called on the actor.
    @inline(__always)
    private func publish<Published: Event>(_ event: Published, from actor: (any Actor)?) {
        // The type's set is not retained. The publisher holds it, and this line holds the publisher until the function
        // returns.
        defer { _fixLifetime(self) }
        // Both sets and both limits are read before any observer is called. An observer that is added later isn't
        // called for this event (guarantee 3), because its id is above its set's limit, or its set didn't exist yet.
        let limit = all.lastID
        let set = unsafe table.set(of: Published.self)
        var limitOfType = UInt64.max
        if limit != 0 {
            // fault: limit-of-the-type-later
            if let set = unsafe set { unsafe limitOfType = set._withUnsafeGuaranteedRef { $0.lastID } }
            // Converting the event to `any Event` puts it into a box if it is larger than three words.
            // fault: type-before-all-events
            all.notify(event, upTo: limit, from: actor)
        }
        if let set = unsafe set {
            // fault: type-before-all-events
            unsafe set._withUnsafeGuaranteedRef { $0.notify(event, upTo: limitOfType, from: actor) }
        }
    }

    /// Waits until every event that was enqueued before this call has been delivered or dropped.
    ///
    /// Use it to make tests of observers on other actors and queues deterministic. For the details, see
    /// ``ObserverSet/settled()``.
    ///
    /// ```swift
    /// publisher.publish(OrderPlaced(number: 1))
    /// await publisher.settled()
    /// ```
    public func settled() async {
        // All waits begin before the first one is awaited. So events that are published during one wait don't prolong
        // the next one.
        let waits = allChannels.map { $0.beginSettledWait() }
        for wait in waits { await wait.wait() }
    }
}

// MARK: - Observing

extension EventPublisher {
    /// Returns the source to which you add the observers of one type of events.
    ///
    /// The source has all the `add` methods, and can be a member of a group. You may store it, because it keeps neither
    /// the publisher nor the observers alive. Once the publisher has been deallocated, adding an observer does nothing
    /// and returns an inactive token.
    ///
    /// ```swift
    /// publisher.observers(of: OrderPlaced.self).add(self) { badge, order in badge.show(order.number) }
    /// ```
    ///
    /// You may call this method on any thread.
    ///
    /// - Parameter type: The static type of the events. If a variable `shape` is declared as a `Shape`, then
    ///   `type(of: shape)` stands for `Shape` here, even if the object's class is a subclass.
    /// - Returns: A source that sends each event of that type.
    /// - Complexity: O(1).
    public func observers<Observed: Event>(of type: Observed.Type) -> some NotificationSource<Observed> {
        Self.source(of: set())
    }

    /// The source to which you add observers of all events, whatever their type.
    ///
    /// Use it for logs, for tests, and to forward events to code that doesn't know their types.
    ///
    /// ```swift
    /// _ = publisher.allEvents.addNonisolated { event in log.debug("\(event)") }
    /// ```
    ///
    /// These observers are called before the observers of the event's type. So a log shows an event before the events
    /// that observers of its type publish in response. There is one exception: if an observer of all events itself
    /// publishes an event, the observers of all events that were added after it receive the inner event first, then the
    /// outer one (guarantee 6).
    ///
    /// - Important: When these observers are called, any state that the observers of the event's type change is still
    ///   old. To see the new state, observe the type itself, or start a task on the actor that publishes the event.
    public var allEvents: some NotificationSource<any Event> { Self.source(of: all) }

    /// Ends all registrations of an owner, whatever types of events they are for.
    ///
    /// - Returns: The number of registrations that were ended.
    /// - Complexity: O(*n*) in the number of all observers and of all types that were ever observed.
    @discardableResult
    public func removeAll(ownedBy owner: AnyObject) -> Int {
        allChannels.reduce(0) { count, channel in count + channel.removeAll(ownedBy: owner) }
    }

    /// Makes a source that adds observers to a set and hides the rest of the set.
    ///
    /// The source holds the set weakly, so that the observers' registrations end together with the publisher.
    private static func source<Observed>(of set: ObserverSet<Observed>) -> DerivedSource<Observed> {
        DerivedSource(
            // A token made of no tokens is inactive.
            register: { [weak set] observer in set?.register(observer) ?? ObserverToken([]) },
            // The set isn't retained while this awaits, so that it can be deallocated together with its publisher.
            settled: { [weak set] in await set?.beginSettledWait().wait() },
            description: { [weak set] in set?.debugDescription ?? "\(Observed.self) of a publisher that is gone" })
    }

    private var allChannels: [any EventChannel] {
        // `+` makes a new array under the lock. If the array in `channels` were shared and a thread appended to it
        // later, the thread sanitizer would report a race, because it doesn't see that this thread has released the
        // array.
        channels.withLock { $0 + [all] }
    }

    /// The set of the observers of `Observed`, which is created if there is none.
    ///
    /// The type is a generic parameter, not a value, because a value of type `Shape.Type` may be a subclass of `Shape`.
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
    /// The number of observers, and the number of types that they observe.
    public var description: String { describe(observed) }

    /// The description, followed by the name of each observed type and a line for each of its observers.
    ///
    /// Equal lines are printed once, with a count. At most fifty lines are printed for each type.
    public var debugDescription: String {
        let observed = observed
        let types = observed.map { name, listing in
            listing.text(under: "  \(name): \(Listing.count(listing.count, "observer"))", indentation: "    ")
        }
        return ([describe(observed)] + types).joined(separator: "\n")
    }

    /// The names and the observers of the types that have observers.
    private var observed: [(name: String, listing: Listing)] {
        allChannels.map { ($0.name, $0.listing) }.filter { $0.listing.count > 0 }
    }

    private func describe(_ observed: [(name: String, listing: Listing)]) -> String {
        let observers = observed.reduce(0) { $0 + $1.listing.count }
        let types = observed.isEmpty ? "" : " of \(Listing.count(observed.count, "type"))"
        return "EventPublisher(\(Listing.count(observers, "observer"))\(types))"
    }
}
