import Foundation

/// Where calls wait until they are let on, one after the other, whether they are cancelled or not.
final class Door: Sendable {
    private struct State: Sendable {
        var permits = 0
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Guarded(State())

    /// How many calls stand in front of it.
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

    /// Lets on whoever stands there, or the next who comes.
    func letOnOne() {
        let continuation = state.withLock { state in
            if state.waiting.isEmpty { state.permits += 1 }
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
        continuation?.resume()
    }

    /// Lets on everybody, from now on.
    func open() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isOpen = true
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
