import ObserverSet

/// The ways in which a source ends its observers' registrations.
enum SourceEnd: CaseIterable, Sendable {
    case setIsReleased, observersAreRemoved

    func end<Parameters>(_ set: inout ObserverSet<Parameters>?) {
        switch self {
        case .setIsReleased: set = nil
        case .observersAreRemoved: set?.removeAll()
        }
    }
}

/// Returns all elements of a sequence, when the sequence has ended.
func elements<Element: Sendable>(of sequence: AsyncStream<Element>) async -> [Element] {
    var elements: [Element] = []
    for await element in sequence { elements.append(element) }
    return elements
}
