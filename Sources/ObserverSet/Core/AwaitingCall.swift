/// The call of an observer that awaits, as far as a caller of `settled()` and a removal inside it must know of it.
///
/// A task-local value, so that it is also seen by the tasks that the call starts with `Task { }`.
enum AwaitingCall {
    /// The number of the call's `AwaitingJob`; zero if there is no such call.
    @TaskLocal static var number: UInt64 = 0
}
