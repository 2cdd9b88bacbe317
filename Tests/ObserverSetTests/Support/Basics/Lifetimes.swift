import Synchronization

/// Counts the instances of `Tracked` that a test has created and not released.
///
/// Its atomic accesses are relaxed, so that they don't order what the library itself should order. Otherwise they could
/// hide a fault of the library.
final class Lifetimes: Sendable {
    @TaskLocal static var current = Lifetimes()

    private let alive = Atomic<Int>(0)
    private let made = Atomic<Int>(0)

    /// The number of tracked instances that are alive.
    var count: Int { alive.load(ordering: .relaxed) }
    /// The number of tracked instances that were ever made.
    var total: Int { made.load(ordering: .relaxed) }

    fileprivate func began() {
        alive.add(1, ordering: .relaxed)
        made.add(1, ordering: .relaxed)
    }

    fileprivate func ended() { alive.subtract(1, ordering: .relaxed) }
}

/// An owner, a capture or a parameter whose lifetime is counted, and which can run a closure when it is deallocated.
///
/// On a thread that runs no task, pass the test's own `Lifetimes`.
final class Tracked: Sendable {
    /// An ordinary, non-atomic number, so that the thread sanitizer reports a race if the library doesn't order an
    /// observer's call after its registration.
    let value: Int
    private let lifetimes: Lifetimes
    private let atEnd: (@Sendable () -> Void)?
    private let canary = Atomic<Int>(0x600D)

    init(_ value: Int = 0, in lifetimes: Lifetimes = .current, atEnd: (@Sendable () -> Void)? = nil) {
        self.value = value
        self.lifetimes = lifetimes
        self.atEnd = atEnd
        lifetimes.began()
    }

    /// Whether this is a living object, and not the memory of a deallocated one.
    var isIntact: Bool { canary.load(ordering: .relaxed) == 0x600D }

    deinit {
        atEnd?()
        canary.store(0xDEAD, ordering: .relaxed)
        lifetimes.ended()
    }
}
