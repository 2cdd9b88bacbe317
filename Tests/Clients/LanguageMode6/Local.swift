import ObserverSet

/// A model on the main actor may have local sets too, and so may an actor.
@MainActor final class Panel {
    let shown = LocalObserverSet<Void>()
    private(set) var count = 0

    init() {
        shown.add(method: Panel.countOne, of: self)
        shown.add(self) { panel, _ in panel.countOne() }
        _ = shown.add { [unowned self] in countOne() }
    }

    private func countOne() { count += 1 }
}

actor Register {
    private let entered = LocalObserverSet<String>()
    private var names: [String] = []

    func enter(_ name: String) -> [String] {
        _ = entered.once.add { self.names.append($0) }
        entered.notify(name)
        return names
    }
}

/// A set to which nothing here refers any more may be sent elsewhere, together with its observers.
func handOver() async {
    let book = Book("Krabat")
    let set = LocalObserverSet<String>()
    _ = set.add { book.title = $0 }
    await Task.detached { set.notify("Ronja") }.value
}

@MainActor func useLocalSetsOnActors() async {
    let panel = Panel()
    panel.shown.notify()
    precondition(panel.count == 3)
    let names = await Register().enter("Emil")
    precondition(names == ["Emil"])
    await handOver()
}
