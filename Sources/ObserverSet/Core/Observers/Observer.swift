/// An observer that is being registered: a function, where it runs, its owner, and the line that registered it.
///
/// It is opaque. The `add` family makes one and passes it to `NotificationSource.register(_:)`. A source of your own
/// passes it on to the sources behind it, unchanged or `adapted(_:)` to their parameters. It holds its owner weakly. An
/// observer that is registered in several places receives their values in order.
public struct Observer<Parameters: Sendable>: Sendable {
    /// What is called if there is no registration; otherwise a function that does nothing, and is never called.
    // It is not optional, and there is only one more reference beside it: unspecialised code copies and destroys these two in
    // place, but anything else by way of the type's metadata, which it looks up each time.
    @usableFromInline let function: @Sendable (Parameters) -> Void
    /// A registration of a `Target<Parameters>`, for a source to claim; nil if the observer is only a function.
    // As a class without parameters, because unspecialised code releases that without looking up a type.
    @usableFromInline let registration: Registration?
    @usableFromInline let site: Site

    @usableFromInline
    init(call: @escaping @Sendable (Parameters) -> Void, site: Site) {
        function = call
        registration = nil
        self.site = site
    }

    @usableFromInline
    init(_ target: Target<Parameters>, site: Site) { self.init(registration: target, site: site) }

    @usableFromInline
    init(registration: Registration, site: Site) {
        // A closure of the right type would do, but would be allocated in unspecialised code. A stored function is two words,
        // its code and its context, whatever its parameters.
        let nothing = Isolation.NonisolatedOwnerOnly<AnyObject> { _ in }
        function = unsafe unsafeBitCast(nothing, to: Isolation.UnaryNonisolated.self).function
        self.registration = registration
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
    @inlinable
    public func adapted<Input: Sendable>(
        _ transform: @escaping @Sendable (Input) -> Parameters?
    ) -> Observer<Input> {
        let target = AdaptedTarget(registration?.target, or: function, transform)
        // A registration that is not the target's first one has gates.
        let isFirst = registration.map { $0 === $0.target } ?? true
        return Observer<Input>(
            registration: isFirst ? target : FurtherRegistration(target, of: registration), site: site)
    }

    /// The same observer, for a registration in which each call has to pass a gate.
    @inlinable
    func gated(by gate: OnceGate) -> Observer {
        let target = registration?.target ?? OnceFunction(function)
        return Observer(registration: FurtherRegistration(target, gate, of: registration), site: site)
    }

    /// The same observer with a registration that no source has claimed, as far as is known.
    func unclaimed() -> Observer {
        guard let registration, registration.isClaimed else { return self }
        return Observer(registration: registration.another(), site: site)
    }

    /// Calls the observer, or enqueues the call, for its registration.
    func send(_ parameters: Parameters, by notifier: inout Notifier) {
        LockCheck.assertNoLockIsHeld()
        guard let registration else { return function(parameters) }
        _ = unsafe unsafeDowncast(registration.target, to: Target<Parameters>.self)
            .send(parameters, for: registration, by: &notifier)
    }
}
