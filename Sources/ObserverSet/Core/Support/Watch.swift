import Synchronization

/// The core's side of a report of leaks and slow observers, see `ObserverSetDiagnostics`.
enum Watch {
    /// A figure of one line that registers.
    struct Finding: Sendable {
        let site: Site
        let count: Int
        /// How many there are of all lines in the same place.
        let total: Int
        let kind: Kind
    }

    enum Kind: Sendable {
        /// Observers of one set.
        case observers
        /// Registrations of one owner in one set.
        case sameOwner(Any.Type)
        /// Values that wait in one mailbox, and the call that is under way there, if it is known.
        case waiting(Call?)
    }

    /// A call of an observer, by the numbers of its mailbox and of the value there.
    struct Call: Equatable, Sendable {
        let mailbox: UInt64
        let number: UInt64
    }

    /// A function as the state of a lock would be wrapped once more each time that it is read.
    private struct Receiver: Sendable {
        let receive: @Sendable (Finding) -> Void
    }

    private struct Lines: Sendable {
        var sites: [Site] = []
        var numbers: [Site: UInt32] = [:]
    }

    /// Relaxed: when a report begins, other threads may find it a moment later.
    private static let flag = Atomic<Bool>(false)
    private static let receiver = Lock<Receiver?>(nil)
    /// The lines that have registered since a report began: an entry has room for a number, not for a `Site`.
    private static let lines = Lock(Lines())

    /// Whether there is a report; asked where a set or a mailbox needs more memory, when an observer is added, and when a
    /// sequence receives a value.
    static var isOn: Bool {
        @inline(__always) get { flag.load(ordering: .relaxed) }
    }

    /// Whether a mailbox with that many values has to be examined: there is a report, and their number has doubled.
    @inline(__always)
    static func looks(at count: Int) -> Bool { count & (count &- 1) == 0 && isOn }

    static func begin(_ receive: @escaping @Sendable (Finding) -> Void) {
        receiver.withLock { $0 = Receiver(receive: receive) }
        flag.store(true, ordering: .relaxed)
    }

    static func end() { flag.store(false, ordering: .relaxed) }

    /// Called under no lock: the receiver is the user's.
    static func report(_ finding: Finding) {
        UserCode.assertNoLockIsHeld()
        receiver.withLock { $0 }?.receive(finding)
    }

    /// The number of a line, which is not zero.
    static func number(of site: Site) -> UInt32 {
        lines.withLock { lines in
            if let number = lines.numbers[site] { return number }
            lines.sites.append(site)
            let number = UInt32(lines.sites.count)
            lines.numbers[site] = number
            return number
        }
    }

    /// The line with that number; nil for zero.
    static func site(_ number: UInt32) -> Site? {
        number == 0 ? nil : lines.withLock { $0.sites[Int(number) - 1] }
    }
}

/// How many values wait in a mailbox for the observers of each line.
struct WaitingValues: Sendable {
    private var sites: [UInt32: (count: Int, call: UInt64?)] = [:]
    private var total = 0

    /// Counts values for an observer of the line with that number; `call` is the number of its call that is under way, if there is one.
    mutating func add(_ count: Int = 1, of siteNumber: UInt32, call: UInt64?) {
        // Others may have taken them meanwhile.
        guard count > 0 else { return }
        total += count
        let known = sites[siteNumber] ?? (0, nil)
        sites[siteNumber] = (known.count + count, known.call ?? call)
    }

    /// Tells the report; `mailbox` is that mailbox's number.
    func report(in mailbox: UInt64 = 0) {
        for (siteNumber, (count, call)) in sites {
            // An observer that was registered before the report began has no number.
            guard let site = Watch.site(siteNumber) else { continue }
            let call = call.map { Watch.Call(mailbox: mailbox, number: $0) }
            Watch.report(Watch.Finding(site: site, count: count, total: total, kind: .waiting(call)))
        }
    }
}
