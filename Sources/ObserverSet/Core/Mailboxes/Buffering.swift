/// How many values may be pending for a stream or an observer that awaits, and which are dropped beyond that.
///
/// ```swift
/// for await title in document.titleChanged.values(buffering: .newest(1)) { print(title) }
/// ```
///
/// The value of the call in progress is not counted. ``ObserverToken/droppedCount`` counts the dropped values of an
/// observer that awaits.
///
/// If there is room for less than one value, the program stops where the stream is made or the observer is added ("…
/// needs room for at least one element; use .newest(1) instead of .newest(0)").
public enum Buffering: Hashable, Sendable {
    /// Keeps all values: nothing is dropped, and memory grows with the backlog.
    case unbounded
    /// Keeps this many of the newest values, at least one. If there is no room, the oldest pending value is dropped.
    case newest(Int)
    /// Keeps this many of the oldest values, at least one. If there is no room, the new value is dropped.
    case oldest(Int)
    /// Keeps only the newest value, and cancels the call in progress: for a search as the user types.
    ///
    /// The call with this value waits until the cancelled one has returned. The cancelled call's handlers run on the thread
    /// that notifies, before `notify` returns. A value that is notified inside that call, or in a task that it has started
    /// with `Task { }`, does not cancel it. A stream has no calls; for it, this is `.newest(1)`.
    case latest

    /// How many values there is room for; nil if for any number.
    package var room: Int? {
        switch self {
        case .unbounded: nil
        case .newest(let room), .oldest(let room): room
        case .latest: 1
        }
    }

    /// Stops the program if there is no room for a single value.
    package func checkRoom(of what: String, file: StaticString, line: UInt) {
        guard let room, room < 1 else { return }
        let end = if case .oldest = self { "oldest" } else { "newest" }
        // Not a `precondition`: a release build leaves out its message.
        fatalError(
            "\(what) needs room for at least one element; use .\(end)(1) instead of .\(self)", file: file, line: line)
    }
}
