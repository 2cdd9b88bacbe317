/// What a notification calls with its value: a function, its owner, and the place where it runs.
///
/// This class has the part of a target that doesn't depend on the type of the parameters. In this and the other
/// subclasses of `Registration`, *the observer* is the innermost target (see `Registration.innermost`).
@usableFromInline
package class AnyTarget: Registration, @unchecked Sendable {
    /// The owner, or nil if the target has none or the owner has been deallocated.
    ///
    /// Never read this property under the lock.
    var owner: AnyObject? { nil }
    /// The words for descriptions that say where the observer runs, and, for one of its registrations, whether it is in
    /// a call, and how many values are pending or were dropped.
    func placeDescription(of registration: Registration) -> String {
        guard let mailbox else { return "nonisolated" }
        let (pending, dropped) = registration.counts
        return "on " + mailbox.description
            + Mailbox.describe(isInCall: isBeingCalled(for: registration), pending: pending, dropped: dropped)
    }
    /// The mailbox for values that cannot be delivered at once; nil if the observer needs no mailbox.
    var mailbox: Mailbox? { nil }
    /// Tells the notifier if the owner is dead, as far as is known; called when `transform` has held back the value.
    ///
    /// A call loads the owner only where the observer runs, because whoever loads the owner may hold the last reference
    /// to it, and then its `deinit` runs there. Elsewhere, the owner counts as alive until a call has found that it is
    /// dead. A search for dead owners is different: it loads all owners on the thread that searches.
    func checkOwner(for registration: Registration, reportingTo notifier: inout Notifier) {
        registration.reportOwnerIfKnownDead(to: &notifier)
    }
    /// Whether the observer awaits (`addAsync`).
    ///
    /// If so, whoever removes one of its registrations must call `cancel` after unlocking.
    final var isAwaited: Bool { traits & Self.isAwaited != 0 }
    /// If the observer awaits, drops the values of its removed registrations, and cancels the call in progress if that
    /// is this registration's.
    func cancel(_ registration: Registration) {}
    /// Whether the observer is being called with a value from the mailbox, or caught up with; if it awaits, with a
    /// value for this registration.
    func isBeingCalled(for registration: Registration) -> Bool { fatalError("abstract") }
    /// Calls the observer with a value from the mailbox.
    func deliver(_ value: any Sendable, for registration: Registration) { fatalError("abstract") }
    /// The same for an observer that awaits; returns when the call has returned.
    ///
    /// It runs on the observer's actor, so that the owner is loaded there. If the call turns out to hold the last
    /// reference to the owner, the owner's `deinit` runs there, too.
    func deliver(_ value: any Sendable, for registration: Registration, on actor: isolated (any Actor)?) async {
        fatalError("abstract")
    }

    /// Whether the observer has an owner that has been deallocated.
    ///
    /// Never call this under the lock.
    final var isOrphaned: Bool {
        LockCheck.assertNoLockIsHeld()
        return traits & Self.hasOwner != 0 && owner == nil
    }

    /// The name of the owner's class for descriptions, or "closure" if there is no owner; nil if the owner is dead.
    ///
    /// Never call this under the lock.
    var ownerDescription: String? {
        LockCheck.assertNoLockIsHeld()
        return traits & Self.hasOwner == 0 ? "closure" : owner.map { "\(type(of: $0))" }
    }

    /// The flags that describe the target in the tags of its registrations.
    var traits: UInt { 0 }
    /// Whether a search for dead owners and objects should remove the target's registrations.
    ///
    /// Never call this under the lock.
    var shouldBeSwept: Bool { isOrphaned }
}

/// The part of a target that depends on the type of the parameters.
@usableFromInline
class Target<Parameters>: AnyTarget, @unchecked Sendable {
    /// Calls the observer for one of its registrations, or enqueues the value.
    ///
    /// The caller has just seen that the registration hasn't ended. If it ends meanwhile, the observer may still be
    /// called in place, but a value that must be enqueued is dropped.
    ///
    /// If the owner turns out to be dead, this sets `notifier.metDead`, and the notification tries to remove the
    /// registrations of dead owners when it ends.
    func send(_ value: Parameters, for registration: Registration, by notifier: inout Notifier) {
        fatalError("abstract")
    }

    /// Passes the gates of a registration, if it has any; false if another call, or a removal, came first at one of
    /// them.
    ///
    /// Nothing else asks here whether the registration has been removed. The caller of `send` has asked that, and
    /// `deliver` asks it before this call.
    @inline(__always)
    final func takeCall(for registration: Registration) -> Bool { registration === self || registration.passGates() }

    /// Converts a value that `send` has posted back to the type of the parameters.
    ///
    /// The slow cast can't fail. It is needed only if the type of the parameters is an existential: the mailbox then
    /// contains the value that was inside it. A value of any other type is in the mailbox as it was sent.
    final func unboxed<Value>(_ value: Value) -> Parameters {
        Value.self == Parameters.self ? unsafe unsafeBitCast(value, to: Parameters.self) : value as! Parameters
    }
}

/// The target of a plain function that is called only once, on the notifying thread.
///
/// Any other plain function needs no target, because a slot stores it directly.
@usableFromInline
final class OnceFunction<Parameters>: Target<Parameters>, @unchecked Sendable {
    private let function: (Parameters) -> Void

    @usableFromInline
    init(_ function: @escaping (Parameters) -> Void) { self.function = function }

    override func send(_ value: Parameters, for registration: Registration, by notifier: inout Notifier) {
        if takeCall(for: registration) { function(value) }
    }
}

/// A target that is called on the notifying thread with its owner, which it holds weakly.
///
/// The types of the owner and the parameters need not be `Sendable`, because local sets use this class, too. Other sets
/// require `Sendable` where they create such a target.
@usableFromInline
final class OwnedTarget<Parameters>: Target<Parameters>, @unchecked Sendable {
    private weak let weakOwner: AnyObject?
    private let function: (AnyObject, Parameters) -> Void

    // The owner is borrowed, because retaining an object that has weak references takes several times as long as
    // retaining another object.
    @usableFromInline
    init(_ owner: borrowing AnyObject, _ function: @escaping (AnyObject, Parameters) -> Void) {
        weakOwner = copy owner
        self.function = function
    }

    override func send(_ value: Parameters, for registration: Registration, by notifier: inout Notifier) {
        guard takeCall(for: registration) else { return }
        guard let owner = weakOwner else { return notifier.metDead = true }
        function(owner, value)
    }

    override func checkOwner(for registration: Registration, reportingTo notifier: inout Notifier) {
        if weakOwner == nil { notifier.metDead = true }
    }
    override var owner: AnyObject? { weakOwner }
    override var traits: UInt { Self.hasOwner }
}
