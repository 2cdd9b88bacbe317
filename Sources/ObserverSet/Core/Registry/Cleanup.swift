/// The part of a change that comes after unlocking, because it runs user code.
struct Cleanup: ~Copyable {
    /// Observers and memory that no traversal can reach any more.
    var releasable = Retired()
    /// The removed observers that are awaited (`addAsync`), whose calls have to be cancelled; allocated if there are
    /// any.
    private var ended: Ended?

    private final class Ended {
        var entries: [AnyEntry] = []
    }

    /// Records that the registration of that observer has been removed.
    @inline(__always)
    mutating func end(_ entry: AnyEntry, _ id: UInt64, _ contents: inout Contents) {
        entry.end()
        guard entry.isAwaited else { return }
        contents.depart(entry, id)
        let made = ended ?? Ended()
        ended = made
        made.entries.append(entry)
    }

    @inline(__always)
    consuming func run() {
        if let ended { ended.entries.forEach { $0.cancel() } }
        releasable.release()
    }
}
