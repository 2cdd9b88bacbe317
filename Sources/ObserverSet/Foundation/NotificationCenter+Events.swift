#if NotificationCenter
public import Foundation

extension NotificationCenter {
    /// Posts an event, as a notification with its name and `userInfo`.
    ///
    /// Foundation's own observers are called before this returns; those of this library where they belong, as by a
    /// set's `notify` in code without isolation. May be called on any thread, and from inside an observer.
    ///
    /// Observers by type receive the event itself, which is added to its `userInfo` under the key `"event"`.
    ///
    /// An event that is an object is posted with the name of its own class, not with that of a superclass.
    ///
    /// - Parameters:
    ///   - event: What happened.
    ///   - object: The sender, for observers of one sender.
    /// - Complexity: O(*n*).
    public func post(_ event: some BridgedEvent, object: AnyObject? = nil) {
        var userInfo = event.userInfo ?? [:]
        // Not in the place of something that code without types may look for.
        if userInfo["event"] == nil { userInfo["event"] = event }
        post(name: Self.name(of: event), object: object, userInfo: userInfo)
    }

    /// The name of the event's dynamic type.
    ///
    /// Not inlined, so that the type is looked up at run time. Where the optimizer knows only a superclass, it would take
    /// the superclass's name for all of its subclasses.
    @inline(never)
    private static func name(of event: Any) -> Notification.Name {
        (type(of: event) as! any BridgedEvent.Type).notificationName
    }

    /// The events of one type, posted with this library or by code that knows only their name.
    ///
    /// A notification that has the name but another form is skipped.
    ///
    /// ```swift
    /// center.observers(of: ThemeChanged.self).add(self) { window, event in window.isDark = event.isDark }
    /// ```
    ///
    /// Observers are called in the order in which they were added, and not after they have been removed: each name has
    /// one registration with the center, and a set behind it. There is no order between them and observers that other
    /// code has registered with the center. Foundation does not pass on which actor a notification is posted: an
    /// observer on the main actor is called in place if the post is made there, one on another actor later, in order.
    /// `settled()` waits for all observers of that name, but not for calls in progress when the last of them has been removed.
    ///
    /// - Parameters:
    ///   - type: The type of the events.
    ///   - object: The only sender whose events are received, held weakly; nil for any. When it has been released,
    ///     nothing is received any more, even if another object has its address; the observer stays registered until
    ///     its owner or its token ends it.
    /// - Returns: A source that does not keep the center alive. When the center is released, so are the observers.
    /// - Complexity: Adding is amortised O(1).
    public func observers<E: BridgedEvent>(of type: E.Type, object: AnyObject? = nil) -> some NotificationSource<E> {
        DerivedSource(self, E.notificationName, object) { notification in
            E.carried(by: notification) ?? E(notification)
        }
    }

    /// Values made from the notifications with a name that other code defines.
    ///
    /// ```swift
    /// center.observers(named: .downloadDidFinish) { $0.userInfo?["url"] as? URL }.add(list) { list, url in list.insert(url) }
    /// ```
    ///
    /// See `observers(of:object:)` for order, threads and lifetimes.
    ///
    /// - Parameters:
    ///   - name: The notifications' name.
    ///   - object: The only sender whose notifications are received, held weakly; nil for any.
    ///   - transform: Makes the value that observers receive, or nil if they are not to be called. Called on the
    ///     posting thread, once for each observer.
    /// - Returns: A source that does not keep the center alive.
    /// - Complexity: Adding is amortised O(1).
    public func observers<Parameters: Sendable>(
        named name: Notification.Name, object: AnyObject? = nil,
        as transform: @escaping @Sendable (Notification) -> Parameters?
    ) -> some NotificationSource<Parameters> {
        DerivedSource(self, name, object, transform)
    }

    /// The notifications with a name that other code defines, without their contents.
    ///
    /// ```swift
    /// center.observers(named: UserDefaults.didChangeNotification).add(panel) { panel in panel.reload() }
    /// ```
    ///
    /// See `observers(of:object:)` for order, threads and lifetimes.
    ///
    /// - Parameters:
    ///   - name: The notifications' name.
    ///   - object: The only sender whose notifications are received, held weakly; nil for any.
    /// - Returns: A source that does not keep the center alive.
    /// - Complexity: Adding is amortised O(1).
    public func observers(
        named name: Notification.Name, object: AnyObject? = nil
    ) -> some NotificationSource<Void> {
        DerivedSource(self, name, object) { _ in () }
    }
}

extension DerivedSource {
    /// A center's notifications with one name, and of one sender if there is one.
    fileprivate init(
        _ center: NotificationCenter, _ name: Notification.Name, _ object: AnyObject?,
        _ transform: @escaping @Sendable (Notification) -> Parameters?
    ) {
        // Used only to compare identities, and never held alone: the sender need not be `Sendable`, and must not be
        // deallocated on the posting thread because of this.
        nonisolated(unsafe) weak let sender = object
        let identity = object.map { ObjectIdentifier($0) }
        // A sender that has been released matches nothing, even if another object has its address. If it is alive when it
        // is loaded here, it is the poster, which the notification holds.
        let matches = { @Sendable (poster: Any?) in
            unsafe identity == nil || poster.map { ObjectIdentifier($0 as AnyObject) } == identity && sender != nil
        }
        let channel = { @Sendable [weak center] in center.flatMap { NotificationChannel.existing(name, of: $0) } }
        self.init(
            register: { [weak center] observer in
                // The center is gone. A combination of no tokens is inactive.
                guard let center else { return ObserverToken([]) }
                // Until the observer is registered: a center that ends before that would not remove it.
                return withExtendedLifetime(center) {
                    let channel = NotificationChannel.named(name, of: center)
                    return channel.posts.register(
                        observer.adapted { (post: NotificationChannel.Post) in
                            // The observer's closure holds its channel: see `NotificationChannel`.
                            withExtendedLifetime(channel) {
                                matches(post.notification.object) ? transform(post.notification) : nil
                            }
                        })
                }
            },
            // Awaited without the channel, which must be able to end with its last observer or its center.
            settled: { await channel()?.posts.beginSettledWait().wait() },
            // All observers of the name, since those of other senders are in the same channel.
            description: { "\(name.rawValue): \(channel()?.posts.debugDescription ?? "not observed")" })
    }
}
#endif
