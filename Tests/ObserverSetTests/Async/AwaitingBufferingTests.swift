import ObserverSet
import Testing

/// Which values wait for an observer that awaits, and which are dropped.
@Suite("Buffering of observers that await", .lifetimesChecked, .againstHanging)
struct AwaitingBufferingTests {
    private let set = ObserverSet<Int>()
    private let received = Log<Int>()
    private let door = Door()
}

extension AwaitingBufferingTests {
    /// With which of six values the observer is called, if the first one is being delivered when the others arrive.
    private static let outcomes: [(Buffering, called: [Int])] = [
        (.unbounded, called: [0, 1, 2, 3, 4, 5]),
        (.newest(1), called: [0, 5]), (.newest(2), called: [0, 4, 5]), (.newest(9), called: [0, 1, 2, 3, 4, 5]),
        (.oldest(1), called: [0, 1]), (.oldest(2), called: [0, 1, 2]), (.oldest(9), called: [0, 1, 2, 3, 4, 5]),
        (.latest, called: [0, 5]),
    ]

    @Test(
        "A limit does not count the value in delivery, and dropped values are counted",
        arguments: AwaitingForm.allCases, outcomes)
    func limits(_ form: AwaitingForm, _ outcome: (Buffering, called: [Int])) async {
        let registration = form.add(to: set, buffering: outcome.0) { [received, door] value in
            received.append(value)
            await door.pass()
        }

        set.notify(0)
        await eventually { door.waiting == 1 }
        for value in 1...5 { set.notify(value) }
        expect(registration.token.droppedCount, equals: 6 - outcome.called.count)
        door.open()
        await set.settled()

        expect(received.entries, equals: outcome.called)
        expect(registration.token.droppedCount, equals: 6 - outcome.called.count)
        registration.token.remove()
        expect(registration.token.droppedCount, equals: 0, "a registration that has ended reports no dropped values")
        registration.end()
    }

    @Test(
        "A value is released when its call has returned, or when it is dropped",
        arguments: [.newest(3), .oldest(3)] as [Buffering])
    func released(_ buffering: Buffering) async {
        let set = ObserverSet<Tracked>()
        let lifetimes = Lifetimes.current
        let token = set.addAsync(buffering: buffering) { [door] _ in await door.pass() }
        set.notify(Tracked())
        await eventually { door.waiting == 1 }

        for _ in 0..<10 { set.notify(Tracked()) }
        for left in [4, 3, 2] {
            await eventually { door.waiting == 1 && lifetimes.count == left }
            expect(lifetimes.count, equals: left, "one in the call, the others wait")
            if left > 2 { door.letOnOne() }
        }
        token.remove()

        expect(lifetimes.count, equals: 1, "only the value of the current call is left")
        door.open()
        await eventually { lifetimes.count == 0 }
        expect(lifetimes.count, equals: 0)
    }

    // MARK: Memory

    @Test("With a limit, memory stays flat while a call does not return; after a burst it is freed", .measuringMemory)
    func memory() async {
        await #expect(processExitsWith: .success) {
            let set = ObserverSet<Int>()
            let door = Door()
            let limited = set.addAsync(buffering: .newest(1)) { _ in await door.pass() }
            set.notify(0)
            await eventually { door.waiting == 1 }
            set.notify(0)
            let waiting = await taskThatWaits(for: set)
            let flat = await AllocatedMemory.growth {
                for number in 0..<10_000 { set.notify(number) }
            } _: {
                for number in 0..<many(1_000_000) { set.notify(number) }
            }
            expect(flat < 512 << 10, "\(flat) bytes")
            limited.remove()
            door.letOnOne()
            await waiting.value

            _ = set.addAsync { number in if number == 0 { await door.pass() } }
            // Lets that many values wait at once, and then has them delivered.
            let send: (Int) async -> Void = { count in
                set.notify(0)
                await eventually { door.waiting == 1 }
                for number in 0..<count { set.notify(number + 1) }
                door.letOnOne()
                await set.settled()
            }
            for more in [nil, 1_000] {
                let growth = await AllocatedMemory.growth {
                    await send(1_000)
                } _: {
                    await send(many(500_000))
                    if let more { await send(more) }
                }
                // The memory for twenty-five thousand values is a quarter of a mebibyte.
                expect(growth < 128 << 10, "\(growth) bytes, after \(more ?? 0) more")
            }
        }
    }

    // MARK: Bad input

    @Test("A limit without room traps, with a message that says what to do")
    func noRoom() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ObserverSet<Int>().addAsync(buffering: .newest(0)) { _ in }
        }

        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        let advice = "use .newest(1) instead of .newest(0)"
        #expect(message.contains("An observer that awaits needs room for at least one element; \(advice)"))
    }

    // MARK: A new value cancels the call in progress

    /// Search as the user types: the answer to the last text is wanted, and no other.
    @Test("With `.latest`, a new value cancels the call in progress, and is alone in waiting for its end")
    func latest() async {
        let log = Log<String>()
        let token = set.addAsync(buffering: .latest) { [door] value in
            log.append("in \(value)")
            await door.pass()
            log.append("out \(value)" + (Task.isCancelled ? ", cancelled" : ""))
        }

        set.notify(1)
        await eventually { door.waiting == 1 }
        for value in 2...4 { set.notify(value) }
        expect(log.entries, equals: ["in 1"])
        door.open()
        await set.settled()

        expect(log.entries, equals: ["in 1", "out 1, cancelled", "in 4", "out 4"])
        expect(token.droppedCount, equals: 2)
    }

    @Test("With `.latest`, no value cancels the call of an observer that is called once")
    func latestOnce() async {
        for _ in 0..<many(20_000) {
            let set = ObserverSet<Int>()
            let (called, cancelled) = (Counter(), Counter())
            let token = set.once.addAsync(buffering: .latest) { _ in
                if Task.isCancelled { cancelled.increment() }
                called.increment()
            }
            while called.value == 0 {
                set.notify(1)
                await Task.yield()
            }
            await token.removeAndWait()
            expect(cancelled.value, equals: 0)
        }
    }

    @Test("With `.latest`, a value that is notified inside the call does not cancel it")
    func latestByItself() async {
        let set = ObserverSet<Int>()
        let log = Log<String>()
        _ = set.addAsync(buffering: .latest) { [weak set] value in
            if value == 1 { set?.notify(2) }
            await Task.yield()
            log.append("\(value)" + (Task.isCancelled ? ", cancelled" : ""))
        }

        set.notify(1)
        await eventually { log.count == 2 }

        expect(log.entries, equals: ["1", "2"])
    }
}
