import ObserverSet
import Synchronization
import Testing

/// The examples of the page "Testing", to the letter, and what it says of `settled()`.
@Suite("Testing code that notifies", .lifetimesChecked, .againstHanging)
struct TestingArticleTests {}

extension TestingArticleTests {
    // MARK: What is tested

    @MainActor final class Playlist {
        let itemAdded = ObserverSet<String>()
        private(set) var items: [String] = []

        func append(_ name: String) {
            guard !items.contains(name) else { return }
            items.append(name)
            itemAdded.notify(name)
        }
    }

    actor History {
        private(set) var names: [String] = []

        init(_ playlist: Playlist) {
            playlist.itemAdded.add(self) { history, name in history.names.append(name) }
        }
    }

    // MARK: In place

    @Test @MainActor func appendingNotifies() {
        let playlist = Playlist()
        var added: [String] = []
        _ = playlist.itemAdded.add { name in added.append(name) }

        playlist.append("So What")
        playlist.append("Blue in Green")

        #expect(added == ["So What", "Blue in Green"])
    }

    final class Recorder<Value: Sendable>: Sendable {
        private let storage = Mutex<[Value]>([])
        var values: [Value] { storage.withLock { $0 } }

        func record(_ source: some NotificationSource<Value>) {
            source.addNonisolated(self) { recorder, value in recorder.storage.withLock { $0.append(value) } }
        }
    }

    @Test func readingNotifies() {
        let lineRead = ObserverSet<String>()
        let closed = ObserverSet<Void>()
        let recorder = Recorder<String>()
        recorder.record(lineRead.map { line in "read \(line)" })
        recorder.record(closed.map { "closed" })

        lineRead.notify("one")
        closed.notify()

        #expect(recorder.values == ["read one", "closed"])
    }

    // MARK: Elsewhere

    @Test @MainActor func historyFollows() async {
        let playlist = Playlist()
        let history = History(playlist)

        playlist.append("So What")
        await playlist.itemAdded.settled()

        #expect(await history.names == ["So What"])
    }

    actor Relay {
        init(_ first: ObserverSet<Int>, _ second: ObserverSet<Int>) {
            first.add(self) { _, value in second.notify(value) }
        }
    }

    actor Receiver {
        private(set) var values: [Int] = []

        init(_ set: ObserverSet<Int>) {
            set.add(self) { receiver, value in receiver.values.append(value) }
        }
    }

    @Test("A chain of sets has been delivered when each of them has been awaited, in the order of the chain")
    func chain() async {
        let first = ObserverSet<Int>()
        let second = ObserverSet<Int>()
        let relay = Relay(first, second)
        let receiver = Receiver(second)

        for value in 1...100 { first.notify(value) }
        await first.settled()
        await second.settled()

        #expect(await receiver.values == Array(1...100))
        withExtendedLifetime(relay) {}
    }

    @Test("`settled()` waits for an observer that awaits, but not for a task that an observer starts, nor for a loop")
    func whatSettledDoesNotWaitFor() async {
        let set = ObserverSet<Int>()
        let door = Door()
        let log = Log<String>()
        _ = set.add { _ in
            Task {
                await door.pass()
                log.append("task")
            }
        }
        let loop = Task { [values = set.values()] in
            for await _ in values {
                await door.pass()
                log.append("loop")
            }
        }

        set.notify(1)
        await set.settled()
        #expect(log.entries == [])

        _ = set.addAsync { _ in log.append("awaited") }
        set.notify(2)
        await set.settled()
        #expect(log.entries == ["awaited"])

        door.open()
        await eventually { log.count == 5 }
        set.removeAll()
        await loop.value
        #expect(log.entries.filter { $0 == "task" }.count == 2)
        #expect(log.entries.filter { $0 == "loop" }.count == 2)
    }

    // MARK: How often

    @Test @MainActor func duplicatesAreNotSent() async {
        let playlist = Playlist()
        playlist.append("So What")
        await confirmation(expectedCount: 0) { added in
            _ = playlist.itemAdded.add { _ in added() }
            playlist.append("So What")
        }
    }

    // MARK: As a stream

    @Test @MainActor func namesArriveInOrder() async {
        let playlist = Playlist()
        let names = playlist.itemAdded.values()  // receives from here on

        playlist.append("So What")
        playlist.append("Blue in Green")
        playlist.itemAdded.removeAll()  // ends the stream, after what was sent

        var received: [String] = []
        for await name in names { received.append(name) }
        #expect(received == ["So What", "Blue in Green"])
    }

    // MARK: Who observes

    @MainActor final class TitleView {
        private(set) var title = ""

        init(_ titles: any NotificationSource<String>) {
            titles.add(self) { view, title in view.title = title }
        }
    }

    @Test @MainActor func viewEndsWithItsOwner() {
        let titles = ObserverSet<String>()
        var view: TitleView? = TitleView(titles)
        weak let reference = view
        #expect(titles.count == 1)

        view = nil

        #expect(reference == nil)
        #expect(titles.isEmpty)
    }

    // MARK: An observer that hangs

    @Test @MainActor func hangingObserverLosesTitles() async {
        let titles = ObserverSet<String>()
        let began = ObserverSet<Void>()
        let gate = ObserverSet<Void>()
        var calls = began.values().makeAsyncIterator()  // made first, so that it misses nothing
        let token = titles.addAsync(buffering: .newest(1)) { _ in
            began.notify()
            _ = await gate.first()
        }

        titles.notify("one")
        await calls.next()  // the call is in progress
        for title in ["two", "three", "four"] { titles.notify(title) }
        #expect(token.droppedCount == 2)

        await token.removeAndWait()  // cancels the call, which opens the gate, and waits for it
    }
}
