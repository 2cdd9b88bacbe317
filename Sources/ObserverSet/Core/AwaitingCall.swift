/// The call of an observer that awaits in which the current task runs; inherited by the tasks that it starts.
enum AwaitingCall {
    /// The number of the call's `AwaitingJob`; zero if there is no such call.
    @TaskLocal static var number: UInt64 = 0

    /// Runs `body`, which starts a delivery, outside any call.
    ///
    /// A delivery is not part of the call in which its value was notified: `settled()` in a task that it starts has to
    /// wait for that call.
    static func outside<Result>(_ body: () -> Result) -> Result {
        number == 0 ? body() : $number.withValue(0, operation: body)
    }
}
