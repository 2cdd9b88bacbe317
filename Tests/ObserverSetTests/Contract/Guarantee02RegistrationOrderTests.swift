import Dispatch
import ObserverSet
import Testing

/// Guarantee 2: a notification calls the observers, or enqueues their values, in the order the observers were added.
@Suite("Guarantee 2: registration order", .lifetimesChecked, .againstHanging)
struct Guarantee02RegistrationOrderTests {
    private let set = ObserverSet<Int>()
    private let log = Log<Int>()
}

extension Guarantee02RegistrationOrderTests {
    @Test("Observers of any two kinds that run in place are called in order", arguments: ObserverKind.inPlace)
    func pairs(_ first: ObserverKind) {
        for second in ObserverKind.inPlace {
            let registrations = addInOrder([first, second])

            set.notify(1)

            expect(log.entries, equals: [0, 1], "\(first), \(second)")
            registrations.forEach { $0.end() }
            set.removeAll()
            log.removeAll()
        }
    }

    @Test("On the main actor, its observers are called in order with those that belong to no actor")
    @MainActor func onTheMainActor() {
        let kinds = ObserverKind.inPlace + ObserverKind.ofTheMainActor + ObserverKind.inPlace
        let registrations = addInOrder(kinds)

        set.notify(1)

        expect(log.entries, equals: Array(kinds.indices))
        registrations.forEach { $0.end() }
    }

    @Test(
        "Observers on one queue, or on the main actor and notified from elsewhere, are called in order for each value",
        arguments: [false, true])
    func elsewhere(isOnQueue: Bool) async {
        let queue = DispatchQueue(label: "serial")
        for index in 0..<20 {
            if isOnQueue {
                _ = set.addNonisolated(on: queue) { [log] _ in log.append(index) }
            } else {
                _ = set.add { @MainActor [log] _ in log.append(index) }
            }
        }

        for round in 0..<30 {
            for _ in 0..<round { set.notify(1) }
            await set.settled()
            // Waits for the end of the deliveries, too, so that none of them delivers the next round's value early.
            queue.sync {}
            await MainActor.run {}

            expect(log.entries, equals: (0..<20 * round).map { $0 % 20 })
            log.removeAll()
        }
    }

    @Test("A value is enqueued for an observer on a queue after the one before was called, and before the next is")
    func enqueuedInOrder() {
        let queue = DispatchQueue(label: "serial")
        for index in 0..<3 {
            if index == 1 {
                _ = set.addNonisolated(on: queue) { [log] _ in log.append(index) }
            } else {
                _ = set.add { [log] _ in
                    queue.sync {}
                    log.append(index)
                }
            }
        }

        set.notify(1)

        expect(log.entries, equals: [0, 1, 2])
    }

    @Test("Removing, adding and compacting leave the others in order; what is added again comes last")
    func afterChanges() {
        var tokens = (0..<1_000).map { index in set.add { [log] _ in log.append(index) } }
        var generator = SeededGenerator(seed: 2)
        var expected = Array(0..<1_000)

        for added in 1_000..<3_000 where tokens.count > 1 {
            let index = Int.random(in: 0..<tokens.count, using: &generator)
            tokens.remove(at: index).remove()
            expected.remove(at: index)
            if added.isMultiple(of: 3) {
                tokens.append(set.add { [log] _ in log.append(added) })
                expected.append(added)
            }
        }
        set.notify(1)

        expect(log.entries, equals: expected)
    }

    @Test("Observers added by several threads are called in the order in which each thread added them")
    func addedByThreads() async {
        await onThreads(4) { [set, log] thread in
            for index in 0..<500 { _ = set.add { _ in log.append(1_000 * thread + index) } }
        }

        set.notify(1)

        for thread in 0..<4 {
            let own = log.entries.filter { $0 / 1_000 == thread }
            expect(own, equals: Array(1_000 * thread..<1_000 * thread + 500))
        }
    }

    /// Adds observers that log their number.
    private func addInOrder(_ kinds: [ObserverKind]) -> [KeptRegistration] {
        kinds.enumerated().map { index, kind in kind.add(to: set) { [log] _ in log.append(index) } }
    }
}
