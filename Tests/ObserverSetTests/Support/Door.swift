import Foundation

/// A place where asynchronous calls wait until a test lets them through one by one, even if their tasks are cancelled.
final class Door: Sendable {
    private struct State: Sendable {
        var permits = 0
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Guarded(State())

    /// The number of calls that are waiting at the door.
    var waiting: Int { state.withLock { $0.waiting.count } }

    func pass() async {
        await withCheckedContinuation { continuation in
            let mayPass = state.withLock { state in
                if state.isOpen { return true }
                if state.permits > 0 {
                    state.permits -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if mayPass { continuation.resume() }
        }
    }

    /// Lets through the call that has waited longest.
    ///
    /// If none is waiting, lets through the next one that comes.
    func letOnOne() {
        let continuation = state.withLock { state in
            if state.waiting.isEmpty { state.permits += 1 }
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
        continuation?.resume()
    }

    /// Lets through all calls, from now on.
    func open() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isOpen = true
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
