import Dispatch
import Foundation

/// Runs `body` on another thread and waits for it here, without letting anything else run on this thread meanwhile.
///
/// That is what an observer does that calls back through another thread, and what keeps an actor or queue busy for sure.
func waitForAnotherThread(_ body: @escaping @Sendable () -> Void) {
    let hasEnded = DispatchSemaphore(value: 0)
    let thread = Thread {
        body()
        hasEnded.signal()
    }
    thread.start()
    hasEnded.wait()
}

extension ProcessInfo {
    /// Whether the long versions of tests are asked for, by setting `OBSERVERSET_LONG`.
    static var wantsLongTests: Bool { processInfo.environment["OBSERVERSET_LONG"] != nil }
}
