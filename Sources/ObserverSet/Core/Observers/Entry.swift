/// A registration that has more than a function: an owner, an actor or queue to run on, or a mailbox.
///
/// This class is the part that does not depend on the type of the parameters.
@usableFromInline
class AnyEntry: Recipient, @unchecked Sendable {
    /// The observer's own entry, if this entry wraps it; it provides every property that this entry does not override.
    var base: AnyEntry? { nil }
    /// The owner, or nil if the registration has none or the owner has been deallocated.
    ///
    /// Never read this property under the lock.
    var owner: AnyObject? { base?.owner }
    /// The static type of the owner; nil if the registration has none.
    var ownerType: Any.Type? { base?.ownerType }
    /// Where the observer runs, and how many values are pending for it, as descriptions show it.
    var placeDescription: String { base?.placeDescription ?? "nonisolated" }
    /// The mailbox for values that cannot be delivered at once; nil if the observer needs no mailbox.
    var mailbox: Mailbox? { base?.mailbox }
    /// How many values are pending for this registration, and how many were dropped because `buffering:` left no room.
    var counts: (waiting: Int, dropped: Int) { base?.counts ?? (0, 0) }
    /// The entry that the mailbox calls with this registration's values.
    var posted: AnyEntry? { self }
    /// The number that a slot stores instead of the address of a function's code: `entryTag`, or `closureTag` for an
    /// `IsolatedClosure`.
    ///
    /// No function is at these two addresses. Low addresses would not do on WebAssembly, where functions are numbered
    /// from 1.
    var tag: UInt { Self.entryTag }
    static var entryTag: UInt { .max }
    static var closureTag: UInt { .max - 1 }
    /// The address of the object of a `WeakEntry`, even if the object has been deallocated; nil for other entries.
    var address: ObjectIdentifier? { nil }
    /// Returns false if the owner is known to be dead; called when a filter holds back a value.
    ///
    /// A notification loads an observer's owner only where the observer runs, because loading it may deallocate it
    /// there. Elsewhere, the owner counts as alive until a call has found that it is dead.
    func isKnownAlive(by context: inout NotifyContext) -> Bool { base?.isKnownAlive(by: &context) ?? true }
    /// Returns whether the observer may be called; asked where the observer runs, just before the call.
    ///
    /// If the observer was added with `once`, asking uses up its one call.
    func passGates() -> Bool { true }
    /// Records that the registration has been removed, or is about to be, so that values that are still enqueued are
    /// skipped when their turn comes.
    ///
    /// This may be called under the lock.
    func end() { base?.end() }
    /// Whether the observer awaits (`addAsync`); if so, `cancel()` must be called after unlocking.
    var isAwaited: Bool { base?.isAwaited ?? false }
    /// Drops the enqueued values and cancels the call in progress, if the observer awaits.
    func cancel() { base?.cancel() }

    /// Whether the observer has no owner, or an owner that is alive.
    ///
    /// Never call this under the lock.
    final var isAlive: Bool {
        LockCheck.assertNoLockIsHeld()
        return ownerType == nil || owner != nil
    }

    /// The name of the owner's class for descriptions, or "closure" if there is no owner; nil if the owner is dead.
    ///
    /// Never call this under the lock.
    var ownerDescription: String? {
        LockCheck.assertNoLockIsHeld()
        return ownerType == nil ? "closure" : owner.map { "\(type(of: $0))" }
    }

    /// Whether the entry has an owner or object that may be deallocated before the registration ends.
    var mayDie: Bool { ownerType != nil }
    /// Whether a search for dead owners and objects should remove this entry.
    ///
    /// Never call this under the lock.
    var isDead: Bool { !isAlive }
}

/// The part of a registration that depends on the type of the parameters.
@usableFromInline
class Entry<Parameters>: AnyEntry, @unchecked Sendable {
    /// Calls the observer, or enqueues the call.
    ///
    /// Returns false if the owner is dead; the notification then has the entry removed.
    func deliver(_ parameters: Parameters, by context: inout NotifyContext) -> Bool { fatalError("abstract") }

    /// Returns an entry for one more registration of the observer; if there are gates, the entry is called once.
    ///
    /// The first registration claims this entry itself. Later ones get entries of their own, which share the observer's
    /// order.
    func forRegistration(_ gates: [OnceGate]) -> Entry {
        gates.isEmpty ? self : OnceEntry(gates, nil, self)
    }

    /// Claims the entry for a registration; returns false if another registration has already claimed it.
    func claim() -> Bool { true }

    /// Converts a value that `deliver` has posted back to the type of the parameters.
    ///
    /// The slow cast is needed only if the parameters are themselves an existential: the mailbox then contains the
    /// value inside it. It contains a value of any other type as it is. The cast cannot fail.
    final func unboxed<Value>(_ value: Value) -> Parameters {
        Value.self == Parameters.self ? unsafe unsafeBitCast(value, to: Parameters.self) : value as! Parameters
    }
}

/// An entry whose values may be pending in a mailbox, and which therefore keeps the state of its registration.
@usableFromInline
class WaitingEntry<Parameters: Sendable>: Entry<Parameters>, @unchecked Sendable {
    final let status = RegistrationStatus()

    override final func claim() -> Bool { status.claim() }
    override func isKnownAlive(by context: inout NotifyContext) -> Bool { !status.isOwnerKnownDead }
    override var counts: (waiting: Int, dropped: Int) { (status.waiting, 0) }
    override final func end() { status.end() }
}

/// An observer that has a weakly held owner and is called on the notifying thread.
///
/// The types of the owner and the parameters need not be `Sendable`, because local sets use this class, too. Other sets
/// require `Sendable` where they create such an entry.
@usableFromInline
final class OwnedEntry<Owner: AnyObject, Parameters>: Entry<Parameters>, @unchecked Sendable {
    private weak let weakOwner: Owner?
    private let call: (Owner, Parameters) -> Void

    // The owner is borrowed, because retaining an object with weak references takes several times as long as retaining
    // another.
    @usableFromInline
    init(_ owner: borrowing Owner, _ call: @escaping (Owner, Parameters) -> Void) {
        weakOwner = copy owner
        self.call = call
    }

    override func deliver(_ parameters: Parameters, by context: inout NotifyContext) -> Bool {
        guard let owner = weakOwner else { return false }
        call(owner, parameters)
        return true
    }

    override func isKnownAlive(by context: inout NotifyContext) -> Bool { weakOwner != nil }
    override var owner: AnyObject? { weakOwner }
    override var ownerType: Any.Type? { Owner.self }
}
