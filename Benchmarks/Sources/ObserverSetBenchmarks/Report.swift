import Foundation

/// A row's results, as the report shows them.
struct Line: Encodable {
    let name: String
    let baseline: String?
    /// The nanoseconds of one operation, or the figure of a row without a baseline.
    let measured: Double
    let unit: String
    let baselineMeasured: Double?
    /// The median of the ratios of samples that were taken in turn.
    ///
    /// They are ratios of times or of throughputs, depending on the row's reach.
    let ratio: Double?
    let lowerQuartile: Double?
    let upperQuartile: Double?
    let samples: Int
    let reach: String?
    /// Whether the row has met its target, or nil if it has none.
    let isReached: Bool?
    /// The number that is compared with the target: the ratio, or the figure of a row without a baseline.
    private var judged: Double { ratio ?? measured }
    /// How often the row was measured.
    ///
    /// The other numbers are those of the best measurement.
    private(set) var measurements = 1

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
            isReached = row.reach.excess(of: ratios.median).map { $0 <= 1 }
        case .figure(let figure):
            measured = figure
            (baselineMeasured, ratio, lowerQuartile, upperQuartile) = (nil, nil, nil, nil)
            unit = row.reach.unit
            samples = 1
            isReached = row.reach.excess(of: figure).map { $0 <= 1 }
        }
    }

    /// Measures a row.
    ///
    /// If it misses its target, measures it again, up to `times` times in all.
    ///
    /// Other programs on the machine may empty a cache or take a core. That makes a row slower, and may slow down one
    /// side of a ratio more than the other. So a row that is near its target sometimes fails by chance, but a row that
    /// is far from it fails every time. The baseline may be slowed down as well, so it means little if a row passes
    /// only on a busy machine. A count or a size is the same every time, unless another thread of the process, such as
    /// one of the runtime's threads that ends, allocates in the meantime.
    static func measuring(_ row: Row, _ plan: Plan, atMost times: Int) -> Line {
        func excess(_ line: Line) -> Double { row.reach.excess(of: line.judged) ?? 0 }
        var best = Line(row, row.measure(plan))
        while excess(best) > 1, best.measurements < times {
            complain("    measured again: \(Table.number(best.judged)) misses \(best.reach ?? "")")
            let next = Line(row, row.measure(plan))
            let measurements = best.measurements + 1
            if excess(next) < excess(best) { best = next }
            best.measurements = measurements
        }
        return best
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

    var isJudged: Bool { excess(of: 1) != nil }

    /// Rates a value, or returns nil if there is no target.
    ///
    /// The value just meets the target at 1, and less is better.
    func excess(of value: Double) -> Double? {
        switch self {
        case .time(let limit): value / limit
        case .throughput(let limit): limit / value
        case .within(let limit): max(value, 1 / value) / limit
        // This is a difference and not a quotient, because some limits are zero.
        case .figure(let limit, _): value - limit + 1
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

/// Everything that a run reports.
struct Report: Encodable {
    let conditions = Conditions()
    var rows: [Line] = []
    var tables: [Section.Result] = []

    /// The report as JSON, for other programs.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return String(decoding: try! encoder.encode(self), as: UTF8.self)
    }
}

/// The date, the compiler and the machine of a measurement.
struct Conditions: Encodable, CustomStringConvertible {
    let date = String(Date.now.formatted(.iso8601).prefix(10))
    /// The version of Swift, without the patch version, which the standard library doesn't know.
    let swift = "\(_SwiftStdlibVersion.current)".split(separator: ".").prefix(2).joined(separator: ".")
    let processor = Self.processor
    let cores = ProcessInfo.processInfo.activeProcessorCount
    let system = Self.system

    var description: String {
        "Measured on \(date) with Swift \(swift) on \(cores) cores, \(system), \(processor)."
    }

    /// The processor's name or, if the system doesn't provide it, the architecture.
    private static var processor: String {
        let lines = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?.split(separator: "\n") ?? []
        let name = lines.first { $0.hasPrefix("model name") }?.split(separator: ":").last
        guard let name else { return architecture }
        return "\(name.trimmingCharacters(in: .whitespaces)), \(architecture)"
    }

    #if arch(x86_64)
    private static let architecture = "x86-64"
    #elseif arch(arm64)
    private static let architecture = "arm64"
    #else
    private static let architecture = "another architecture"
    #endif

    #if os(Linux)
    private static let system = "Linux"
    #elseif os(macOS)
    private static let system = "macOS"
    #else
    private static let system = "another system"
    #endif
}
