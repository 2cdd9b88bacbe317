/// A table of figures that are reported and not judged: how the cost grows.
struct Section: Sendable {
    let name: String
    /// The unit of the figures.
    let unit: String
    /// The names of the columns.
    let columns: @Sendable (Plan) -> [String]
    let measure: @Sendable (Plan) -> [Series]
    /// Whether the chart shows it.
    var isCharted = false

    /// One line of the table.
    struct Series: Encodable {
        let name: String
        /// A figure for each column; nil where there is nothing to measure.
        let figures: [Quartiles?]
    }

    /// What was measured.
    struct Result: Encodable {
        let name: String
        let unit: String
        let columns: [String]
        let series: [Series]
    }

    func result(_ plan: Plan) -> Result {
        Result(name: name, unit: unit, columns: columns(plan), series: measure(plan))
    }

    static var all: [Section] {
        #if canImport(Glibc)
        [EverydayRows.section, ViewRows.section] + Scaling.sections + [Scaling.contention, Spikes.section]
        #else
        [ViewRows.section] + Scaling.sections + [Scaling.contention, Spikes.section]
        #endif
    }
}

extension Section {
    /// A line of a table against a series of counts; the lines are measured in turn.
    struct Line: Sendable {
        let name: String
        /// Makes the sampler for a count, or nil if there is nothing to measure for it.
        let sampler: @Sendable (Int, Plan) -> Sampler?
    }

    /// Times against counts.
    static func against(
        _ name: String, unit: String, isCharted: Bool = false, _ counts: @escaping @Sendable (Plan) -> [Int],
        _ lines: [Line]
    ) -> Section {
        Section(
            name: name, unit: unit, columns: { plan in counts(plan).map(short) },
            measure: { plan in
                let columns = counts(plan).map { count in
                    progress("\(name), \(short(count))")
                    return column(lines, count, plan)
                }
                return lines.indices.map { index in
                    Series(name: lines[index].name, figures: columns.map { $0[index] })
                }
            }, isCharted: isCharted)
    }

    private static func column(_ lines: [Line], _ count: Int, _ plan: Plan) -> [Quartiles?] {
        var samples = [[Double]](repeating: [], count: lines.count)
        // Fewer rounds than for rows that are judged, since there are many figures.
        for _ in 0..<min(3, plan.rounds) {
            let samplers = lines.map { $0.sampler(count, plan) }
            let present = samplers.indices.filter { samplers[$0] != nil }
            let taken = interleaved(samplers.compactMap(\.self), for: plan.roundTime)
            for (index, some) in zip(present, taken) { samples[index] += some }
        }
        return samples.map { $0.isEmpty ? nil : Quartiles($0) }
    }

    /// A count as shown above a column.
    private static func short(_ count: Int) -> String {
        switch count {
        case 1_000_000...: "\(count / 1_000_000)M"
        case 1000...: "\(count / 1000)k"
        default: "\(count)"
        }
    }

    /// Reports how far a long run has got, without making that a part of the report.
    private static func progress(_ text: String) {
        complain("    " + text)
    }
}
