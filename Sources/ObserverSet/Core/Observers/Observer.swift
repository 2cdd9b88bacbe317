/// An observer that is being registered: a function, where it runs, its owner, and the line that registered it.
///
/// It is opaque. The `add` family makes one and passes it to `NotificationSource.register(_:)`. A source of your own
/// passes it on to the sources behind it, unchanged or `adapted(_:)` to their parameters. It holds its owner weakly. An
/// observer that is registered in several places receives their values in order.
public struct Observer<Parameters: Sendable>: Sendable {
    /// What is called.
    enum Target: Sendable {
        /// A function that runs on the notifying thread, and has no owner.
        case function(@Sendable (Parameters) -> Void)
        /// An `Entry<Parameters>`, as its superclass: unspecialised code releases that without a look at type metadata.
        case entry(AnyEntry)

        /// The entry; nil if it is nothing but a function.
        var entry: Entry<Parameters>? {
            guard case .entry(let entry) = self else { return nil }
            return unsafe unsafeDowncast(entry, to: Entry<Parameters>.self)
        }

        /// Calls the observer, or enqueues the call; false if its owner is dead.
        func deliver(_ parameters: Parameters, by context: inout NotifyContext) -> Bool {
            LockCheck.assertNoLockIsHeld()
            if let entry { return entry.deliver(parameters, by: &context) }
            if case .function(let call) = self { call(parameters) }
            return true
        }

        /// What is called for one more registration of the observer, and once if there are gates.
        func forRegistration(_ gates: [OnceGate]) -> Self {
            if let entry { return .entry(entry.forRegistration(gates)) }
            guard case .function(let call) = self, !gates.isEmpty else { return self }
            return .entry(OnceEntry(gates, call))
        }
    }

    private let callee: Target
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

    /// Makes an observer for a source of other parameters.
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
        var adapted = Observer<Input>(entry: AdaptedEntry(callee, transform: transform), site: site)
        adapted.gates = gates
        return adapted
    }

    /// What is called for one more registration of the observer.
    func targetForRegistration() -> Target { callee.forRegistration(gates) }
}
