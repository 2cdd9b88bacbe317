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
    /// The compiler takes a closure that is passed for code of this actor; it runs where the caller is.
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

    /// A closure of this actor, which says so to the compiler wherever it is called.
    func callback(_ set: ObserverSet<Int>) -> Unchecked {
        Unchecked {
            // Without it, the closure would belong to no actor.
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

/// A closure that keeps what the compiler knew of it where it was formed, and is called anywhere.
struct Unchecked: @unchecked Sendable {
    let call: (Int) -> Void
}
