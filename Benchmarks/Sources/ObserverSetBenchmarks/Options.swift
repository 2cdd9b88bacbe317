/// The options of the command line.
struct Options {
    /// Print the report as JSON.
    private(set) var json = false
    /// Run only the rows and tables whose name contains this text.
    private(set) var filter: String?
    /// Measure only rows that have a target, and fail if one of them misses it even when it is measured again.
    private(set) var check = false
    /// Take only few samples, which show that everything runs, but are too few to judge a figure.
    private(set) var quick = false

    static let usage = """
        usage: ObserverSetBenchmarks [--json] [--filter TEXT] [--check] [--quick]

          --json         print the report as JSON, of whose tables `Benchmarks/draw` draws the documentation's pictures
          --filter TEXT  run only the rows and tables whose name contains TEXT
          --check        only the rows that are to reach something; exit with 1 if one misses it, after it has been
                         measured again, up to four times
          --quick        take few samples, to see that everything runs
        """

    /// Reads the arguments, or returns nil if one of them is wrong.
    init?(_ arguments: some Sequence<String>) {
        var rest = arguments.makeIterator()
        while let argument = rest.next() {
            switch argument {
            case "--json": json = true
            case "--check": check = true
            case "--quick": quick = true
            case "--filter":
                guard let text = rest.next() else { return nil }
                filter = text
            default: return nil
            }
        }
    }

    func includes(_ name: String) -> Bool {
        guard let filter else { return true }
        return name.lowercased().contains(filter.lowercased())
    }
}
