import Testing

@testable import ObserverSet

@Suite("Urgency")
struct UrgencyTests {
    @Test("Each priority is delivered with the nearest of four steps, and never with less than it has asked for")
    func steps() {
        // The numbers that it compares are those of the standard library.
        expect([Urgency.background, Urgency.medium], equals: [TaskPriority.background, .medium].map(\.rawValue))
        let priorities: [(TaskPriority, TaskPriority)] = [
            (.background, .background), (.low, .utility), (.utility, .utility), (.medium, .medium), (.high, .high),
            (.userInitiated, .high), (TaskPriority(rawValue: 33), .high), (TaskPriority(rawValue: 0), .medium),
        ]

        for (priority, delivered) in priorities { expect(Urgency(priority).priority, equals: delivered) }
    }
}
