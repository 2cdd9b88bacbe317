import ObserverSet

/// A model and an owner that are compiled in every language mode and default isolation.
final class Rack: Sendable {
    let cleared = ObserverSet<Void>()
    let renamed = ObserverSet<String>()
    let moved = ObserverSet<(from: Int, to: Int)>()
    var changed: ObserverGroup { ObserverGroup(cleared, renamed, moved) }
    var movedTo: some NotificationSource<Int> { moved.map(\.to) }
    var lengths: some NotificationSource<Int> { renamed.map(\.count).filter { $0 > 0 } }
}

final class RackView: Sendable {
    let reloads = ObserverSet<Void>()

    init(_ rack: Rack) {
        rack.changed.add(self) { view in view.reload() }
        rack.changed.add(method: RackView.reload, of: self)
        rack.changed.once.add(self) { $0.reload() }
        rack.cleared.addNonisolated(self) { _ in }
    }

    func reload() { reloads.notify() }
}

final class RackTally: Sendable {
    private let bag = ObserverBag()

    init(_ rack: Rack, _ tally: ObserverSet<String>) {
        rack.cleared.add { tally.notify("cleared") }.store(in: bag)
        rack.renamed.add { name in tally.notify(name) }.store(in: bag)
        rack.movedTo.merge(with: rack.lengths).add { number in tally.notify("\(number)") }.store(in: bag)
        rack.renamed.compactMap(\.first).map { _ in }.add { tally.notify("named") }.store(in: bag)
    }
}

actor RackKeeper {
    private(set) var changes = 0

    func keep(_ changed: ObserverGroup) {
        changed.add(self) { keeper in keeper.changes += 1 }
    }
}

func useGroupsAndBags() async {
    let rack = Rack()
    let view = RackView(rack)
    let reloads = ObserverSet<Void>()
    _ = view.reloads.add { reloads.notify() }
    let tally = ObserverSet<String>()
    var keeper: RackTally? = RackTally(rack, tally)
    let actor = RackKeeper()
    await actor.keep(rack.changed)
    precondition(keeper != nil && rack.cleared.count == 6 && rack.moved.count == 5)
    var told: [String] = []
    let telling = tally.values()

    rack.renamed.notify("Jazz")
    rack.moved.notify((from: 1, to: 2))
    await rack.changed.settled()
    await rack.movedTo.settled()

    keeper = nil
    var iterator = telling.makeAsyncIterator()
    for _ in 0..<4 { await iterator.next().map { told.append($0) } }
    precondition(told == ["Jazz", "4", "named", "2"], "\(told)")
    precondition(rack.cleared.count == 4 && rack.moved.count == 3)
    let changes = await actor.changes
    precondition(changes == 2)
}
