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

func useMethods() async {
    let sign = Sign()
    let floors = ObserverSet<Int>()
    let moves = ObserverSet<(Int, Int)>()
    floors.add(method: Sign.note, of: sign)
    floors.add(method: Sign.show, of: sign)
    floors.addOnce(method: Sign.show, of: sign)
    floors.addOnce(method: Sign.note, of: sign)
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
