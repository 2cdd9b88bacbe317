import ObserverSet
import Testing

/// Promise 2: observers of one notification are called (or enqueued) in the order in which they were added.
@Suite("Promise 2: registration order", .lifetimesChecked)
struct Promise02RegistrationOrderTests {
    @Test("Observers of every kind that run in place are called in the order in which they were added")
    func inPlace() {
        let set = ObserverSet<Int>()
        let log = Log<String>()
        let owner = Tracked()
        set.add { log.append("closure \($0)") }
        set.add(owner) { _, value in log.append("owner \(value)") }
        set.addNonisolated { log.append("nonisolated \($0)") }
        set.addOnce { log.append("once \($0)") }
        set.addNonisolated(owner) { _, value in log.append("nonisolated owner \(value)") }

        set.notify(1)
        set.notify(2)

        #expect(
            log.entries == [
                "closure 1", "owner 1", "nonisolated 1", "once 1", "nonisolated owner 1",
                "closure 2", "owner 2", "nonisolated 2", "nonisolated owner 2",
            ])
    }
}
