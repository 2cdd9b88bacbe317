/// Receives a value from a mailbox: a registration of an observer, or a caller of `settled()` that waits for the values
/// in front of it.
@usableFromInline
package class Recipient: @unchecked Sendable {
    /// The registration's state, which lives as long as this object; nil if there is none.
    ///
    /// Several registrations may share a state: see `FurtherRegistration`.
    var state: UnsafePointer<RegistrationState>? { nil }
    /// Whether this is one of the registrations of `observer`, which is the innermost target.
    ///
    /// They share one order, so a catch-up takes out the values of all of them.
    func isFor(_ observer: Recipient) -> Bool { false }
    /// Whether the observer is being called with a value from the mailbox, or caught up with.
    var isInCall: Bool { fatalError("abstract") }
    /// Receives a value whose turn has come.
    func receive(_ value: any Sendable) { fatalError("abstract") }

    // MARK: Observers that await

    /// Receives a value whose turn has come, and returns when the observer's call with it has returned.
    ///
    /// It runs on the observer's actor, so that the owner is loaded there, and its `deinit` cannot run elsewhere.
    func receive(_ value: any Sendable, on actor: isolated (any Actor)?) async { fatalError("abstract") }
    /// Whether the observer is called only once.
    ///
    /// If so, its call is never cancelled, because the call itself has ended the registration.
    var isCalledOnce: Bool { fatalError("abstract") }
    /// Whether values for the registration may still be posted and delivered: it is registered, and no gate has been
    /// passed.
    var isActive: Bool { fatalError("abstract") }

    // MARK: The state

    @inline(__always)
    final func withState<Result>(_ body: (borrowing RegistrationState) -> Result) -> Result? {
        unsafe state.map { unsafe body($0.pointee) }
    }

    /// Whether the registration has been claimed and not removed, and its owner isn't known to be dead; true if there
    /// is no state.
    ///
    /// Unlike `isActive`, this ignores gates.
    final var isRegistered: Bool { withState { $0.isRegistered } != false }

    /// Call this under the mailbox's lock.
    final func notePosted() { withState { $0.notePosted() } }
    final func noteTaken() { withState { $0.noteTaken() } }
    /// Call this and the next method under the mailbox's lock, and only for observers that await.
    final func noteAwaitedTaken() { withState { $0.noteAwaitedTaken() } }
    final func noteDropped() { withState { $0.noteDropped() } }

    /// Identifies the registration in its mailbox; registrations that share a state count as one.
    final var stateAddress: UInt { unsafe UInt(bitPattern: state) }
}
