import ObserverSet

/// Methods of one class that differ only in their isolation.
@MainActor final class Sign {
    let shown = ObserverSet<String>()

    nonisolated init() {}

    nonisolated func note(_ floor: Int) { shown.notify("noted \(floor)") }
    nonisolated func noteMove(_ from: Int, _ to: Int) { shown.notify("noted \(from), \(to)") }

    func show(_ floor: Int) {
        MainActor.preconditionIsolated()
        shown.notify("shown \(floor)")
    }

    func showMove(_ from: Int, _ to: Int) {
        MainActor.preconditionIsolated()
        shown.notify("shown \(from), \(to)")
    }
}

/// A global actor of the client's own.
@globalActor public actor Depots {
    /// The only one.
    public static let shared = Depots()
}

@Depots final class Depot {
    private var stored = 0

    nonisolated init() {}

    func store(_ item: Int) {
        Depots.preconditionIsolated()
        stored += 1
    }

    func clear() {
        Depots.preconditionIsolated()
        stored += 1
    }

    func move(_ from: Int, _ to: Int) {
        Depots.preconditionIsolated()
        stored += 1
    }

    var count: Int { stored }
}

/// Methods of a global actor of one's own run on it.
func useMethodsOfAnotherActor() async {
    let depot = Depot()
    let items = ObserverSet<Int>()
    let cleared = ObserverSet<Void>()
    let moves = ObserverSet<(Int, Int)>()
    items.add(method: Depot.store, of: depot)
    items.once.add(method: Depot.store, of: depot)
    cleared.add(method: Depot.clear, of: depot)
    moves.add(method: Depot.move, of: depot)

    await withTaskGroup { group in
        for index in 0..<4 {
            group.addTask {
                for _ in 0..<100 {
                    items.notify(index)
                    cleared.notify()
                    moves.notify((index, index))
                }
            }
        }
    }
    await items.settled()
    await cleared.settled()
    await moves.settled()
    let count = await depot.count
    precondition(count == 1_201, "\(count)")
}

func useMethods() async {
    await useMethodsOfAnotherActor()
    let sign = Sign()
    let floors = ObserverSet<Int>()
    let moves = ObserverSet<(Int, Int)>()
    floors.add(method: Sign.note, of: sign)
    floors.add(method: Sign.show, of: sign)
    floors.once.add(method: Sign.show, of: sign)
    floors.once.add(method: Sign.note, of: sign)
    moves.add(method: Sign.showMove, of: sign)
    moves.add(method: Sign.noteMove, of: sign)
    var signs = sign.shown.values().makeAsyncIterator()
    var seen: [String] = []

    // Notified outside of any actor: the nonisolated methods are called at once, and the others later.
    await Task.detached {
        floors.notify(1)
        moves.notify((2, 3))
    }.value
    await floors.settled()
    await moves.settled()
    for _ in 0..<6 { await signs.next().map { seen.append($0) } }
    precondition(seen.count { $0 == "noted 1" } == 2 && seen.count { $0 == "shown 1" } == 2, "\(seen)")
    precondition(seen.count { $0 == "noted 2, 3" } == 1 && seen.count { $0 == "shown 2, 3" } == 1, "\(seen)")
}
