/// What is called with values: a function, with its owner and the place where it runs.
///
/// This class is the part that does not depend on the type of the parameters.
@usableFromInline
class AnyTarget: Registration, @unchecked Sendable {
    /// The owner, or nil if the target has none or the owner has been deallocated.
    ///
    /// Never read this property under the lock.
    var owner: AnyObject? { nil }
    /// Where the observer runs, and how many values are pending for a registration of it, as descriptions show it.
    func placeDescription(of registration: Registration) -> String { "nonisolated" }
    /// The mailbox for values that cannot be delivered at once; nil if the observer needs no mailbox.
    var mailbox: Mailbox? { nil }
    /// Called when a filter holds back a value: whether the owner is known to be dead.
    ///
    /// A notification loads an observer's owner only where the observer runs, because loading it may deallocate it
    /// there. Elsewhere, the owner counts as alive until a call has found that it is dead.
    func checkOwner(for registration: Registration, by notifier: inout Notifier) -> OwnerCheck {
        registration.ownerCheck
    }
    /// Whether the observer awaits (`addAsync`); if so, `cancel` must be called after unlocking when a registration has been
    /// removed.
    final var isAwaited: Bool { traits & Self.isAwaited != 0 }
    /// Drops the values that are pending for a registration, and cancels its call in progress, if the observer awaits.
    func cancel(_ registration: Registration) {}
    /// Whether the observer is being called with a value from the mailbox; only an `ActorMailbox` asks.
    var isBeingCalled: Bool { fatalError("abstract") }
    /// Takes a value from the mailbox whose turn has come, and calls the observer with it.
    func receive(_ value: any Sendable, for registration: Registration) { fatalError("abstract") }
    /// The same for an observer that awaits.
    ///
    /// It runs on the observer's actor, so that the owner is loaded there, and its `deinit` cannot run elsewhere.
    func receive(_ value: any Sendable, for registration: Registration, on actor: isolated (any Actor)?) async {
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
    /// Calls the observer for one of its registrations, or enqueues the call.
    ///
    /// If the result says that the owner is dead, the notification has the registration removed.
    func send(_ value: Parameters, for registration: Registration, by notifier: inout Notifier) -> OwnerCheck {
        fatalError("abstract")
    }

    /// Whether a call may be made for a registration; if the observer is called once, asking uses up that call.
    @inline(__always)
    final func takeCall(for registration: Registration) -> Bool { registration === self || registration.passGates() }

    /// Converts a value that `send` has posted back to the type of the parameters.
    ///
    /// The slow cast is needed only if the parameters are themselves an existential: the mailbox then contains the
    /// value inside it. It contains a value of any other type as it is. The cast cannot fail.
    final func unboxed<Value>(_ value: Value) -> Parameters {
        Value.self == Parameters.self ? unsafe unsafeBitCast(value, to: Parameters.self) : value as! Parameters
    }
}

/// A function that is called once, on the notifying thread; for any other function a slot needs no target.
@usableFromInline
final class OnceFunction<Parameters>: Target<Parameters>, @unchecked Sendable {
    private let function: (Parameters) -> Void

    @usableFromInline
    init(_ function: @escaping (Parameters) -> Void) { self.function = function }

    override func send(_ value: Parameters, for registration: Registration, by notifier: inout Notifier) -> OwnerCheck {
        if takeCall(for: registration) { function(value) }
        return .passed
    }
}

/// A target that has a weakly held owner and is called on the notifying thread.
///
/// The types of the owner and the parameters need not be `Sendable`, because local sets use this class, too. Other sets
/// require `Sendable` where they create such a target.
@usableFromInline
final class OwnedTarget<Owner: AnyObject, Parameters>: Target<Parameters>, @unchecked Sendable {
    private weak let weakOwner: Owner?
    private let function: (Owner, Parameters) -> Void

    // The owner is borrowed, because retaining an object with weak references takes several times as long as retaining
    // another.
    @usableFromInline
    init(_ owner: borrowing Owner, _ function: @escaping (Owner, Parameters) -> Void) {
        weakOwner = copy owner
        self.function = function
    }

    override func send(_ value: Parameters, for registration: Registration, by notifier: inout Notifier) -> OwnerCheck {
        guard takeCall(for: registration) else { return .passed }
        guard let owner = weakOwner else { return .foundDead }
        function(owner, value)
        return .passed
    }

    override func checkOwner(for registration: Registration, by notifier: inout Notifier) -> OwnerCheck {
        weakOwner == nil ? .foundDead : .passed
    }
    override var owner: AnyObject? { weakOwner }
    override var traits: UInt { Self.hasOwner }
}
