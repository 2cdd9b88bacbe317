/// A registration that is more than a function: it has an owner, a place to run, or a mailbox.
///
/// This part does not know the type of the parameters.
@usableFromInline
class AnyEntry: Recipient, @unchecked Sendable {
    /// The entry of the observer itself, if this one wraps it: it answers what this one does not.
    var base: AnyEntry? { nil }
    /// The owner, if there is one and it is alive.
    ///
    /// Never loaded under the lock.
    var owner: AnyObject? { base?.owner }
    /// The static type of the owner; nil if the registration has none.
    var ownerType: Any.Type? { base?.ownerType }
    /// Where the observer runs, and what waits for it there, for descriptions.
    var placeDescription: String { base?.placeDescription ?? "nonisolated" }
    /// The mailbox for values that cannot be delivered at once; nil if it needs none.
    var mailbox: Mailbox? { base?.mailbox }
    /// How many values wait for this registration in a mailbox, and how many were dropped because there was no room for them.
    var counts: (waiting: Int, dropped: Int) { base?.counts ?? (0, 0) }
    /// The entry whose values wait in the mailbox.
    var posted: AnyEntry? { self }
    /// What a slot has in the place of a function's code: `entryTag`, or `closureTag` for an `IsolatedClosure`.
    ///
    /// No function is at these addresses; nor is one at a low one, except on WebAssembly, where functions are numbered from 1.
    var tag: UInt { Self.entryTag }
    static var entryTag: UInt { .max }
    static var closureTag: UInt { .max - 1 }
    /// The address of its object, which may be dead, if it is a `WeakEntry`.
    var address: ObjectIdentifier? { nil }
    /// For a value that a filter holds back: false if the owner is known to be dead.
    ///
    /// A notification loads an observer's owner only where the observer runs, since the owner may be deallocated there;
    /// elsewhere it counts as alive until a call has found that it is dead.
    func isKnownAlive(by context: inout NotifyContext) -> Bool { base?.isKnownAlive(by: &context) ?? true }
    /// Asked just before a call, where the observer runs: whether it may be called.
    ///
    /// If it is called once, this was its call.
    func passGates() -> Bool { true }
    /// Notes that the registration has been removed, or is about to be, so that values still enqueued are skipped when their
    /// turn comes.
    ///
    /// Also called under the lock.
    func end() { base?.end() }
    /// Whether the observer is awaited (`addAsync`), so that `cancel()` has to follow after unlocking.
    var isAwaited: Bool { base?.isAwaited ?? false }
    /// Drops what is enqueued, and cancels the call that is under way, if it is awaited.
    func cancel() { base?.cancel() }

    /// Whether the observer may still be called: it has no owner, or a living one.
    ///
    /// Never called under the lock.
    final var isAlive: Bool {
        LockCheck.assertNoLockIsHeld()
        return ownerType == nil || owner != nil
    }

    /// The owner's class, for descriptions; nil if the owner is dead.
    ///
    /// Never called under the lock.
    var ownerDescription: String? {
        LockCheck.assertNoLockIsHeld()
        return ownerType == nil ? "closure" : owner.map { "\(type(of: $0))" }
    }

    /// Whether it has an owner or object that may die.
    var mayDie: Bool { ownerType != nil }
    /// Whether a search for dead owners and objects should remove it.
    ///
    /// Never called under the lock.
    var isDead: Bool { !isAlive }
}

/// The part that knows the type of the parameters.
@usableFromInline
class Entry<Parameters>: AnyEntry, @unchecked Sendable {
    /// Calls the observer, or enqueues the call.
    ///
    /// Returns false if the owner is dead, so that the notification can have the entry removed.
    func deliver(_ parameters: Parameters, by context: inout NotifyContext) -> Bool { fatalError("abstract") }

    /// An entry for one more registration of the observer, which is called once if there are gates.
    ///
    /// This one until a registration has claimed it, then others for which the observer has one order, too.
    func forRegistration(_ gates: [OnceGate]) -> Entry {
        gates.isEmpty ? self : OnceEntry(gates, nil, self)
    }

    /// Claims the entry for a registration; false if another one has it already.
    func claim() -> Bool { true }

    /// A value that `deliver` has posted, with its own type again.
    ///
    /// The cast cannot fail. It is slow, and needed only if the parameters are an existential themselves: a mailbox's
    /// contains what is in that one, and a value of any other type as it is.
    final func unboxed<Value>(_ value: Value) -> Parameters {
        Value.self == Parameters.self ? unsafe unsafeBitCast(value, to: Parameters.self) : value as! Parameters
    }
}

/// An entry whose values may wait in a mailbox, and which therefore keeps the state of its registration.
@usableFromInline
class WaitingEntry<Parameters: Sendable>: Entry<Parameters>, @unchecked Sendable {
    final let status = RegistrationStatus()

    override final func claim() -> Bool { status.claim() }
    override func isKnownAlive(by context: inout NotifyContext) -> Bool { !status.isOwnerKnownDead }
    override var counts: (waiting: Int, dropped: Int) { (status.waiting, 0) }
    override final func end() { status.end() }
}

/// An observer with a weakly held owner, which is called on the notifying thread.
///
/// Its types need not be `Sendable`, since local sets have such observers, too; other sets require it where they make
/// one.
@usableFromInline
final class OwnedEntry<Owner: AnyObject, Parameters>: Entry<Parameters>, @unchecked Sendable {
    private weak let weakOwner: Owner?
    private let call: (Owner, Parameters) -> Void

    // The owner is borrowed: to retain an object that has weak references takes several times as long as any other.
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
