/// The lines of a description, in order: each one once, with the number of times that it occurs, and at most fifty.
///
/// The limits are needed because a set may have a million observers that the same line of code has added.
///
/// It is `package`, not internal, because layers also list what they hold.
package struct Listing: Sendable {
    /// The number of lines that have been appended, equal ones included.
    package private(set) var count = 0
    private var occurrences: [String: Int] = [:]
    private var shown: [String] = []

    private static var maximum: Int { 50 }

    package init() {}

    package mutating func append(_ line: String) {
        count += 1
        let number = occurrences[line, default: 0] + 1
        occurrences[line] = number
        if number == 1, shown.count < Self.maximum { shown.append(line) }
    }

    package var lines: [String] {
        let lines = shown.map { line in occurrences[line] == 1 ? line : "\(line) × \(occurrences[line]!)" }
        let others = occurrences.count - shown.count
        return others == 0 ? lines : lines + ["and \(Self.count(others, "more line"))"]
    }

    /// The lines, indented below a title.
    package func text(under title: String, indentation: String = "  ") -> String {
        ([title] + lines.map { indentation + $0 }).joined(separator: "\n")
    }

    /// A number and its noun, such as `1 observer` or `2 observers`.
    package static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}
