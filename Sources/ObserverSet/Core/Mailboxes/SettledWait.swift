/// Counts what still holds up a caller: for `settled()`, the mailboxes with values that were posted before the call;
/// for `removeAndWait()`, traversals as well.
///
/// It first puts a mailbox marker into all mailboxes, and is awaited only then. A caller that entered the mailboxes one
/// after the other would also wait for values that had arrived in the meantime. That would take longer the more
/// mailboxes there are, and perhaps forever.
package final class SettledWait: AnyTarget, @unchecked Sendable {
    /// The number of mailboxes or traversals that hold up the caller, and what resumes the caller, once it waits.
    ///
    /// The number is zero if the caller's task was cancelled. The thread that takes out the closure calls it, so the
    /// caller is resumed only once. It is a closure, because the layout of a continuation is found only at run time, by
    /// functions for each type that contains it.
    private let progress: Lock<(remaining: Int, resume: (@Sendable () -> Void)?)>

    init(of mailboxes: [Mailbox]) {
        progress = Lock((mailboxes.count, nil))
        super.init()
        for mailbox in mailboxes where !mailbox.enqueueMarker(for: self) { countDown() }
    }

    /// Makes a wait in which the maker holds up the caller, until it calls `countDown()`.
    override init() { progress = Lock((1, nil)) }

    /// Always true, so that a drain in an event loop inside a catch-up doesn't let the caller go on before the catch-up
    /// ends.
    override func isBeingCalled(for registration: Registration) -> Bool { true }

    override func deliver(_ value: any Sendable, for registration: Registration) { countDown() }

    /// Whether the caller no longer waits, or need not wait.
    var isOver: Bool { progress.withLock { $0.remaining == 0 } }

    /// Records that one mailbox, or the maker, no longer holds up the caller.
    ///
    /// Call this under no lock, because it may resume the caller.
    func countDown() { setRemaining { max(0, $0 - 1) } }

    private func setRemaining(_ next: (Int) -> Int) {
        let resume = progress.withLock { state in
            state.remaining = next(state.remaining)
            return state.remaining == 0 ? state.resume.take() : nil
        }
        resume?()
    }

    /// Returns when nothing holds up the caller any longer, or when the caller's task is cancelled.
    ///
    /// It may be awaited only once.
    package nonisolated(nonsending) func wait() async {
        // This comes first because the closures below leave the caller's actor, and come back to it.
        if isOver { return }
        await withTaskCancellationHandler {
            await withCheckedContinuation { caller in
                let isOver = progress.withLock { state in
                    if state.remaining > 0 { state.resume = { caller.resume() } }
                    return state.remaining == 0
                }
                if isOver { caller.resume() }
            }
        } onCancel: {
            setRemaining { _ in 0 }
        }
    }
}

extension [SettledWait] {
    func countDown() { for settledWait in self { settledWait.countDown() } }
}
