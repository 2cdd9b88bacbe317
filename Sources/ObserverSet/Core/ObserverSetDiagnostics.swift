/// Finds the lines of code whose observers leak, or do not keep up.
///
/// ```swift
/// ObserverSetDiagnostics.report(observersPerLine: 100, waiting: 10_000) { suspicion in
///     print("observers: \(suspicion)")
/// }
/// ```
public enum ObserverSetDiagnostics {
    /// Reports lines of code that register suspiciously many observers, or whose observers let suspiciously many values
    /// wait.
    ///
    /// Call it when the program starts, in debug builds perhaps. Each suspicion is a sentence for a log:
    ///
    ///     App/RowView.swift:41 has 113 observers in one set (86 % of 131)
    ///     App/Player.swift:12 has added the same Player to one set 2 times (66 % of 3 observers)
    ///     App/Sync.swift:88 lets 12288 values wait (100 % of 12288), and its call has run for 8 s at least
    ///
    /// A line is reported again when its figure has doubled. The percentage says how much of the set or the mailbox is
    /// this line's. A loop that adds one owner many times on purpose is reported like a mistake.
    ///
    /// It is looked at when what waits in a mailbox or a sequence has doubled, and when a set needs more memory: a small
    /// one has doubled then, a large one has grown by a quarter; up to sixteen observers are looked at each time that one
    /// is added. So a suspicion comes later than its threshold is reached. Observers with owners are counted when dead
    /// owners have been searched for, which is when their number has doubled, beginning with 32. Values are counted for
    /// observers that were added while there was a report; those of a `stream()` and of local sets never. How long a call
    /// has run is known of actors' observers and of those that await; it is the time since the call was first seen under
    /// way.
    ///
    /// If another report begins or ends at the same moment, on another thread, this one begins when that has done so, which
    /// may be after this has returned.
    ///
    /// Without a report, an observer that is added costs one load more, and so does the second, the fourth, the eighth value
    /// that waits in a mailbox, and so on, and each value for a sequence.
    ///
    /// - Parameters:
    ///   - observersPerLine: How many observers that one line has added to one set are a suspicion.
    ///   - waiting: How many values that wait in one mailbox or sequence for the observers of one line are a suspicion.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    ///   - receive: Called with each suspicion, under no lock, on the thread that added the observer or notified; it may
    ///     add, remove and notify.
    /// - Returns: A token whose `remove()` ends the report.
    /// - Complexity: While there is a report, an addition costs O(1) more, amortised, and a value that waits O(log *m*), where
    ///   *m* is the number of those.
    @discardableResult
    public static func report(
        observersPerLine: Int, waiting: Int, fileID: StaticString = #fileID, line: UInt = #line,
        _ receive: @escaping @Sendable (_ suspicion: String) -> Void
    ) -> ObserverToken {
        let report = Report(observersPerLine: observersPerLine, waiting: waiting)
        return findings.addNonisolated(
            { finding in if let suspicion = report.suspicion(finding) { receive(suspicion) } }, fileID: fileID,
            line: line)
    }

    /// Observed by the reports, which each has thresholds of its own.
    private static let findings = ObserverSet<Watch.Finding>(whenObserved: watch)

    private static func watch(isObserved: Bool) {
        if isObserved { Watch.begin { findings.notify($0, isolation: nil) } } else { Watch.end() }
    }
}

/// The findings that a report has already told.
final class Report: Sendable {
    private struct Said: Sendable {
        var observers = 0
        var sameOwner = 0
        var waiting = 0
        /// The call that was under way when the line was last looked at, and when it was first seen.
        var call: (call: Watch.Call, since: ContinuousClock.Instant)?
    }

    private let observersPerLine: Int
    private let waiting: Int
    private let now: @Sendable () -> ContinuousClock.Instant
    private let said = Lock([Site: Said]())

    init(
        observersPerLine: Int, waiting: Int, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.observersPerLine = observersPerLine
        self.waiting = waiting
        self.now = now
    }

    /// The words for a finding; nil if there is nothing new to say.
    func suspicion(_ finding: Watch.Finding) -> String? {
        switch finding.kind {
        case .observers:
            guard isNew(finding, \.observers, from: observersPerLine) else { return nil }
            return "\(finding.site) has \(finding.count) observers in one set (\(share(of: finding)))"
        case .sameOwner(let type):
            guard isNew(finding, \.sameOwner, from: 2) else { return nil }
            let times = "has added the same \(type) to one set \(finding.count) times"
            return "\(finding.site) \(times) (\(share(of: finding)) observers)"
        case .waiting(let call):
            let seconds = seconds(of: call, finding.site)
            guard isNew(finding, \.waiting, from: waiting) else { return nil }
            let duration = seconds.map { $0 < 1 ? ", and is in a call" : ", and its call has run for \($0) s at least" }
            return "\(finding.site) lets \(finding.count) values wait (\(share(of: finding)))\(duration ?? "")"
        }
    }

    /// Whether the figure has reached its threshold, and has doubled since it was last said.
    private func isNew(
        _ finding: Watch.Finding, _ figure: any WritableKeyPath<Said, Int> & Sendable, from threshold: Int
    ) -> Bool {
        guard finding.count >= threshold else { return false }
        return said.withLock { said in
            let last = said[finding.site]?[keyPath: figure] ?? 0
            guard finding.count >= 2 * last else { return false }
            said[finding.site, default: Said()][keyPath: figure] = finding.count
            return true
        }
    }

    /// Notes the call that is under way, and returns for how long it has been seen; nil if there is none.
    private func seconds(of call: Watch.Call?, _ site: Site) -> Int64? {
        let now = now()
        return said.withLock { said in
            let known = said[site]?.call
            guard let call else { return nil }
            if let known, known.call == call { return known.since.duration(to: now).components.seconds }
            said[site, default: Said()].call = (call, now)
            return 0
        }
    }

    private func share(of finding: Watch.Finding) -> String {
        "\(100 * finding.count / finding.total) % of \(finding.total)"
    }
}
