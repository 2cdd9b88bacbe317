/// The call of an observer that awaits, as far as a caller of `settled()` and a removal inside it must know of it.
///
/// A task-local value, so that it is also seen by the tasks that the call starts with `Task { }`.
struct AwaitingCall: Sendable {
    /// Held, so that no other mailbox has its address as long as a task of the call goes on.
    let mailbox: Mailbox
    /// The number of the call's `AwaitingJob` there.
    let number: UInt64

    @TaskLocal static var current: AwaitingCall?
}
