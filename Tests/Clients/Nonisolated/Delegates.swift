// Delegates of each kind of protocol.

import ObserverSet

/// A protocol without an annotation.
protocol TrackDelegate: AnyObject {
    func play(_ title: String) throws
}

final class TrackView: TrackDelegate {
    var titles: [String] = []

    func play(_ title: String) { titles.append(title) }
}

/// Belongs to the main actor.
@MainActor protocol ScreenDelegate: AnyObject {
    func show(_ title: String)
}

@MainActor final class Screen: ScreenDelegate {
    let delegates = MulticastDelegate<any ScreenDelegate>()
    var titles: [String] = []

    func show(_ title: String) { titles.append(title) }

    func showAll(_ title: String) {
        delegates.notify { $0.show(title) }
    }
}

/// Belongs to no actor.
protocol MeterDelegate: AnyObject, Sendable {
    func measure(_ level: Int)
}

final class Meter: MeterDelegate {
    func measure(_ level: Int) { precondition(level == 1) }
}

final class Amplifier: Sendable {
    let delegates = MulticastDelegate<any MeterDelegate>()

    func run() {
        delegates.notify { $0.measure(1) }
    }
}

@MainActor func useDelegates() async throws {
    let tracks = MulticastDelegate<any TrackDelegate>()
    let view = TrackView()
    let token = tracks.add(view)
    tracks.add(view)
    try tracks.notify { try $0.play("Flamenco Sketches") }
    precondition(view.titles == ["Flamenco Sketches"] && tracks.count == 1)
    precondition(tracks.remove(view) && !token.remove() && tracks.isEmpty)

    let screen = Screen()
    screen.delegates.add(screen)
    screen.showAll("Nardis")
    precondition(screen.titles == ["Nardis"] && screen.delegates.delegates.first === screen)

    let amplifier = Amplifier()
    let meter = Meter()
    amplifier.delegates.add(meter)
    await Task.detached { amplifier.run() }.value
    precondition(amplifier.delegates.remove(meter))
    precondition(amplifier.delegates.description.contains("0 delegates"))
}
