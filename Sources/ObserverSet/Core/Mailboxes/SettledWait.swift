/// Counts what still holds up a caller: of `settled()`, mailboxes with what was posted to them before the call; of
/// `removeAndWait()`, traversals as well.
///
/// It is put into all mailboxes at once, and only then awaited. A caller that entered them one after the other would
/// also wait for what had arrived meanwhile: for ever, perhaps, and the longer the more mailboxes there are.
package final class SettledWait: Recipient, @unchecked Sendable {
    /// How many hold up the caller, zero if it was cancelled; and the caller, once it waits, who is resumed by whoever takes it
    /// out, and so once.
    ///
    /// A closure, since the layout of a continuation is found at run time, by functions for everything that contains it.
    private let progress: Lock<(left: Int, resume: (@Sendable () -> Void)?)>

    init(of mailboxes: [Mailbox]) {
        progress = Lock((mailboxes.count, nil))
        super.init()
        for mailbox in mailboxes where !mailbox.enqueueMarker(for: self) { leave() }
    }

    /// Its maker holds up the caller, until it calls `leave()`.
    override init() { progress = Lock((1, nil)) }

    /// True, so that a drain inside an event loop that a call has started doesn't let the caller go on before that call ends.
    override var isInCall: Bool { true }

    override func receive(_ value: any Sendable) { leave() }

    /// Whether the caller waits no longer, or need not.
    var isOver: Bool { progress.withLock { $0.left == 0 } }

    /// Called, under no lock, for each mailbox that no longer holds up the caller.
    func leave() { setLeft { max(0, $0 - 1) } }

    private func setLeft(_ next: (Int) -> Int) {
        let resume = progress.withLock { state in
            state.left = next(state.left)
            return state.left == 0 ? state.resume.take() : nil
        }
        resume?()
    }

    /// Returns when no mailbox holds up the caller any longer, or when its task is cancelled; awaited once.
    package nonisolated(nonsending) func wait() async {
        // The closures below leave the caller's actor, and come back to it.
        if isOver { return }
        await withTaskCancellationHandler {
            await withCheckedContinuation { caller in
                let isOver = progress.withLock { state in
                    if state.left > 0 { state.resume = { caller.resume() } }
                    return state.left == 0
                }
                if isOver { caller.resume() }
            }
        } onCancel: {
            setLeft { _ in 0 }
        }
    }
}

extension [SettledWait] {
    func leave() { for settledWait in self { settledWait.leave() } }
}
