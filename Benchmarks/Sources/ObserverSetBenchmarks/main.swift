import Foundation

// Everything is measured in functions that belong to no actor: a closure literal that stands here would belong to the
// main actor.
exit(run(CommandLine.arguments.dropFirst()))

/// Runs the program, and returns its exit status.
nonisolated func run(_ arguments: some Sequence<String>) -> Int32 {
    guard let options = Options(arguments) else {
        complain(Options.usage)
        return 2
    }
    #if DEBUG
    complain("Figures of a debug build say nothing: run with -c release.")
    return 2
    #else
    return report(options)
    #endif
}

nonisolated func report(_ options: Options) -> Int32 {
    let rows = allRows.filter(options.includes)
    guard !rows.isEmpty else {
        complain("There is no row whose name contains \"\(options.filter ?? "")\".")
        return 2
    }
    let plan = options.quick ? Plan.quick : Plan.full
    if !options.json { tell(Table.head) }
    var lines: [Line] = []
    for (number, row) in rows.enumerated() {
        complain("[\(number + 1)/\(rows.count)] \(row.name)")
        let line = Line(row, row.measure(plan))
        if !options.json { tell(Table.line(line)) }
        lines.append(line)
    }
    let missed = lines.count { $0.isReached == false }
    if options.json { tell(json(lines)) }
    complain(missed == 0 ? "Every row reaches what it is to reach." : "\(missed) of \(rows.count) rows miss.")
    return options.check && missed > 0 ? 1 : 0
}

nonisolated var allRows: [Row] {
    NotifyRows.all + OwnerRows.all + ChangeRows.all + ThreadRows.all + HopRows.all + MemoryRows.all + EventRows.all
        + DelegateRows.all + SequenceRows.all + LocalRows.all
}

/// Writes to the standard output at once, so that a long run can be watched.
nonisolated func tell(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

/// Writes what is not the report.
nonisolated func complain(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
}
