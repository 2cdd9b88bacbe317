/// The part of a change that comes after unlocking, because it runs user code.
struct Cleanup: ~Copyable {
    /// Observers and memory that no traversal can reach any more.
    var releasable = Retired()
    /// The removed observers that are awaited (`addAsync`), whose calls have to be cancelled; nil if there are none, so
    /// that nothing has to be released.
    private var ended: [AnyEntry]?

    /// Records that the registration of that observer has been removed.
    @inline(never)
    mutating func end(_ entry: AnyEntry) {
        entry.end()
        guard entry.isAwaited else { return }
        if ended == nil { ended = [] }
        ended?.append(entry)
    }

    @inline(__always)
    consuming func run() {
        if let ended { Self.cancel(ended) }
        releasable.release()
    }

    @inline(never)
    private static func cancel(_ ended: [AnyEntry]) {
        for entry in ended { entry.cancel() }
    }
}
