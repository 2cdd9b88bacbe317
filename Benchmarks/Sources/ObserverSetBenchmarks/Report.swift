import Foundation

/// A row and what was measured, ready to be told.
struct Line: Encodable {
    let name: String
    let baseline: String?
    /// Nanoseconds of one operation, or the figure that stands alone.
    let measured: Double
    let unit: String
    let baselineMeasured: Double?
    /// The median of the ratios of samples that were taken in turn.
    ///
    /// Of times or of throughputs, as the reach says.
    let ratio: Double?
    let lowerQuartile: Double?
    let upperQuartile: Double?
    let samples: Int
    let reach: String?
    /// Whether the reach was reached; nil if there is none.
    let isReached: Bool?

    init(_ row: Row, _ outcome: Outcome) {
        name = row.name
        baseline = row.baseline.isEmpty ? nil : row.baseline
        reach = row.reach.description
        switch outcome {
        case .pairs(let pairs):
            let ratios = Quartiles(
                pairs.map { row.reach.isOfThroughputs ? $0.baseline / $0.measured : $0.measured / $0.baseline })
            measured = Quartiles(pairs.map(\.measured)).median
            baselineMeasured = Quartiles(pairs.map(\.baseline)).median
            ratio = ratios.median
            lowerQuartile = ratios.low
            upperQuartile = ratios.high
            unit = "ns"
            samples = pairs.count
            isReached = row.reach.isReached(by: ratios.median)
        case .figure(let figure):
            measured = figure
            (baselineMeasured, ratio, lowerQuartile, upperQuartile) = (nil, nil, nil, nil)
            unit = row.reach.unit
            samples = 1
            isReached = row.reach.isReached(by: figure)
        }
    }
}

extension Reach {
    var isOfThroughputs: Bool {
        switch self {
        case .throughput, .toldThroughput: true
        case .time, .within, .figure, .told: false
        }
    }

    var unit: String {
        switch self {
        case .time, .throughput, .toldThroughput, .within: "ns"
        case .figure(_, let unit), .told(let unit): unit
        }
    }

    func isReached(by value: Double) -> Bool? {
        switch self {
        case .time(let limit), .figure(let limit, _): value <= limit
        case .throughput(let limit): value >= limit
        case .within(let limit): max(value, 1 / value) <= limit
        case .told, .toldThroughput: nil
        }
    }

    var description: String? {
        switch self {
        case .time(let limit): "≤ \(limit) ×"
        case .throughput(let limit): "≥ \(limit) × throughput"
        case .within(let limit): "within \(limit) ×"
        case .figure(let limit, _): "≤ \(Int(limit))"
        case .told, .toldThroughput: nil
        }
    }
}

/// The table for reading.
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
                line.baseline ?? "",
            ], separator: "  ")
    }

    private static func zip(_ first: Double?, _ second: Double?) -> (Double, Double)? {
        guard let first, let second else { return nil }
        return (first, second)
    }

    /// Three digits that say something.
    private static func number(_ value: Double) -> String {
        let digits = value == value.rounded() || value >= 100 ? 0 : value >= 10 ? 1 : 2
        return String(format: "%.\(digits)f", value)
    }

    private static func row(_ cells: [String], separator: String) -> String {
        let widths = [57, 13, 11, 6, 11, 18, 4, 0]
        let padded = Swift.zip(cells, widths).enumerated().map { index, cell in
            let space = String(repeating: " ", count: max(0, cell.1 - cell.0.count))
            return (1...4).contains(index) ? space + cell.0 : cell.0 + space
        }
        return padded.joined(separator: separator)
    }
}

/// The report for tools.
func json(_ lines: [Line]) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return String(decoding: try! encoder.encode(lines), as: UTF8.self)
}
