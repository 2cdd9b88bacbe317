import Synchronization

/// Publishes events to those who observe their types, whoever publishes.
///
/// With an `ObserverSet` one observes one object. With a publisher one observes what happens anywhere: publishers and
/// observers share nothing but the event's type.
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
/// Observers are added, called and removed as in a set, and what `ObserverSet` promises holds for each type's
/// observers: where they run, the order in which they are called and see events, and how they end. They end with the
/// publisher.
///
/// ## Who is told, and in which order
///
/// 1. The observers of the event's own type: the dynamic one, also if it is published as an `any Event` or as its
///    superclass.
/// 2. If it is an object, the observers of each superclass that is an event, the most derived one first. An observer of
///    a class therefore hears the events of all its subclasses.
/// 3. The observers of ``allEvents``.
///
/// Within each step it is the order in which they were added. An event that an observer publishes in turn has
/// passed all steps before the outer one goes on. An observer that is added meanwhile, whatever it observes, is first
/// called by the next event.
///
/// ## What it costs
///
/// Publishing takes no lock and allocates nothing. What a set's `notify` costs, it costs once more to find
/// the observers of a type, and for an event that nobody observes, only that. The event of a class costs a cast for
/// each class that is observed, so that a structure is the better event.
///
/// An observed type's set is kept as long as its publisher, less than a kilobyte when it is empty; types that are only
/// published leave nothing behind.
public final class EventPublisher: Sendable {
    /// The publisher of programs that need only one.
    ///
    /// Take the publisher as a parameter with this as its default, so that a test can pass one of its own.
    public static let `default` = EventPublisher()

    /// The observers of types other than classes.
    private let values = EventTable()
    /// The observers of classes.
    private let classes = ClassChannels()
    private let all = ObserverSet<any Event>()
    /// The sets of the former, in the order in which they were made; whoever adds one holds the lock.
    let channels = Lock(Channels())

    struct Channels: Sendable {
        var inOrder: [any EventChannel] = []
        var byType: [ObjectIdentifier: any EventChannel] = [:]
    }

    /// Makes a publisher without observers.
    public init() {}
}

// MARK: - Publishing

extension EventPublisher {
    /// Tells those who observe the event's type or a superclass of it, and then those who observe all events.
    ///
    /// As with ``ObserverSet/ObserverSet/notify(_:isolation:)-(Parameters,_)``, observers that belong to no actor, or to the one the caller is on,
    /// are called before this returns; for the others the event is put into their mailbox. May be called on any thread,
    /// and from inside an observer.
    ///
    /// ```swift
    /// publisher.publish(OrderPlaced(number: 1))
    ///
    /// let events: [any Event] = [OrderPlaced(number: 2), CartEmptied()]
    /// for event in events { publisher.publish(event) }        // each as what it is
    /// ```
    ///
    /// - Parameters:
    ///   - event: What has happened.
    ///   - isolation: The caller's own, filled in by the compiler.
    /// - Complexity: O(*n*) in the number of those who are told; for an object O(*n* + *c*), where *c* is the number of
    ///   classes that are observed.
    public func publish<Published: Event>(_ event: Published, isolation: isolated (any Actor)? = #isolation) {
        // Before anyone is told: whoever is added from here on has a higher id, and does not hear this event, though the turn
        // of what it observes comes later (promise 3).
        let limit = ObserverToken.lastID
        if let set = unsafe values.set(of: Published.self) {
            unsafe set._withUnsafeGuaranteedRef { $0.notify(event, upTo: limit, isolation: isolation) }
        }
        if !classes.isEmpty || !all.isVacant { publishShared(event, upTo: limit, isolation: isolation) }
    }

