/// What a mailbox hands a value to: a registration of an observer, or a caller of `settled()` who waits for the values in
/// front of it.
@usableFromInline
package class Recipient: @unchecked Sendable {
    /// The state of the registration, which lives as long as this object; nil if there is none.
    ///
    /// Registrations may share a state: see `FurtherRegistration`.
    var state: UnsafePointer<RegistrationState>? { nil }
    /// Whether this is a registration of that observer, whose registrations share one order.
    func isFor(_ observer: Recipient) -> Bool { false }
    /// Whether the observer is being called with a value from the mailbox.
    var isInCall: Bool { fatalError("abstract") }
    /// Takes a value whose turn has come.
    func receive(_ value: any Sendable) { fatalError("abstract") }

    // MARK: Observers that await

    /// Takes a value whose turn has come, and returns when the observer's call with it has returned.
    ///
    /// It runs on the observer's actor, so that the owner is loaded there, and its `deinit` cannot run elsewhere.
    func receive(_ value: any Sendable, on actor: isolated (any Actor)?) async { fatalError("abstract") }
    /// Whether the observer is called only once.
    ///
    /// If so, its call is never cancelled, because it has ended the registration itself.
    var isCalledOnce: Bool { fatalError("abstract") }
    /// Whether a value may be enqueued, and one from the mailbox be delivered.
    var isActive: Bool { fatalError("abstract") }

    // MARK: The state

    @inline(__always)
    final func withState<Result>(_ body: (borrowing RegistrationState) -> Result) -> Result? {
        unsafe state.map { unsafe body($0.pointee) }
    }

    /// Whether the registration has neither been removed nor lost its owner, as far as its state knows.
    final var isRegistered: Bool { withState { $0.isRegistered } != false }

    /// Called under the mailbox's lock.
    final func notePosted() { withState { $0.notePosted() } }
    final func noteTaken() { withState { $0.noteTaken() } }
    /// These two are for observers that await, and called under the mailbox's lock.
    final func noteTakenUnderLock() { withState { $0.noteTakenUnderLock() } }
    final func noteDropped() { withState { $0.noteDropped() } }

    /// Identifies the registration in its mailbox; those that share a state are one.
    final var identity: UInt { unsafe UInt(bitPattern: state) }
}
