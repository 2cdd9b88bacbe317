import ObserverSet
import Testing

/// What has ended when the end of an observer returns, if its call, or a notification, is under way elsewhere.
@Suite("What has ended when an observer's end returns", .lifetimesChecked, .againstHanging)
struct WhatHasEndedTests {
    private let log = Log<String>()
}

extension WhatHasEndedTests {
    // MARK: Calls

    /// Where a call is under way: in place on another thread, on another actor, on a queue, suspended.
    private static let elsewhere: [ObserverKind] = [.owner, .mainActorOwner, .queueOwner, .awaitedOwner]

    enum End: CaseIterable, Sendable {
        case token, set, setIsEmptied, ownerIsRemoved, bagIsReleased, bagIsEmptied, waiting, waitingInACancelledTask
        /// A call holds its owner until it returns, and in place its notification holds the set.
        case ownerIsReleased, setIsReleased

        /// Whether the observer's call is cancelled if it awaits.
        var cancels: Bool { self != .ownerIsReleased && self != .setIsReleased }
    }

    @Test(
        "Only `removeAndWait()` waits for a call under way; removals cancel one that awaits, its owner's or set's end does not",
        arguments: elsewhere, End.allCases)
    func calls(_ kind: ObserverKind, _ end: End) async {
        let set = Shared<ObserverSet<Int>?>(ObserverSet())
        weak let weakSet = set.value
        var call = await StoppedCall(kind, of: set.value!, by: set.value!) { [log] in
            log.append("the call returns, cancelled: \(Task.isCancelled)")
        }
        let token = call.token
        let owner = Shared(call.registration.owner)
        call.registration = KeptRegistration(token)

        await letOn(call, waits: end == .waiting) { [log] in
            switch end {
            case .token: token.remove()
            case .set: _ = set.value?.remove(token)
            case .setIsEmptied: set.value?.removeAll()
            case .ownerIsRemoved: _ = set.value?.removeAll(ownedBy: owner.value!)
            case .bagIsReleased: do { ObserverBag().insert(token) }
            case .bagIsEmptied: ObserverBag(token).removeAll()
            case .waiting: await token.removeAndWait()
            case .waitingInACancelledTask:
                let task = Task { await token.removeAndWait() }
                task.cancel()
                _ = await task.value
            case .ownerIsReleased: owner.value = nil
            case .setIsReleased:
                set.value = nil
                if kind != .owner { await eventually { weakSet == nil } }
            }
            log.append("its observer's end returns, active: \(token.isActive)")
        }

        let isHeld = end == .ownerIsReleased || end == .setIsReleased && kind == .owner
        let ends = "its observer's end returns, active: \(isHeld)"
        let returns = "the call returns, cancelled: \(kind.isAwaited && end.cancels)"
        await call.end()
        await eventually { log.count == 2 && !token.isActive }
        expect(log.entries, equals: end == .waiting ? [returns, ends] : [ends, returns])
        #expect(!token.isActive)
    }

    // MARK: Streams

    enum StreamEnd: CaseIterable, Sendable {
        case token, waiting, taskIsCancelled, loopIsLeft, lastHolderGoes

        /// Whether the stream's loop is in its body meanwhile.
        var isInLoop: Bool { self != .loopIsLeft && self != .lastHolderGoes }
    }

    @Test(
        "No end of a stream waits for its loop's body, and only `removeAndWait()` for a notification under way",
        arguments: StreamEnd.allCases)
    func streams(_ end: StreamEnd) async {
        let set = ObserverSet<Int>()
        let door = Door()
        let made = Shared<(stream: AsyncStream<Int>, token: ObserverToken)?>(set.makeStream())
        let token = made.value!.token
        // The first observer is the stream's, and the second holds up the notification.
        let call = await StoppedCall(.closure, of: set, by: set) { [log] in log.append("the notification goes on") }
        let reading = Task { [log] in
            guard end.isInLoop, let stream = made.exchange(nil)?.stream else { return }
            for await _ in stream {
                await door.pass()
                log.append("the body goes on, cancelled: \(Task.isCancelled)")
            }
        }
        await eventually { door.waiting == 1 || !end.isInLoop }

        await letOn(call, waits: end == .waiting) { [log] in
            switch end {
            case .token: token.remove()
            case .waiting: await token.removeAndWait()
            case .taskIsCancelled: reading.cancel()
            case .loopIsLeft: for await _ in made.exchange(nil)!.stream { break }
            case .lastHolderGoes: made.value = nil
            }
            log.append("the stream's end returns, active: \(token.isActive)")
        }
        await call.end()
        door.open()
        await reading.value

        // A task that is cancelled ends its stream only when its loop waits for the next value.
        let ends = "the stream's end returns, active: \(end == .taskIsCancelled)"
        let notification = "the notification goes on"
        let body = end.isInLoop ? ["the body goes on, cancelled: \(end == .taskIsCancelled)"] : []
        expect(log.entries, equals: (end == .waiting ? [notification, ends] : [ends, notification]) + body)
        expect(set.count == 1 && !token.isActive)
    }

    /// Has another task run `end`, and lets the call go on when that has returned, or meanwhile if it waits for the call.
    private func letOn(_ call: StoppedCall, waits: Bool, _ end: @escaping @Sendable () async -> Void) async {
        let ending = await taskThatWaits(end)
        // If it didn't wait, it would very likely have returned by now. If it does wait, the loop changes nothing.
        if waits { for _ in 0..<100 { await Task.yield() } } else { await ending.value }
        call.letGo()
        await ending.value
    }
}
