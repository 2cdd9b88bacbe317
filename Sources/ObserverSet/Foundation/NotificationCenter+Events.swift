#if NotificationCenter
public import Foundation

extension NotificationCenter {
    /// Posts an event as a notification, with the event's name and `userInfo`.
    ///
    /// Foundation's own observers are called before this method returns. This library's observers are called as if a
    /// set were notified in code without isolation: in place if they belong to no actor, or if they belong to the main
    /// actor and you post on it, and later otherwise. You may call this method on any thread, and from inside an
    /// observer.
    ///
    /// Observers of the event's type receive the event itself, because this method adds it to `userInfo` under the key
    /// `"event"`, unless your `userInfo` has something else there.
    ///
    /// If the event is an object, it is posted with the name of its own class, even if the compiler knows only a
    /// superclass.
    ///
    /// - Parameters:
    ///   - event: The event that the observers receive.
    ///   - object: The sender. Observers that asked for one sender's events are called only if it is this object.
    /// - Complexity: O(*n*) in the number of observers of the name, whichever sender they ask for.
    public func post(_ event: some BridgedEvent, object: AnyObject? = nil) {
        var userInfo = event.userInfo ?? [:]
        // Anything else under this key stays, because code that doesn't know the type may look for it.
        if userInfo["event"] == nil { userInfo["event"] = event }
        post(name: Self.name(of: event), object: object, userInfo: userInfo)
    }

    /// The name of the event's dynamic type.
    ///
    /// It is not inlined, so that the type is looked up at run time. Otherwise, where the optimizer knows only a
    /// superclass, it would use the superclass's name for all of its subclasses.
    @inline(never)
    private static func name(of event: Any) -> Notification.Name {
        (type(of: event) as! any BridgedEvent.Type).notificationName
    }

    /// Returns the source of one type of events, whether they are posted with this library or by code that knows only
    /// their name.
    ///
    /// A notification that has the name, but from which no event can be made, is skipped.
    ///
    /// ```swift
    /// center.observers(of: ThemeChanged.self).add(self) { window, event in window.isDark = event.isDark }
    /// ```
    ///
    /// For each name, the library has one registration with the center, and a set behind it. So observers of a name are
    /// called in the order they were added, and are not called after they have been removed. Observers that other code
    /// has registered with the center may be called before or after them. If such an observer adds one of these during
    /// a post, Foundation's order decides whether that post already calls it.
    ///
    /// Each name has its own observers. If an owner is deallocated, its closure is released by the next post that would
    /// call it in place. If it runs elsewhere, that is the post after the next one. A post by another sender than
    /// `object` doesn't count, nor does one from which no value can be made. Many more observers of that name release
    /// it, too. If no such post may come, store the token in a bag that the owner holds.
    ///
    /// Foundation doesn't tell the library on which actor a notification is posted. So an observer on the main actor is
    /// called in place if you post there, but an observer on another actor is always called later, in order.
    ///
    /// `settled()` waits for all observers of the name. But once the last of them has been removed, it doesn't wait for
    /// calls that are still in progress.
    ///
    /// - Parameters:
    ///   - type: The type of the events.
    ///   - object: The only sender whose events are received, or nil for any sender. It is held weakly. Once its
    ///     `deinit` has begun, the observer receives nothing, even if another object gets the same address. The
    ///     observer stays registered until its owner or its token ends the registration, and a stream goes on.
    /// - Returns: A source that doesn't keep the center alive. When the center is deallocated, the observers are
    ///   released.
    /// - Complexity: Adding is amortised O(1).
    public func observers<E: BridgedEvent>(of type: E.Type, object: AnyObject? = nil) -> some NotificationSource<E> {
        DerivedSource(self, E.notificationName, object) { notification in
            E.carried(by: notification) ?? E(notification)
        }
    }

    /// Returns a source of values that you make from the notifications with a name that other code defines.
    ///
    /// ```swift
    /// center.observers(named: .downloadDidFinish) { $0.userInfo?["url"] as? URL }
    ///     .add(list) { list, url in list.insert(url) }
    /// ```
    ///
    /// Order, threads and lifetimes are those of `observers(of:object:)`.
    ///
    /// - Parameters:
    ///   - name: The notifications' name.
    ///   - object: The only sender whose notifications are received, or nil for any sender. It is held weakly.
    ///   - transform: Makes the value that observers receive, or returns nil if they should not be called. It runs on
    ///     the posting thread, once for each observer.
    /// - Returns: A source that doesn't keep the center alive.
    /// - Complexity: Adding is amortised O(1).
    public func observers<Parameters: Sendable>(
        named name: Notification.Name, object: AnyObject? = nil,
        as transform: @escaping @Sendable (Notification) -> Parameters?
    ) -> some NotificationSource<Parameters> {
        DerivedSource(self, name, object, transform)
    }

    /// Returns a source of the notifications with a name that other code defines, without their contents.
    ///
    /// ```swift
    /// center.observers(named: UserDefaults.didChangeNotification).add(panel) { panel in panel.reload() }
    /// ```
    ///
    /// Order, threads and lifetimes are those of `observers(of:object:)`.
    ///
    /// - Parameters:
    ///   - name: The notifications' name.
    ///   - object: The only sender whose notifications are received, or nil for any sender. It is held weakly.
    /// - Returns: A source that doesn't keep the center alive.
    /// - Complexity: Adding is amortised O(1).
    public func observers(
        named name: Notification.Name, object: AnyObject? = nil
    ) -> some NotificationSource<Void> {
        DerivedSource(self, name, object) { _ in () }
    }
}

extension DerivedSource {
    /// Creates a source of a center's notifications with one name, from the given sender or, if it is nil, from any.
    fileprivate init(
        _ center: NotificationCenter, _ name: Notification.Name, _ object: AnyObject?,
        _ transform: @escaping @Sendable (Notification) -> Parameters?
    ) {
        // The sender need not be `Sendable`, so it must never be used or deallocated on the posting thread because of
        // this source. That can't happen: only its identity is compared, and only while the post holds it.
        nonisolated(unsafe) weak let sender = object
        let identity = object.map { ObjectIdentifier($0) }
        // A sender that has been deallocated matches nothing, even if another object has its address. It is loaded only
        // if the poster has its address. If it is alive then, it is the poster, which the post holds.
        let matches = { @Sendable (poster: AnyObject?) in
            unsafe identity == nil || poster.map(ObjectIdentifier.init) == identity && sender != nil
        }
        let channel = { @Sendable [weak center] in center.flatMap { NotificationChannel.existing(name, of: $0) } }
        self.init(
            register: { [weak center] observer in
                // If the center is gone, return an inactive token: one made of no tokens.
                guard let center else { return ObserverToken([]) }
                // The center is held until the observer is registered. If it were deallocated before that, nothing
                // would end the registration.
                return withExtendedLifetime(center) {
                    let channel = NotificationChannel.named(name, of: center)
                    if identity != nil { channel.noteSender() }
                    return channel.posts.register(
                        observer.adapted { (post: NotificationChannel.Post) in
                            // This closure is what keeps the channel alive: see `NotificationChannel`.
                            withExtendedLifetime(channel) {
                                matches(post.sender) ? transform(post.notification) : nil
                            }
                        })
                }
            },
            // The channel isn't retained while this awaits, so that it can be deallocated together with its last
            // observer or its center.
            settled: { await channel()?.posts.beginSettledWait().wait() },
            // This describes all observers of the name, because a channel doesn't separate them by sender.
            description: { "\(name.rawValue): \(channel()?.posts.debugDescription ?? "not observed")" })
    }
}
#endif
