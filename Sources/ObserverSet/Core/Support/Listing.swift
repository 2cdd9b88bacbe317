/// The lines of a description, in their order: each once, with how often it occurs, and at most fifty.
///
/// A set may have a million observers of one line.
///
/// `package`, not internal: the layers list what they hold, too.
package struct Listing: Sendable {
    /// How many lines there are, equal ones included.
    package private(set) var count = 0
    private var numbers: [String: Int] = [:]
    private var shown: [String] = []

    private static var most: Int { 50 }

    package init() {}

    package mutating func append(_ line: String) {
        count += 1
        let number = numbers[line, default: 0] + 1
        numbers[line] = number
        if number == 1, shown.count < Self.most { shown.append(line) }
    }

    package var lines: [String] {
        let lines = shown.map { line in numbers[line] == 1 ? line : "\(line) × \(numbers[line]!)" }
        let others = numbers.count - shown.count
        return others == 0 ? lines : lines + ["and \(Self.count(others, "more line"))"]
    }

    /// The lines below a title, indented.
    package func text(under title: String, indentation: String = "  ") -> String {
        ([title] + lines.map { indentation + $0 }).joined(separator: "\n")
    }

    /// For example `1 observer` and `2 observers`.
    package static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}
