import Testing

@testable import ObserverSet

/// What an actor's mailbox decides, in every order in which threads, drains and calls may meet.
///
/// A machine shows only few of these orders. All of it runs on one thread, so a sanitizer would learn nothing from it.
@Suite("An actor's mailbox, in every order", .againstHanging, .enabled(if: !AllocatedMemory.isSanitized))
struct ActorMailboxOrderTests {}

extension ActorMailboxOrderTests {
    typealias Post = MailboxExploration.Post

    private static let (low, high) = (Urgency(.background), Urgency(.high))
    private static let values: [Post] = [
        .value(for: 0, low), .value(for: 1, low), .value(for: 0, high), .value(for: 1, high),
    ]

    /// Every sequence of that many values, for observer 0 at first.
    private static func sequences(_ count: Int) -> [[Post]] {
        if count == 1 { return [[values[0]], [values[2]]] }
        return sequences(count - 1).flatMap { sequence in values.map { sequence + [$0] } }
    }

    /// All sequences of at most so many posts, the last of which may wait until the actor is settled.
    private static var programs: [[Post]] {
        let longest =
            switch Effort.current {
            case .quick: 3
            case .ci: 4
            case .long: 5
            }
        return (1...longest).flatMap(sequences) + (1..<longest).flatMap(sequences).map { $0 + [.settled] }
    }

    @Test("Nothing is lost, late, out of order or thought to be over", arguments: programs)
    func everyOrder(posts: [Post]) { #expect(MailboxExploration(posts).failure == nil) }

    @Test("Each mistake in it is found", arguments: MailboxExploration.Fault.allCases)
    func controls(fault: MailboxExploration.Fault) {
        #expect(Self.programs.contains { MailboxExploration($0, fault).failure != nil })
    }
}
