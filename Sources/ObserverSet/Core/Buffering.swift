/// How many values wait for a sequence's iterator, or for an observer that awaits, and which are dropped beyond that.
///
/// ```swift
/// for await title in document.titleChanged.values(buffering: .newest(1)) { print(title) }
/// ```
///
/// The value with which an observer is being called no longer waits, and does not count. What is dropped is counted, in
/// ``NotificationSequence/droppedCount`` and ``ObserverToken/droppedCount``.
///
/// Room for less than one value stops the program where the sequence is made or the observer added ("… needs room for at
/// least one element; use .newest(1) instead of .newest(0)").
public enum Buffering: Hashable, Sendable {
    /// As many as come: nothing is dropped, and memory grows with what waits.
    case unbounded
    /// So many of the latest, at least one: the oldest that waits makes room for a new one.
    case newest(Int)
    /// So many of the earliest, at least one: a new one is dropped while there is no room.
    case oldest(Int)

    /// How many values there is room for; nil if for any number.
    package var room: Int? {
        switch self {
        case .unbounded: nil
        case .newest(let room), .oldest(let room): room
        }
    }

    /// Stops the program if there is no room for a single value.
    package func checkRoom(of what: String, file: StaticString, line: UInt) {
        guard let room, room < 1 else { return }
        // Not a precondition, whose message a release build leaves out.
        fatalError(
            "\(what) needs room for at least one element; use .newest(1) instead of .\(self)", file: file, line: line)
    }
}
