import Synchronization

/// What did not hold, whatever the thread.
final class Mistakes: Sendable {
    enum Kind: Int, CaseIterable {
        case calledAfterRemoval = 0
        case calledWithTheDead
        case missedOrOutOfOrder
        case removedTwice
        case activeAfterRemoval
        case missedAfterAddition
        case notReleased
        case wrongCount
        case memoryGrew
        case calledWhileCalled
        case cancelledByItself
        case overtaken
        case notSettled
    }

    private let kinds = Atomic<Int>(0)

    /// Relaxed, as all that a storm itself counts: it must not order what the library should.
    func note(_ kind: Kind, unless holds: Bool) {
        if !holds { kinds.bitwiseOr(1 << kind.rawValue, ordering: .relaxed) }
    }

    var list: [Kind] {
        let bits = kinds.load(ordering: .relaxed)
        return Kind.allCases.filter { bits & (1 << $0.rawValue) != 0 }
    }
}
