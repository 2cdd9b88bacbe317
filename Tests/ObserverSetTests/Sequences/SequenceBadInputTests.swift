import ObserverSet
import Testing

/// Uses of a sequence that no program should contain, although some do.
@Suite("Bad input to sequences", .lifetimesChecked, .againstHanging)
struct SequenceBadInputTests {
    @Test("A buffer without room traps, and the message says what to do")
    func noRoom() async {
        let newest = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ObserverSet<Int>().values(buffering: .newest(0))
        }
        let oldest = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ObserverSet<Int>().values(buffering: .oldest(-1))
        }

        for (result, policy) in [(newest, ".newest(0)"), (oldest, ".oldest(-1)")] {
            let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(message.contains("NotificationSequence needs room for at least one element"))
            #expect(message.contains("use .newest(1) instead of \(policy)"))
        }
    }

    @Test("Every buffer size below one traps")
    func lessThanNoRoom() async {
        await #expect(processExitsWith: .failure) { _ = ObserverSet<Int>().values(buffering: .newest(-1)) }
        await #expect(processExitsWith: .failure) { _ = ObserverSet<Int>().values(buffering: .newest(.min)) }
        await #expect(processExitsWith: .failure) { _ = ObserverSet<Int>().values(buffering: .oldest(0)) }
        await #expect(processExitsWith: .failure) { _ = ObserverSet<Int>().values(buffering: .oldest(.min)) }
    }

    @Test("A cancelled task may make sequences; they are empty, and leave nothing behind")
    func cancelledTask() async {
        let set = ObserverSet<Int>()
        await withTaskGroup(of: Void.self) { group in
            group.cancelAll()
            group.addTask {
                let sequence = set.values()
                set.notify(1)
                for await _ in sequence { Issue.record("the task was cancelled before") }
                #expect(set.isEmpty)
                #expect(sequence.droppedCount == 1)
                #expect(await set.first() == nil)
                #expect(set.isEmpty)
                for await _ in set.values() { Issue.record("the task was cancelled before") }
            }
        }
        #expect(set.isEmpty)
    }

    @Test("An iterator keeps returning nil after its end")
    func askedAfterTheEnd() async {
        var set: ObserverSet<Int>? = ObserverSet()
        var iterator = set!.values().makeAsyncIterator()
        set?.notify(1)
        set = nil

        #expect(await iterator.next() == 1)
        for _ in 0..<10 { #expect(await iterator.next() == nil) }
    }

    @Test("A loop may notify the set it listens to")
    func notifiedInItsLoop() async {
        let set = ObserverSet<Int>()
        var received: [Int] = []
        let sequence = set.values()
        set.notify(0)

        for await value in sequence {
            received.append(value)
            if value == 3 { break }
            set.notify(value + 1)
        }

        #expect(received == [0, 1, 2, 3])
        #expect(set.isEmpty)
    }
}
