import Observation

/// Observers of a property, which track it again after every change, since tracking ends with the first one.
final class TrackingPeer: Peer, @unchecked Sendable {
    @Observable
    final class Model: @unchecked Sendable {
        var value = 0
    }

    private let model = Model()
    private let counter = Counter()

    func add(_ count: Int) {
        for _ in 0..<count { Self.track(model, counter) }
    }

    private static func track(_ model: Model, _ counter: Counter) {
        let value = withObservationTracking {
            model.value
        } onChange: { [weak model] in
            // Held weakly, since the model holds this closure.
            if let model { track(model, counter) }
        }
        counter.value &+= value
    }

    func notify(_ repetitions: Int) {
        for value in 0..<repetitions { model.value = value }
    }
}
