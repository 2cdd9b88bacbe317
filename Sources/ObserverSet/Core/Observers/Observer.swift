/// An observer that is being registered: a function, where it runs, its owner, and the line that registered it.
///
/// It is opaque. The `add` family makes one and passes it to `NotificationSource.register(_:)`. A source of your own
/// passes it on to the sources behind it, unchanged or `adapted(_:)` to their parameters. It holds its owner weakly. An
/// observer that is registered in several places receives their values in order.
public struct Observer<Parameters: Sendable>: Sendable {
    /// What is called.
    enum Callee: Sendable {
        /// A function that runs on the notifying thread, and has no owner.
        case function(@Sendable (Parameters) -> Void)
        /// An `Entry<Parameters>`, as its superclass: unspecialised code releases that without a look at type metadata.
        case entry(AnyEntry)
    }

    private let callee: Callee
    let site: Site
    /// What a call has to pass: none, unless the observer is called once.
    var gates: [OnceGate] = []

    @usableFromInline
    init(call: @escaping @Sendable (Parameters) -> Void, site: Site) {
        callee = .function(call)
        self.site = site
    }

    @usableFromInline
    init(entry: Entry<Parameters>, site: Site) {
        callee = .entry(entry)
        self.site = site
    }

    /// The same observer, for a source of other parameters.
    ///
    /// ```swift
    /// /// Sends the length of each line that another source sends.
    /// struct Lengths: NotificationSource {
    ///     let lines: any NotificationSource<String>
    ///
    ///     func register(_ observer: Observer<Int>) -> ObserverToken {
    ///         lines.register(observer.adapted { line in line.count })
    ///     }
    ///
    ///     func settled() async { await lines.settled() }
    /// }
    /// ```
    ///
    /// ``NotificationSource/map(_:)``, ``NotificationSource/compactMap(_:)`` and ``NotificationSource/filter(_:)`` make such
    /// sources.
    ///
    /// - Parameter transform: Called on the notifying thread. Returns the value that the observer receives, or nil if
    ///   it is not to be called.
    /// - Returns: An observer with the same owner, place to run, order and registration site.
    public func adapted<Input: Sendable>(
        _ transform: @escaping @Sendable (Input) -> Parameters?
    ) -> Observer<Input> {
        Observer<Input>(entry: AdaptedEntry(self, transform: transform), site: site)
    }

    /// The entry; nil if it is nothing but a function.
    var entry: Entry<Parameters>? {
        guard case .entry(let entry) = callee else { return nil }
        return unsafe unsafeDowncast(entry, to: Entry<Parameters>.self)
    }

    /// Calls the observer, or enqueues the call; false if its owner is dead.
    func deliver(_ parameters: Parameters, by context: inout NotifyContext) -> Bool {
        if let entry { return entry.deliver(parameters, by: &context) }
        if case .function(let call) = callee { call(parameters) }
        return true
    }

    /// What is called for one more registration of the observer.
    func calleeForRegistration(_ more: [OnceGate] = []) -> Callee {
        let gates = more.isEmpty ? gates : gates + more
        if let entry { return .entry(entry.forRegistration(gates)) }
        guard case .function(let call) = callee, !gates.isEmpty else { return callee }
        return .entry(OnceEntry(gates, call))
    }

    /// The observer of one more registration.
    func forRegistration(_ gates: [OnceGate]) -> Observer { Observer(callee: calleeForRegistration(gates), site: site) }

    private init(callee: Callee, site: Site) {
        self.callee = callee
        self.site = site
    }
}

// MARK: - Making observers

// Inlinable, so that the entry's type is known where the client knows the types of the owner and the parameters.
// Otherwise the runtime would look it up for each observer.
extension Observer {
    /// An observer from a function without its isolation, which runs where that mailbox is drained; if it is nil, on the
    /// notifying thread.
    @inlinable
    init(_ call: @escaping @Sendable (Parameters) -> Void, in mailbox: Mailbox?, site: Site) {
        if let mailbox {
            self.init(entry: IsolatedClosure(call, in: mailbox), site: site)
        } else {
            self.init(call: call, site: site)
        }
    }

    /// The same for a function with an owner.
    @inlinable
    init<Owner: AnyObject & Sendable>(
        _ owner: Owner, _ call: @escaping @Sendable (Owner, Parameters) -> Void, in mailbox: Mailbox?,
        site: Site
    ) {
        if let mailbox {
            self.init(entry: IsolatedOwnedEntry(owner, call, in: mailbox), site: site)
        } else {
            self.init(entry: OwnedEntry(owner, call), site: site)
        }
    }
}
