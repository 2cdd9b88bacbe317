/// How many values may be pending for a stream or an observer that awaits, and which are dropped beyond that.
///
/// ```swift
/// for await title in document.titleChanged.values(buffering: .newest(1)) { print(title) }
/// ```
///
/// The value of the call in progress doesn't count. A token's ``ObserverToken/droppedCount`` is the number of values
/// that were dropped.
///
/// If there is room for less than one value, the program stops where the stream is made or the observer is added ("…
/// needs room for at least one element; use .newest(1) instead of .newest(0)").
public enum Buffering: Hashable, Sendable {
    /// Keeps all values.
    ///
    /// Nothing is dropped, and memory grows with the backlog.
    case unbounded
    /// Keeps this many of the newest values; the number must be at least one.
    ///
    /// If there is no room for a new value, the oldest pending value is dropped.
    case newest(Int)
    /// Keeps this many of the oldest values; the number must be at least one.
    ///
    /// If there is no room for a new value, the new value is dropped.
    case oldest(Int)
    /// Keeps only the newest value, and cancels the call in progress: for a search as the user types.
    ///
    /// The call with the new value waits until the cancelled call has returned. The cancelled call's cancellation
    /// handlers run on the thread that notifies, before `notify` returns. A value that is sent inside a call, or in a
    /// task that the call has started with `Task { }`, does not cancel that call. A stream has no calls, so for a
    /// stream this is the same as `.newest(1)`.
    case latest

    /// The number of values that there is room for; nil if there is room for any number.
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
        // This isn't a `precondition`, because a release build leaves out a precondition's message.
        fatalError(
            "\(what) needs room for at least one element; use .\(end)(1) instead of .\(self)", file: file, line: line)
    }
}
