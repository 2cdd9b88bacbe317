/// The part of a change that comes after unlocking, because it runs user code.
struct Cleanup: ~Copyable {
    /// Observers and memory that no traversal can reach any longer.
    var releasable = Retired()
    /// The removed registrations of observers that await (`addAsync`), whose calls must be cancelled.
    ///
    /// It is nil and not empty if there are none, so that nothing has to be released.
    private var ended: [Registration]?

    /// Marks a registration as removed, at once; if its observer awaits, its call is cancelled later.
    @inline(never)
    mutating func markRemoved(_ registration: Registration, isAwaited: Bool) {
        registration.markRemoved()
        guard isAwaited else { return }
        if ended == nil { ended = [] }
        ended?.append(registration)
    }

    @inline(__always)
    consuming func run() {
        if let ended { Self.cancel(ended) }
        releasable.release()
    }

    @inline(never)
    private static func cancel(_ ended: [Registration]) { for registration in ended { registration.cancel() } }
}
