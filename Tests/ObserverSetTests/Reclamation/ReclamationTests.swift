import Foundation
import Testing

/// The argument in `Registry+Reclaim.swift`, tried on a model of it in every interleaving.
///
/// A machine shows few interleavings, and hides orders that a weakly ordered one may choose. `Scenario` says what the
/// model covers and what not, `Exploration` what is looked for.
@Suite("Reclamation, in every interleaving")
struct ReclamationTests {
    static let small = [
        Scenario("a notification and a removal", [[.notify], [.remove(0)]]),
        Scenario("two notifiers and a removal", [[.notify], [.notify], [.remove(0)]]),
        Scenario("two notifiers and two removals", [[.notify], [.notify], [.remove(0), .remove(1)]]),
        Scenario("a notifier comes again", [[.notify, .notify], [.notify], [.remove(0)]]),
        Scenario("stripes appear", seats: 1, [[.notify, .notify], [.notify], [.remove(0)]]),
        Scenario("a removal inside an observer", [[.notify([.remove(0)])], [.notify], [.remove(1)]]),
        Scenario("a nested notification", [[.notify([.notify])], [.notify], [.remove(0), .remove(1)]]),
        Scenario("two writers and an addition", [[.notify], [.remove(0)], [.remove(1), .append]]),
        Scenario("two notifiers without end", [[.notify, .again], [.notify, .again], [.remove(0)]]),
    ]

    private static let large = [
        Scenario("three notifiers", [[.notify], [.notify], [.notify], [.remove(0), .remove(1)]]),
        Scenario("two notifiers and two writers", [[.notify], [.notify], [.remove(0)], [.remove(1)]]),
        Scenario(
            "both notifiers come again", [[.notify, .notify], [.notify, .notify], [.remove(0), .remove(1)]]),
        Scenario(
            "stripes appear between two removals", seats: 1,
            [[.notify, .notify], [.notify], [.remove(0), .remove(1)]]),
        Scenario("two stripes", seats: 2, [[.notify, .notify], [.notify], [.remove(0)]]),
        Scenario(
            "removals inside two observers", [[.notify([.remove(0)])], [.notify([.remove(1)])], [.remove(2)]]),
        Scenario(
            "a removal inside a nested notification",
            [[.notify([.notify([.remove(0)])])], [.notify, .notify], [.remove(1)]]),
        Scenario("stripes, without end", seats: 1, [[.notify, .again], [.notify, .again], [.remove(0)]]),
        Scenario("nested without end", [[.notify([.notify]), .again], [.notify, .again], [.remove(0)]]),
        Scenario("two removals, without end", [[.notify, .again], [.notify, .again], [.remove(0), .remove(1)]]),
        Scenario(
            "three notifiers without end",
            [[.notify, .again], [.notify, .again], [.notify, .again], [.remove(0)]]),
    ]

    static let scenarios = ProcessInfo.wantsLongTests ? small + large : small

    @Test(
        "Nothing is released too early, forgotten, or kept for ever", .timeLimit(.minutes(10)), arguments: scenarios,
        [false, true])
    func everyInterleaving(scenario: Scenario, isWeak: Bool) {
        let exploration = Exploration(isWeak ? scenario.onWeakMemory : scenario)
        #expect(exploration.failure == nil)
    }

    @Test("Each mistake in the algorithm is found", .timeLimit(.minutes(5)), arguments: ReclamationFault.allCases)
    func controls(fault: ReclamationFault) {
        let failures = Self.small.lazy.compactMap { Exploration($0.with(fault)).failure?.what }
        #expect(failures.first == fault.effect)
    }

    @Test(
        "On a machine that keeps the order, a missing order is not found", .timeLimit(.minutes(5)),
        arguments: ReclamationFault.allCases.filter(\.needsWeakMemory), small.prefix(4))
    func hidden(fault: ReclamationFault, scenario: Scenario) {
        var scenario = scenario.with(fault)
        scenario.isWeak = false
        #expect(Exploration(scenario).failure == nil)
    }
}

extension ReclamationFault {
    /// What comes of it, in the first scenario that shows it.
    fileprivate var effect: Exploration.Failure.Kind {
        switch self {
        case .flipsTwiceAtOnce, .detachesAfterOneFlip, .quickWayLooksAtOneCount, .countsOutBeforeWalking,
            .flipsWhileOccupied, .headLoadIsRelaxed, .countInIsReleasing, .headStoreIsReleasing,
            .countLoadsAreAcquiring:
            .walksWhatIsReleased
        case .leavesOpenSide, .flagIsIgnored, .noLookAfterUnlocking, .countOutIsReleasing, .flagLoadIsRelaxed,
            .noFenceAfterUnlocking, .noFenceBeforeTry:
            .endsBadly("something stays retired for ever")
        case .countsInOnIdleSide, .triesWhileRetired: .goesRoundInCircles
        }
    }
}

extension Scenario: CustomTestStringConvertible {
    var testDescription: String { name }
}
