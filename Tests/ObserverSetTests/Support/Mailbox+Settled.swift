@testable import ObserverSet

extension Mailbox {
    /// Waits until everything that was enqueued before the call has been delivered or dropped.
    func settled() async { await SettledWait(of: [self]).wait() }
}
