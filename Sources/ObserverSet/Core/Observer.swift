/// An observer on its way into a source: a function, where it runs, whom it belongs to, and who registered it.
///
/// Opaque. The `add` family makes one and hands it to `NotificationSource.register(_:)`; a source of your own passes it
/// on to the sources behind it, as it is or `adapted(_:)` to their parameters. It holds its owner weakly. Registered in
/// several places, an observer keeps one mailbox, so that what it sees stays in order across them.
public struct Observer<Parameters: Sendable>: Sendable {
    let payload: Payload<Parameters>
    let site: Site

    init(payload: Payload<Parameters>, site: Site) {
        self.payload = payload
        self.site = site
    }

    /// The same observer, for a source of other parameters.
    ///
    /// ```swift
    /// /// Tells the length of each line that another source tells.
    /// struct Lengths: NotificationSource {
    ///     let lines: any NotificationSource<String>
    ///
    ///     func register(_ observer: Observer<Int>) -> ObserverToken {
    ///         lines.register(observer.adapted { line in line.count })
    ///     }
    /// }
    /// ```
    ///
    /// - Parameter transform: Called on the notifying thread, before any hop. Returns what the observer is to be told,
    ///   or nil if it is not to be called.
    /// - Returns: An observer with the same owner, place to run, mailbox and registration site.
    public func adapted<Input: Sendable>(
        _ transform: @escaping @Sendable (Input) -> Parameters?
    ) -> Observer<Input> {
        Observer<Input>(payload: Payload(entry: AdaptedEntry(base: payload, transform: transform)), site: site)
    }
}

extension ObserverSet {
    /// The same type, for those who write the module's name before it: `ObserverSet.Observer<String>`.
    ///
    /// The module and its main type share a name, so that Swift looks for `Observer` in the type.
    public typealias Observer = ObserverSet::Observer
}
