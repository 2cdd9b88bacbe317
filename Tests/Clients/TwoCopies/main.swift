// A program with two copies of the library, as where two plug-ins bring their own: nothing of the one disturbs the other.

struct Copy: Sendable {
    let notify: @MainActor (Int) -> Void
    /// Adds an observer on its actor; returns its token, and what ends its registration.
    let add: @Sendable (Ledger, String) -> (token: any Hashable & Sendable, remove: @Sendable () -> Bool)
    let addOnMain: @MainActor (@escaping @MainActor (Int) -> Void) -> @Sendable () -> Bool
    let settled: @Sendable () async -> Void
}

actor Ledger {
    private(set) var heard: [String] = []

    func hear(_ words: String) { heard.append(words) }
    func of(_ name: String) -> [String] { heard.filter { $0.hasPrefix(name) } }
}

/// Both are the first token of a set, and so have one number.
func tokensAreApart() async {
    let ledger = Ledger()
    let (one, other) = (first.add(ledger, "first"), second.add(ledger, "second"))
    precondition(AnyHashable(one.token) != AnyHashable(other.token))
    precondition(one.remove() && !one.remove())
    await second.notify(1)
    await second.settled()
    let heard = await ledger.heard
    precondition(heard == ["second 1"], "\(heard)")
    precondition(other.remove())
}

/// Each copy has a mailbox of its own for an actor.
func ordersOnOneActor() async {
    let ledger = Ledger()
    let (one, other) = (first.add(ledger, "first"), second.add(ledger, "second"))
    for value in 0..<1_000 { await (value.isMultiple(of: 3) ? first : second).notify(value) }
    await first.settled()
    await second.settled()
    let (ofFirst, ofSecond) = await (ledger.of("first"), ledger.of("second"))
    precondition(ofFirst == (0..<1_000).filter { $0.isMultiple(of: 3) }.map { "first \($0)" })
    precondition(ofSecond == (0..<1_000).filter { !$0.isMultiple(of: 3) }.map { "second \($0)" })
    precondition(one.remove() && other.remove())
}

/// Both know the main actor, and call in place there, one inside a call of the other.
@MainActor func inPlaceOnTheMainActor() {
    var heard: [String] = []
    let one = first.addOnMain { value in
        heard.append("first \(value)")
        if value < 3 { second.notify(value) }
    }
    let other = second.addOnMain { value in
        heard.append("second \(value)")
        first.notify(value + 1)
    }
    first.notify(1)
    precondition(heard == ["first 1", "second 1", "first 2", "second 2", "first 3"], "\(heard)")
    precondition(one() && other())
}

await tokensAreApart()
await ordersOnOneActor()
inPlaceOnTheMainActor()
print("two copies of the library do not disturb each other")
