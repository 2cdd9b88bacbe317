import Foundation
import Synchronization

/// Runs `body` on another thread, and blocks until it has ended: for what an observer or a `deinit` waits for.
func join(_ body: @escaping @Sendable () -> Void) {
    let end = Signal()
    Thread {
        body()
        end.set()
    }.start()
    end.wait()
}

/// Set once, by one thread; awaited by others.
final class Signal: Sendable {
    private let flag = Atomic<Bool>(false)

    var isSet: Bool { flag.load(ordering: .acquiring) }

    func set() {
        flag.store(true, ordering: .releasing)
    }

    /// Blocks until it is set.
    func wait() {
        while !isSet { Thread.yield() }
    }
}

/// A counter that several threads share.
final class Counter: Sendable {
    private let number = Atomic<Int>(0)

    var value: Int { number.load(ordering: .acquiring) }

    @discardableResult
    func increment() -> Int {
        number.add(1, ordering: .acquiringAndReleasing).newValue
    }
}
