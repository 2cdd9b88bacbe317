import Testing

@testable import ObserverSet

/// When a delivery lets other work onto its actor.
@Suite("Turns")
struct TurnTests {
    @Test("A turn ends with its thousandth call")
    func thousandCalls() {
        var turn = Turn(isTimed: false)

        let calls = (1...1_000).first { _ in turn.isOver() }

        expect(calls, equals: 1_000)
    }

    @Test("A turn ends with the call that takes four milliseconds")
    func longCall() {
        var turn = Turn()
        spin(for: .milliseconds(4))
        let isOver = turn.isOver()
        #expect(isOver)
    }

    @Test("A turn that must not depend on the machine does not end by the clock")
    func untimed() {
        var turn = Turn(isTimed: false)
        spin(for: .milliseconds(4))
        let isOver = turn.isOver()
        #expect(!isOver)
    }
}
