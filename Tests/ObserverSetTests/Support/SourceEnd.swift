import ObserverSet

/// How a source ends the registrations of its observers.
enum SourceEnd: CaseIterable, Sendable {
    case setIsReleased, observersAreRemoved

    func end<Parameters>(_ set: inout ObserverSet<Parameters>?) {
        switch self {
        case .setIsReleased: set = nil
        case .observersAreRemoved: set?.removeAll()
        }
    }
}

/// The elements of a sequence up to its end.
func elements<Element: Sendable>(of sequence: AsyncStream<Element>) async -> [Element] {
    var elements: [Element] = []
    for await element in sequence { elements.append(element) }
    return elements
}
