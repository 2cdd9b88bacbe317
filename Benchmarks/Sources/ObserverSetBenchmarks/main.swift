import Foundation

// Everything is measured in functions that belong to no actor, because a closure literal at the top level would belong
// to the main actor.
exit(run(CommandLine.arguments.dropFirst()))

/// Runs the program, and returns its exit status.
nonisolated func run(_ arguments: ArraySlice<String>) -> Int32 {
    if arguments.first == MainThreadRows.argument {
        MainThreadRows.printSamples(arguments.dropFirst())
        return 0
    }
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
    // Rows that are only reported cannot fail a check.
    var rows = allRows.filter { options.includes($0.name) && (!options.check || $0.reach.isJudged) }
    if options.check, rows.contains(where: \.needsQuiet), !isQuiet() {
        complain("Another program is at work, so these are left out:")
        for row in rows where row.needsQuiet { complain("    \(row.name), against \(row.baseline)") }
        rows.removeAll(where: \.needsQuiet)
    }
    let sections = options.check ? [] : Section.all.filter { options.includes($0.name) }
    let count = rows.count + sections.count
    guard count > 0 else {
        complain("There is no row and no table whose name contains \"\(options.filter ?? "")\".")
        return 2
    }
    let plan = options.quick ? Plan.quick : options.check ? Plan.check : Plan.full
    // This prints each result at once, for a human reader. For another program, the whole report is printed at the end.
    func told(_ text: String) { if !options.json { tell(text) } }
    var report = Report()
    told("\(report.conditions)\n")
    if !rows.isEmpty { told(Table.head) }
    for (index, row) in rows.enumerated() {
        complain("[\(index + 1)/\(count)] \(row.name)")
        report.rows.append(Line.measuring(row, plan, atMost: options.check ? 5 : 1))
        told(Table.line(report.rows[index]))
    }
    for (index, section) in sections.enumerated() {
        complain("[\(rows.count + index + 1)/\(count)] \(section.name)")
        report.tables.append(section.result(plan))
        told("\n" + Table.text(report.tables[index]))
    }
    if options.json { tell(report.json) }
    let missed = report.rows.filter { $0.isReached == false }.map {
        "\n    \($0.name), against \($0.baseline ?? "none")"
    }
    complain(
        missed.isEmpty ? "No row misses what it is to reach." : "These miss what they are to reach:" + missed.joined())
    return options.check && !missed.isEmpty ? 1 : 0
}

nonisolated var allRows: [Row] {
    EverydayRows.all + NotifyRows.all + OwnerRows.all + ChangeRows.all + ThreadRows.all + ContentionRows.all
        + HopRows.all
        + MemoryRows.all + EventRows.all + DelegateRows.all + SequenceRows.all + LocalRows.all + SourceRows.all
        + MainThreadRows.all
}

/// Writes to the standard output at once, so that a long run can be watched.
nonisolated func tell(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

/// Writes a message that is not part of the report to the standard error.
nonisolated func complain(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
}
