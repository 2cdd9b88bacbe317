/// An observer that is about to be registered: a function, the place where it runs, its owner, and the line of code
/// that adds it.
///
/// The methods of the `add` family create an observer, and pass it to `NotificationSource.register(_:)`. You can't look
/// into it. If you write a source of your own, pass the observer on to the sources behind yours, either unchanged or
/// adapted to their parameters with ``adapted(_:)``.
///
/// An observer holds its owner weakly. If it is registered with several sources, it receives all their values in one
/// order.
public struct Observer<Parameters: Sendable>: Sendable {
    /// The function to call if there is no registration; otherwise a function that does nothing, and is never called.
    // It isn't optional, and there is only one other reference, because unspecialised code can copy and destroy such a
    // pair in place. For anything else, it would look up the type's metadata each time.
    @usableFromInline let function: @Sendable (Parameters) -> Void
    /// The registration that a set will claim, whose target is a `Target<Parameters>`; nil if the observer is a plain
    /// function.
    // Its class has no type parameter, because unspecialised code can release that without looking up a type.
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
        // The cast avoids an allocation: unspecialised code would allocate a closure that has the right type. It is
        // sound, because a stored function is two words, its code and its context, whatever its parameters are.
        let nothing = Isolation.NonisolatedOwnerOnly<AnyObject> { _ in }
        function = unsafe unsafeBitCast(nothing, to: Isolation.UnaryNonisolated.self).function
        self.registration = registration
        self.site = site
    }

    /// Returns this observer for a source that has other parameters.
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
    /// Often you don't need a source of your own, because ``NotificationSource/map(_:)``,
    /// ``NotificationSource/compactMap(_:)`` and ``NotificationSource/filter(_:)`` make such sources.
    ///
    /// - Parameter transform: A function that is called on the notifying thread. It returns the value that the observer
    ///   receives, or nil if the observer must not be called.
    /// - Returns: An observer that has the same owner, runs in the same place, shares this observer's order, and shows
    ///   the same line of code in descriptions.
    @inlinable
    public func adapted<Input: Sendable>(
        _ transform: @escaping @Sendable (Input) -> Parameters?
    ) -> Observer<Input> {
        let target = AdaptedTarget(registration?.target, or: function, transform)
        // A further registration may have gates, which the calls for the new observer must pass, too.
        let isFirst = registration.map { $0 === $0.target } ?? true
        return Observer<Input>(
            registration: isFirst ? target : FurtherRegistration(target, of: registration), site: site)
    }

    /// The same observer with a registration whose call must pass a gate.
    @inlinable
    func gated(by gate: OnceGate) -> Observer {
        let target = registration?.target ?? OnceFunction(function)
        return Observer(registration: FurtherRegistration(target, gate, of: registration), site: site)
    }

    /// The same observer with a registration that no set has claimed, unless another thread claims it at this moment.
    func unclaimedOrAnother() -> Observer {
        guard let registration, registration.isClaimed else { return self }
        return Observer(registration: registration.another(), site: site)
    }

    /// Calls the observer, or enqueues the value for it.
    func send(_ parameters: Parameters, by notifier: inout Notifier) {
        LockCheck.assertNoLockIsHeld()
        guard let registration else { return function(parameters) }
        unsafe unsafeDowncast(registration.target, to: Target<Parameters>.self)
            .send(parameters, for: registration, by: &notifier)
    }
}
