import Foundation
import Testing

/// The argument in `Reclamation.swift`, checked on a model in every interleaving.
///
/// A machine shows only few interleavings, and hides orders that a weakly ordered machine may choose. `Scenario` says
/// what the model covers and what not, `Exploration` what is checked. All of it runs on one thread, so a sanitizer
/// would learn nothing from it.
@Suite("Reclamation, in every interleaving", .againstHanging, .enabled(if: !AllocatedMemory.isSanitized))
struct ReclamationTests {}

extension ReclamationTests {
    /// The scenarios with some thousands of states each.
    private static let small = [
        Scenario("a notification and a removal", "()", "0"),
        Scenario("two notifiers and a removal", "()", "()", "0"),
        Scenario("two writers and an addition", "()", "0", "1+"),
    ]

    private static let medium = [
        Scenario("two notifiers and two removals", "()", "()", "01"),
        Scenario("a notifier comes again", "()()", "()", "0"),
        Scenario("stripes appear", seats: 1, "()()", "()", "0"),
        Scenario("stripes appear behind a change", seats: 1, "()()", "^0"),
        Scenario("a removal inside an observer", "(0)", "()", "1"),
        Scenario("a nested notification", "(())", "()", "0"),
        Scenario("two notifiers without end", "()*", "()*", "0"),
    ]

    private static let large = [
        Scenario("three notifiers", "()", "()", "()", "0"),
        Scenario("two notifiers and two writers", "()", "()", "0", "1"),
        Scenario("both notifiers come again", "()()", "()()", "01"),
        Scenario("stripes appear between two removals", seats: 1, "()()", "()", "01"),
        Scenario("two stripes", seats: 2, "()()", "()", "0"),
        Scenario("removals inside two observers", "(0)", "(1)", "2"),
        Scenario("a nested notification and two removals", "(())", "()", "01"),
        Scenario("a removal inside a nested notification", "((0))", "()()", "1"),
        Scenario("stripes, without end", seats: 1, "()*", "()*", "0"),
        Scenario("nested without end", "(())*", "()*", "0"),
        Scenario("two removals, without end", "()*", "()*", "01"),
    ]

    private static var scenarios: [Scenario] {
        switch Effort.current {
        case .quick: small
        case .ci: small + medium
        case .long: small + medium + large
        }
    }

    @Test("Nothing is released too early, forgotten, or kept for ever", arguments: scenarios, [false, true])
    func everyInterleaving(scenario: Scenario, isWeak: Bool) {
        #expect(Exploration(scenario.with(isWeak: isWeak)).failure == nil)
    }

    @Test("Each mistake in the algorithm is found", arguments: ReclamationFault.allCases)
    func controls(fault: ReclamationFault) throws {
        let scenario = try #require((Self.small + Self.medium).first { $0.name == fault.scenario })

        let failure = Exploration(scenario.with(fault, isWeak: fault.needsWeakMemory)).failure

        expect(failure?.what, equals: fault.effect)
    }
}

extension ReclamationFault {
    /// The simplest scenario that shows the fault.
    fileprivate var scenario: String {
        switch self {
        case .quickWayLooksAtOneCount: "two notifiers and two removals"
        case .stripesAreIgnored: "stripes appear"
        case .countsInOnIdleSide: "two notifiers without end"
        case .triesWhileRetired: "a removal inside an observer"
        default: "a notification and a removal"
        }
    }

    /// What the fault leads to in that scenario.
    fileprivate var effect: Exploration.Failure.Kind {
        switch self {
        case .leavesOpenSide, .flagIsIgnored, .noLookAfterUnlocking, .countOutIsReleasing, .flagLoadIsRelaxed,
            .noFenceAfterUnlocking, .noFenceBeforeTry:
            .endsBadly("something stays retired for ever")
        case .countsInOnIdleSide, .triesWhileRetired: .goesRoundInCircles
        default: .walksWhatIsReleased
        }
    }
}

extension Scenario: CustomTestStringConvertible {
    var testDescription: String { name }
}
