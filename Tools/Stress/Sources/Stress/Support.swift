import Foundation

/// The time at which a run should end, if the options give one.
struct Deadline {
    private let end: Date?

    init(_ seconds: Double?) { end = seconds.map { Date().addingTimeInterval($0) } }

    var isOver: Bool { end.map { $0 < Date() } ?? false }
}

/// Prints a text and flushes the output, so that the text is not lost if the program crashes.
func say(_ text: String) {
    print(text)
    _ = fflush(nil)
}

extension Double {
    func formatted(digits: Int) -> String { String(format: "%.\(digits)f", self) }
}
