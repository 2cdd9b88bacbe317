/// What a registration has beyond a function: an owner, a place to run, a mailbox.
///
/// This part knows no parameters.
@usableFromInline
class AnyEntry: @unchecked Sendable {
    /// The owner, loaded, if there is one and it lives.
    ///
    /// Never under the lock.
    var owner: AnyObject? { nil }
    /// The static type of the owner; nil if the registration has none.
    var ownerType: Any.Type? { nil }
    /// Where the observer runs, for descriptions; nil if on the notifying thread.
    var placeDescription: String? { nil }
    /// Where values wait that were notified from elsewhere; nil if there never were any.
    var mailbox: AnyMailbox? { nil }
    /// How many values were dropped for want of room.
    var droppedCount: Int { 0 }
    /// Whether it is an `IsolatedClosure`.
    var isIsolatedClosure: Bool { false }
    /// Where its object is or was, if it is a `WeakEntry`.
    var address: ObjectIdentifier? { nil }
    /// Whether it is that object's.
    ///
    /// Never under the lock.
    func isOf(_ object: AnyObject) -> Bool { false }
    /// Calls the observer, where it runs, with a value that has waited in its mailbox.
    func deliverEnqueued(_ value: any Sendable) { fatalError("nothing is enqueued for it") }
    /// The registration has been removed: what is still enqueued is to be dropped.
    ///
    /// Under the lock.
    func end() {}
    /// Whether the observer is one that awaits, and `cancel()` has to follow when the lock is free.
    var isAwaited: Bool { false }
    /// Drops what is enqueued, and cancels the call that is under way.
    func cancel() {}
    /// The entry for a registration of its own: this one, or another of the same type with the same mailbox.
    func claimed() -> AnyEntry { self }

    /// Whether the observer may still be called: it has no owner, or a living one.
    ///
    /// Never under the lock.
    final var isAlive: Bool {
        CallOut.assertNoLockIsHeld()
        return ownerType == nil || owner != nil
    }

    /// Whether that can change.
    var mayDie: Bool { ownerType != nil }
    /// Whether it is to be removed by who looks for such.
    ///
    /// Never under the lock.
    var isDead: Bool { !isAlive }
}

/// The part that knows the parameters.
@usableFromInline
class Entry<Parameters>: AnyEntry, @unchecked Sendable {
    /// Calls the observer, or enqueues the call.
    ///
    /// `here` identifies the notifier's actor; zero if it has none.
    ///
    /// Returns false if the owner is dead, so that the notification can have the entry removed.
    func deliver(_ parameters: Parameters, from here: UInt) -> Bool { fatalError("abstract") }
}

/// An observer with a weakly held owner, which is called on the notifying thread.
///
/// It asks for nothing that is `Sendable`, since local sets have such observers too; whoever makes one does.
@usableFromInline
final class OwnedEntry<Owner: AnyObject, Parameters>: Entry<Parameters>, @unchecked Sendable {
    private weak let weakOwner: Owner?
    private let call: (Owner, Parameters) -> Void

    @usableFromInline
    init(_ owner: Owner, _ call: @escaping (Owner, Parameters) -> Void) {
        self.weakOwner = owner
        self.call = call
    }

    override func deliver(_ parameters: Parameters, from here: UInt) -> Bool {
        guard let owner = weakOwner else { return false }
        call(owner, parameters)
        return true
    }

    override var owner: AnyObject? { weakOwner }
    override var ownerType: Any.Type? { Owner.self }
}
