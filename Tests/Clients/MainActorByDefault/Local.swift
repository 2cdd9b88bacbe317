import ObserverSet

/// Belongs to no actor, and stays in the isolation domain in which it is made.
nonisolated final class Meter {
    let measured = LocalObserverSet<Double>()
    private var sum = 0.0

    func run() -> Double {
        measured.add(method: Meter.add, of: self)
        _ = measured.add { [unowned self] value in sum += value }
        for value in [1.0, 2.0] { measured.notify(value) }
        return sum
    }

    private func add(_ value: Double) { sum += value }
}

nonisolated func measureElsewhere() async {
    let sum = await Task.detached { Meter().run() }.value
    precondition(sum == 6)
}
