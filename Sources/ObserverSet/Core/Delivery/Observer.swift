/// An observer that is being registered: a function, where it runs, its owner, and the line that registered it.
///
/// It is opaque. The `add` family makes one and passes it to `NotificationSource.register(_:)`. A source of your own
/// passes it on to the sources behind it, unchanged or `adapted(_:)` to their parameters. It holds its owner weakly. An
/// observer that is registered in several places receives their values in order.
public struct Observer<Parameters: Sendable>: Sendable {
    /// The function, if it runs on the notifying thread and has no owner; otherwise the entry has the function to call.
    let call: @Sendable (Parameters) -> Void
    /// An `Entry<Parameters>`; stored as its superclass, which unspecialised code releases without a look at type
    /// metadata.
    let entry: AnyEntry?
    let site: Site

    @usableFromInline
    init(call: @escaping @Sendable (Parameters) -> Void, site: Site) {
        self.call = call
        self.entry = nil
        self.site = site
    }

    @usableFromInline
    init(entry: Entry<Parameters>, site: Site) {
        // Never called. A closure literal would capture the type of the parameters, in a box for each observer.
        self.call = unsafe unsafeBitCast(Nothing(), to: Function.self).call
        self.entry = entry
        self.site = site
    }

    /// An observer that is called on the notifying thread, and puts the values where they wait for somebody else.
    ///
    /// - Parameters:
    ///   - call: Puts a value there.
    ///   - waiting: How many wait, for descriptions and reports; nil if nobody knows.
    ///   - site: The line of the registration, for descriptions.
    package init(
        buffering call: @escaping @Sendable (Parameters) -> Void, waiting: @escaping @Sendable () -> Int?, site: Site
    ) {
        self.init(entry: BufferingEntry(call, waiting: waiting), site: site)
    }

    private struct Function {
        let call: @Sendable (Parameters) -> Void
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

    /// Calls the observer, or enqueues the call; false if its owner is dead.
    func deliver(_ parameters: Parameters, by notifier: inout Notifier) -> Bool {
        if let entry {
            return unsafe unsafeDowncast(entry, to: Entry<Parameters>.self).deliver(parameters, by: &notifier)
        }
        call(parameters)
        return true
    }

    /// The same observer, of which only that call goes through that ends the registration.
    ///
    /// It is decided where the observer runs, not where it is notified: a value that waits may still be dropped.
    func ending(_ registration: SelfEndingRegistration) -> Observer {
        if let entry {
            let entry = unsafe unsafeDowncast(entry, to: Entry<Parameters>.self)
            return Observer(entry: entry.ending(registration), site: site)
        }
        let call = call
        return Observer(call: { if registration.end() { call($0) } }, site: site)
    }

    /// The same observer, for one more registration.
    func forRegistration() -> Observer {
        guard let entry else { return self }
        return unsafe Observer(entry: unsafeDowncast(entry.forRegistration(), to: Entry<Parameters>.self), site: site)
    }
}

/// A function without a context, whose bits serve as a function of any type that is never called.
private struct Nothing {
    let call: @Sendable () -> Void = {}
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
