import Testing

@testable import ObserverSet

/// When a delivery lets other work onto its actor.
@Suite("Turns")
struct TurnTests {
    @Test("A turn ends with its thousandth call")
    func thousandCalls() {
        var turn = Turn(isTimed: false)

        expect((1...1_000).first { _ in turn.isOver() }, equals: 1_000)
    }

    @Test(
        "A turn ends with the call that takes four milliseconds, unless it must not depend on the machine",
        arguments: [false, true])
    func longCall(isTimed: Bool) {
        var turn = Turn(isTimed: isTimed)
        spin(for: .milliseconds(4))

        expect(turn.isOver(), equals: isTimed)
    }
}
