/// Limits how long a drain may keep an actor before it lets other work onto it: a thousand calls, or about four
/// milliseconds.
struct Turn {
    static let limit = 1_000

    /// The beginning of the turn, as a duration since some instant.
    ///
    /// It isn't an instant, because an instant's layout is found only at run time, and so would be the layout of
    /// whatever contains it.
    private let began = Self.now
    private static let someInstant = ContinuousClock.now
    private static var now: Duration { someInstant.duration(to: .now) }
    private var calls = 0
    /// The number of calls after which to look at the clock, which costs as much as a few calls.
    private var nextLook: Int

    /// Begins a turn.
    ///
    /// Pass false for `isTimed` if the number of calls must not depend on the machine's speed.
    init(isTimed: Bool = true) { nextLook = isTimed ? 1 : Self.limit }

    /// Counts a call, and returns whether the turn is over.
    @inline(__always)
    mutating func isOver() -> Bool {
        calls += 1
        return calls >= nextLook && isOverByNow()
    }

    @inline(never)
    private mutating func isOverByNow() -> Bool {
        let spent = Self.now - began
        // If calls take less than 30 µs on average, look again after as many calls as there have been, but after at
        // most 16, so that a few long calls don't go unnoticed. Otherwise, look again after each call.
        let isBrisk = spent < .microseconds(30 * calls)
        nextLook = min(calls + (isBrisk ? min(calls, 16) : 1), Self.limit)
        return calls >= Self.limit || spent >= .milliseconds(4)
    }
}
