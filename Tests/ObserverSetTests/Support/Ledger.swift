import ObserverSet

/// An actor whose observers check that they run on it.
actor Ledger: Bookkeeper {
    private(set) var entries: [Int] = []

    init(_ booked: ObserverSet<Int>) { observe(booked) }

    nonisolated func observe(_ source: some NotificationSource<Int>) {
        source.add(self) { ledger, amount in
            ledger.preconditionIsolated()
            ledger.entries.append(amount)
        }
    }
}

/// An actor that notifies, and whose observers note what they receive.
protocol Bookkeeper: Actor {
    var entries: [Int] { get }
}

extension Bookkeeper {
    /// Calls a closure that the compiler wrongly treats as this actor's code, although it runs on the caller's actor.
    ///
    /// See swiftlang/swift#83812, #86083 and #87097.
    func take(_ body: nonisolated(nonsending) () async -> Void) async { await body() }

    func takeOnItself(_ set: ObserverSet<Int>) async -> [Int] {
        await take {
            set.notify(1)
            set.notify(2)
        }
        return entries
    }

    func perform<Result: Sendable>(_ body: @Sendable (isolated Self) -> Result) -> Result { body(self) }

    /// Returns a closure that the compiler treats as this actor's code, wherever it is called.
    func callback(_ set: ObserverSet<Int>) -> Unchecked {
        Unchecked {
            // If the closure didn't capture the actor, it would belong to no actor.
            _ = self
            set.notify($0)
        }
    }

    func notify(_ set: ObserverSet<Int>, _ value: Int) -> [Int] {
        set.notify(value)
        return entries
    }
}

@globalActor actor Ledgers {
    static let shared = Ledgers()

    static func run<Result: Sendable>(_ body: @Ledgers () -> Result) async -> Result { await body() }

    func take(_ body: nonisolated(nonsending) () async -> Void) async { await body() }
}

/// A closure that may be called anywhere, although the compiler has compiled it as code of the actor that formed it.
struct Unchecked: @unchecked Sendable {
    let call: (Int) -> Void
}
