/// An observer that is being registered: a function, where it runs, its owner, and the line that registered it.
///
/// It is opaque. The `add` family makes one and passes it to `NotificationSource.register(_:)`. A source of your own
/// passes it on to the sources behind it, unchanged or `adapted(_:)` to their parameters. It holds its owner weakly. An
/// observer that is registered in several places receives their values in order.
public struct Observer<Parameters: Sendable>: Sendable {
    /// What is called if there is no entry; otherwise a function that does nothing, and is never called.
    // Not optional, and only one more reference beside it: unspecialised code copies and destroys these two in place, and
    // anything else by way of the type's metadata, which it looks up each time.
    let function: @Sendable (Parameters) -> Void
    /// An `Entry<Parameters>`, as its superclass: unspecialised code releases that without a look at type metadata.
    let anyEntry: AnyEntry?
    let site: Site

    @usableFromInline
    init(call: @escaping @Sendable (Parameters) -> Void, site: Site) {
        function = call
        anyEntry = nil
        self.site = site
    }

    @usableFromInline
    init(entry: Entry<Parameters>, site: Site) {
        // Not a closure of the right type: in unspecialised code that would allocate. A stored function is two words, its code
        // and its context, whatever its parameters.
        let nothing = Isolation.NonisolatedOwner<AnyObject> { _ in }
        function = unsafe unsafeBitCast(nothing, to: Isolation.UnaryNonisolated.self).function
        anyEntry = entry
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
        Observer<Input>(entry: AdaptedEntry(self, transform: transform), site: site)
    }

    /// The same observer, which each call has to pass that gate for.
    func gated(by gate: OnceGate) -> Observer {
        let once = entry.map { OnceEntry([gate], nil, $0) } ?? OnceEntry([gate], function)
        return Observer(entry: once, site: site)
    }

    /// The entry; nil if it is nothing but a function.
    var entry: Entry<Parameters>? { anyEntry.map { unsafe unsafeDowncast($0, to: Entry<Parameters>.self) } }

    /// Calls the observer, or enqueues the call; false if its owner is dead.
    func deliver(_ parameters: Parameters, by context: inout NotifyContext) -> Bool {
        LockCheck.assertNoLockIsHeld()
        if let entry { return entry.deliver(parameters, by: &context) }
        function(parameters)
        return true
    }

    /// The observer for one more registration, and once if there are gates.
    func forRegistration(_ gates: [OnceGate] = []) -> Observer {
        if let entry { return Observer(entry: entry.forRegistration(gates), site: site) }
        return gates.isEmpty ? self : Observer(entry: OnceEntry(gates, function), site: site)
    }
}
