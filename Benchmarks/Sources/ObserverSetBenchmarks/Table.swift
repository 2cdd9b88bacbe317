import Foundation

/// Formats the report as tables, for human readers.
enum Table {
    static let head = row(
        ["", "measured", "baseline", "ratio", "quartiles", "reach", "", "against"], separator: "  ")

    static func line(_ line: Line) -> String {
        row(
            [
                line.name,
                number(line.measured) + " " + line.unit,
                line.baselineMeasured.map { number($0) + " ns" } ?? "",
                line.ratio.map(number) ?? "",
                zip(line.lowerQuartile, line.upperQuartile).map { "\(number($0))–\(number($1))" } ?? "",
                line.reach ?? "",
                line.isReached.map { $0 ? "ok" : "MISS" } ?? "",
                [line.baseline, line.measurements > 1 ? "(measured again, best of \(line.measurements))" : nil]
                    .compactMap(\.self).joined(separator: " "),
            ], separator: "  ")
    }

    private static func zip(_ first: Double?, _ second: Double?) -> (Double, Double)? {
        guard let first, let second else { return nil }
        return (first, second)
    }

    /// Formats a number with two or three significant digits.
    static func number(_ value: Double) -> String {
        let digits = value == value.rounded() || value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 4
        return String(format: "%.\(digits)f", value)
    }

    /// Formats a table of figures, with its name above.
    static func text(_ table: Section.Result) -> String {
        let lines = table.series.map { series in
            [series.name] + series.figures.map { $0.map { grouped($0.median) } ?? "–" } + [spread(series)]
        }
        let cells = [[""] + table.columns + [""]] + lines
        let widths = cells[0].indices.map { column in cells.map(\.[column].count).max()! }
        let text = cells.map { row in
            Swift.zip(row, widths).enumerated().map { column, cell in padded(cell.0, to: cell.1, atEnd: column == 0) }
                .joined(separator: "  ")
        }
        return (["\(table.name), \(table.unit)"] + text).joined(separator: "\n")
    }

    /// The largest spread of a line's figures: half the distance between the quartiles, in proportion to the median.
    private static func spread(_ series: Section.Series) -> String {
        let spreads = series.figures.compactMap(\.self).map { ($0.high - $0.low) / 2 / $0.median }
        guard let most = spreads.max(), most > 0 else { return "" }
        return "± \(Int((most * 100).rounded(.up))) %"
    }

    /// Formats a number, with its thousands separated if it is large.
    private static func grouped(_ value: Double) -> String {
        guard value >= 1000 else { return number(value) }
        let digits = Array(String(Int(value.rounded())))
        return String(
            digits.enumerated().flatMap { index, digit in
                index > 0 && (digits.count - index).isMultiple(of: 3) ? [" ", digit] : [digit]
            })
    }

    private static func padded(_ text: String, to width: Int, atEnd: Bool) -> String {
        let space = String(repeating: " ", count: max(0, width - text.count))
        return atEnd ? text + space : space + text
    }

    private static func row(_ cells: [String], separator: String) -> String {
        let widths = [63, 13, 11, 6, 13, 18, 4, 0]
        let columns = Swift.zip(cells, widths).enumerated().map { index, cell in
            padded(cell.0, to: cell.1, atEnd: !(1...4).contains(index))
        }
        return columns.joined(separator: separator)
    }
}
