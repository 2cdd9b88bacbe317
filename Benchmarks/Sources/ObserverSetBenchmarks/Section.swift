/// A table of figures that are reported and not judged, for the documentation's pictures.
struct Section: Sendable {
    let name: String
    /// The unit of the figures.
    let unit: String
    /// The names of the columns.
    let columns: @Sendable (Plan) -> [String]
    let measure: @Sendable (Plan) -> [Series]

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
        [EverydayRows.section, ViewRows.section, Scaling.observers, Scaling.threads]
        #else
        [ViewRows.section, Scaling.observers, Scaling.threads]
        #endif
    }
}

extension Section {
    /// A count as shown above a column.
    static func short(_ count: Int) -> String {
        switch count {
        case 1_000_000...: "\(count / 1_000_000)M"
        case 1000...: "\(count / 1000)k"
        default: "\(count)"
        }
    }
}
