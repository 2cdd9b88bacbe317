/// A table of figures for the documentation's pictures.
///
/// They have no targets.
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
        /// A figure for each column, or nil if there is nothing to measure in it.
        let figures: [Quartiles?]
    }

    /// The table with the measured figures.
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
    /// A count, in the short form that is shown above a column.
    static func short(_ count: Int) -> String {
        switch count {
        case 1_000_000...: "\(count / 1_000_000)M"
        case 1000...: "\(count / 1000)k"
        default: "\(count)"
        }
    }
}
