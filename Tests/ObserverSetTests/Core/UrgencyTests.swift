import Testing

@testable import ObserverSet

@Suite("Urgency")
struct UrgencyTests {
    @Test("The numbers that it compares are those of the standard library's priorities")
    func numbers() {
        expect(Urgency.background, equals: TaskPriority.background.rawValue)
        expect(Urgency.medium, equals: TaskPriority.medium.rawValue)
    }

    @Test("Each priority is delivered with the nearest of four steps, and never with less than it has asked for")
    func steps() {
        let priorities: [(TaskPriority, TaskPriority)] = [
            (.background, .background), (.low, .utility), (.utility, .utility), (.medium, .medium), (.high, .high),
            (.userInitiated, .high), (TaskPriority(rawValue: 33), .high), (TaskPriority(rawValue: 0), .medium),
        ]

        for (priority, delivered) in priorities { expect(Urgency(priority).priority, equals: delivered) }
    }
}