    @inline(never)
    private func publishShared<Published: Event>(
        _ event: Published, upTo limit: UInt64, isolation: isolated (any Actor)?
    ) {
        if Published.self is AnyObject.Type { classes.publish(event, upTo: limit, isolation: isolation) }
        // An event of more than three words is allocated when it becomes an `any Event`: not if it is for nobody. Otherwise
        // no question is asked, so that the notification finds the owners that have died.
        if MemoryLayout<Published>.size <= 3 * MemoryLayout<UInt>.size || !all.isEmpty {
            all.notify(event, upTo: limit, isolation: isolation)
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
        for channel in allChannels { await channel.settled() }
    }
}

// MARK: - Observing

extension EventPublisher {
    /// The source to which observers of one type of events are added.
    ///
    /// It has the whole `add` family, and can be a member of a group like any other source. It may be kept; it does not
    /// keep the publisher alive, nor the observers when the publisher has gone. To observe then adds nothing, and returns
    /// an inactive token.
    ///
    /// ```swift
    /// publisher.observers(of: OrderPlaced.self).add(self) { badge, order in badge.show(order.number) }
    /// ```
    ///
    /// Observers of a class are told of its subclasses' events too. May be called on any thread.
    ///
    /// - Parameter type: The type of the events.
    /// - Returns: A source that tells each event of that type.
    /// - Complexity: O(1), for a class that was not observed before O(*c*), where *c* is the number of classes that
    ///   were.
    public func observers<Observed: Event>(of type: Observed.Type) -> some NotificationSource<Observed> {
        EventSource(set: set(of: type))
    }

    /// The source to which observers of events of every type are added.
    ///
    /// For a log, for tests, and for forwarding to where types are not known.
    ///
    /// ```swift
    /// publisher.allEvents.addNonisolated { event in log.debug("\(event)") }
    /// ```
    public var allEvents: some NotificationSource<any Event> { EventSource(set: all) }

    /// Ends all registrations of an owner, whatever events it observes.
    ///
    /// - Returns: How many there were.
    /// - Complexity: O(*n*) in the number of all observers.
    @discardableResult
    public func removeAll(ownedBy owner: AnyObject) -> Int {
        allChannels.reduce(0) { count, channel in count + channel.removeAll(ownedBy: owner) }
    }

    private var allChannels: [any EventChannel] {
        // A new array, made under the lock: the thread sanitizer does not see that one who shares an array has let go of it.
        channels.withLock { $0.inOrder + [all] }
    }

    private func set<Observed: Event>(of type: Observed.Type) -> ObserverSet<Observed> {
        let key = ObjectIdentifier(type)
        if let channel = channels.withLock({ $0.byType[key] }) { return Self.set(channel) }
        let fresh = ObserverSet<Observed>()
        // Of two threads, one enters its set; the other's is released outside the lock.
        let channel = channels.withLock { channels -> any EventChannel in
            if let channel = channels.byType[key] { return channel }
            channels.byType[key] = fresh
            channels.inOrder.append(fresh)
            if type is AnyObject.Type { classes.insert(fresh) } else { values.enter(fresh, of: type) }
            return fresh
        }
        return Self.set(channel)
    }

    /// What is found under a type's key is the type's.
    private static func set<Observed: Event>(_ channel: any EventChannel) -> ObserverSet<Observed> {
        channel as! ObserverSet<Observed>
    }
}

// MARK: - Descriptions

extension EventPublisher: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The number of observers, and of the types of events that they observe.
    public var description: String {
        describe(observed)
    }

    /// The description, and for each type of events that is observed its name and a line for each observer.
    public var debugDescription: String {
        let observed = observed
        let lines = observed.flatMap { channel in
            ["  \(channel.name): \(Self.count(channel.lines.count, "observer"))"] + channel.lines.map { "    " + $0 }
        }
        return ([describe(observed)] + lines).joined(separator: "\n")
    }

    /// A mirror with a child for each type of events that is observed: its name, and the number of its observers.
    public var customMirror: Mirror {
        Mirror(self, children: observed.map { ($0.name, $0.lines.count) }, displayStyle: .dictionary)
    }

    private var observed: [(name: String, lines: [String])] {
        allChannels.map { ($0.name, $0.lines) }.filter { !$0.lines.isEmpty }
    }

    private func describe(_ observed: [(name: String, lines: [String])]) -> String {
        let observers = observed.reduce(0) { $0 + $1.lines.count }
        let types = observed.isEmpty ? "" : " of \(Self.count(observed.count, "type"))"
        return "EventPublisher(\(Self.count(observers, "observer"))\(types))"
    }

    private static func count(_ number: Int, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }
}
