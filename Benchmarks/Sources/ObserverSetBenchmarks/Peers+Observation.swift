import Observation

/// Observers of an `@Observable` property.
///
/// They track it again after every change, because tracking ends with a change.
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
            // The model is captured weakly, because it holds this closure.
            if let model { track(model, counter) }
        }
        counter.value &+= value
    }

    func notify(_ repetitions: Int) {
        for value in 0..<repetitions { model.value = value }
    }
}
