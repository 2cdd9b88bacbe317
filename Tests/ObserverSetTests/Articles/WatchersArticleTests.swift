import ObserverSet
import Synchronization
import Testing

/// What the page "On the server" says of a state and its watchers, to the letter, and what goes wrong in simpler ways.
@Suite("A state and its watchers", .lifetimesChecked, .againstHanging)
struct WatchersArticleTests {}

extension WatchersArticleTests {
    /// Settings that any thread reads and changes, and that clients watch.
    nonisolated final class Settings: Sendable {
        /// Everybody holds this lock for an instant only.
        private let values = Mutex<[String: String]>([:])
        /// Held while a setting is changed and sent, and while a watcher is added; nil when the settings are closed.
        private let watched = Mutex<[String: ObserverSet<String?>]?>([:])

        /// Readers never wait for watchers.
        subscript(name: String) -> String? { values.withLock { $0[name] } }

        func set(_ name: String, to value: String?) {
            watched.withLock { sets in
                values.withLock { $0[name] = value }
                sets?[name]?.notify(value)
            }
        }

        /// The value, then what it is after each change, without those that the client was too slow for.
        func watch(_ name: String) -> AsyncStream<String?> {
            watched.withLock { sets in
                let set =
                    sets?[name]
                    ?? ObserverSet { [weak self] isObserved in
                        if !isObserved { Task { self?.dropIfUnobserved(name) } }
                    }
                sets?[name] = set  // not if the settings are closed: then the stream ends after its first value
                return set.starting(with: self[name]).values(buffering: .newest(1))
            }
        }

        /// Ends all streams; those that are made later end after their first value.
        func close() {
            _ = watched.withLock { sets in sets.take() }  // the sets are released after unlocking
        }

        /// In a task, because the lock may be held when a set finds out that it's no longer observed.
        private func dropIfUnobserved(_ name: String) {
            _ = watched.withLock { sets in
                sets?[name]?.isEmpty == true ? sets?.removeValue(forKey: name) : nil
            }
        }
    }
}

extension WatchersArticleTests.Settings {
    fileprivate var watchedNames: [String] { watched.withLock { sets in sets.map { Array($0.keys) } ?? [] } }
}

extension WatchersArticleTests {
    @Test("However two threads change a setting, each of its streams ends with the last value")
    func lastValue() async {
        let settings = Settings()
        let streams = (0..<50).map { _ in settings.watch("level") }
        await onThreads(2) { thread in
            for step in 0..<200 { settings.set("level", to: "\(thread) \(step)") }
        }

        settings.close()

        var ends: Set<String?> = []
        for stream in streams {
            var last: String?
            for await value in stream { last = value }
            ends.insert(last)
        }
        expect(ends, equals: [settings["level"]])
    }

    @Test("A watcher receives the value first, and then each change")
    func firstValue() async {
        let settings = Settings()
        settings.set("level", to: "1")
        var values = settings.watch("level").makeAsyncIterator()
        expect(await values.next(), equals: "1")

        settings.set("other", to: "2")
        settings.set("level", to: nil)

        expect(await values.next() == .some(nil))
    }

    @Test("A set goes with its last watcher, and a later watcher gets another one")
    func lastWatcher() async {
        let settings = Settings()
        var streams = [settings.watch("level"), settings.watch("level")]
        streams.removeLast()
        expect(settings.watchedNames, equals: ["level"])

        streams.removeLast()
        await eventually { settings.watchedNames.isEmpty }

        var values = settings.watch("level").makeAsyncIterator()
        settings.set("level", to: "1")
        expect(await values.next(), equals: "1")
    }

    @Test("Closing ends every stream after what it has buffered, and those of late watchers after their first value")
    func closing() async {
        let settings = Settings()
        let early = settings.watch("level")
        settings.set("level", to: "1")
        settings.close()
        settings.set("level", to: "2")
        let late = settings.watch("level")

        var received: [String?] = []
        for await value in early { received.append(value) }
        for await value in late { received.append(value) }

        expect(received, equals: ["1", "2"])
        expect(settings.watchedNames.isEmpty)
    }

    /// A value whose end looks at the settings.
    private final class Snapshot: Sendable {
        private let whenReleased: @Sendable () -> Void
        init(_ whenReleased: @escaping @Sendable () -> Void) { self.whenReleased = whenReleased }
        deinit { whenReleased() }
    }

    @Test("What a notification releases may read the state, although the writer holds the watchers' lock")
    func releasedUnderTheLock() async {
        let state = Mutex(0)
        let changes = Mutex(ObserverSet<Snapshot>())
        let log = Log<Int>()
        let stream = changes.withLock { $0.values(buffering: .newest(1)) }

        for number in 1...3 {
            changes.withLock { changes in
                state.withLock { $0 = number }
                changes.notify(Snapshot { log.append(state.withLock { $0 }) })
            }
        }

        expect(log.entries, equals: [2, 3])
        withExtendedLifetime(stream) {}
    }

    // MARK: What goes wrong

    @Test("If a thread changes the state under a lock, and notifies after unlocking, the last value may be an old one")
    func notifiedAfterUnlocking() async {
        let state = Mutex(0)
        let changes = ObserverSet<Int>()
        let stream = changes.values(buffering: .newest(1))
        state.withLock { $0 = 1 }
        // Another thread is faster.
        join {
            state.withLock { $0 = 2 }
            changes.notify(2)
        }
        changes.notify(1)

        var values = stream.makeAsyncIterator()
        expect(await values.next(), equals: 1)
        expect(state.withLock { $0 }, equals: 2)
    }

    @Test("A set has no closed state, so a stream that is made after removeAll() doesn't end")
    func noClosedState() async {
        let changes = ObserverSet<Int>()
        changes.removeAll()
        let late = changes.values()
        let loop = Task { for await _ in late {} }

        expect(changes.count, equals: 1)

        loop.cancel()
        await loop.value
    }
}
