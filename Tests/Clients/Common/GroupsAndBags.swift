import ObserverSet

/// A model and an owner that are compiled in every language mode and default isolation.
final class Shelf: Sendable {
    let cleared = ObserverSet<Void>()
    let renamed = ObserverSet<String>()
    let moved = ObserverSet<(from: Int, to: Int)>()
    var changed: ObserverGroup { ObserverGroup(cleared, renamed, moved) }
}

final class ShelfView: Sendable {
    let reloads = ObserverSet<Void>()

    init(_ shelf: Shelf) {
        shelf.changed.add(self) { view in view.reload() }
        shelf.changed.add(self, ShelfView.reload)
        shelf.changed.addOnce(self) { $0.reload() }
        shelf.cleared.addNonisolated(self) { _ in }
    }

    func reload() { reloads.notify() }
}

final class ShelfTally: Sendable {
    private let bag = ObserverBag()

    init(_ shelf: Shelf, _ tally: ObserverSet<String>) {
        shelf.cleared.add { tally.notify("cleared") }.store(in: bag)
        shelf.renamed.add { name in tally.notify(name) }.store(in: bag)
    }
}

actor ShelfKeeper {
    private(set) var changes = 0

    func keep(_ changed: ObserverGroup) {
        changed.add(self) { keeper in keeper.changes += 1 }
    }
}

func useGroupsAndBags() async {
    let shelf = Shelf()
    let view = ShelfView(shelf)
    let reloads = ObserverSet<Void>()
    view.reloads.add { reloads.notify() }
    let tally = ObserverSet<String>()
    var keeper: ShelfTally? = ShelfTally(shelf, tally)
    let actor = ShelfKeeper()
    await actor.keep(shelf.changed)
    precondition(keeper != nil && shelf.cleared.count == 6 && shelf.moved.count == 4)

    shelf.renamed.notify("Jazz")
    shelf.moved.notify((from: 1, to: 2))
    await shelf.moved.settled()

    keeper = nil
    precondition(shelf.cleared.count == 4 && shelf.moved.count == 3)
    let changes = await actor.changes
    precondition(changes == 2)
}
