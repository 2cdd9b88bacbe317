import Foundation
import ObserverSet
import Synchronization

/// Adds and removes observers and releases owners, and measures how much memory is in use afterwards.
struct Growth: Sendable {
    let operations: Int
    let seed: UInt64
    let mistakes: Mistakes

    /// How much the number of bytes in use may grow from one run of all operations to the next.
    private static var allowed: Int { 512 * 1_024 }

    private enum Notifier: String, CaseIterable {
        case nobody = "without notifications"
        case itself = "with notifications"
        case anotherThread = "with notifications from another thread"
    }

    func run() async {
        for notifier in Notifier.allCases {
            let began = Date()
            let lifetimes = Lifetimes()
            let set = ObserverSet<Int>()
            var generator = SeededGenerator(seed: seed)
            await work(operations / 10, set, lifetimes, notifier, &generator)
            // The first measurement itself allocates memory.
            _ = AllocatedMemory.bytes
            var least = await leastBytes(set, lifetimes, notifier, &generator)
            var drift = 0
            // Memory that leaks grows in each run, but the memory that an allocator keeps for later use comes and goes.
            for _ in 0..<3 {
                let next = await leastBytes(set, lifetimes, notifier, &generator)
                drift = next - least
                least = next
                if drift < Self.allowed { break }
            }
            mistakes.note(.memoryGrew, unless: drift < Self.allowed)
            mistakes.note(.wrongCount, unless: set.isEmpty)
            mistakes.note(.notReleased, unless: lifetimes.count == 0)
            let time = Date().timeIntervalSince(began).formatted(digits: 1)
            say("\(operations) operations \(notifier.rawValue): \(drift / 1_024) KiB more, in \(time) s")
        }
    }

    /// Performs all operations, and returns the least memory that was in use after any tenth of them.
    private func leastBytes(
        _ set: ObserverSet<Int>, _ lifetimes: Lifetimes, _ notifier: Notifier, _ generator: inout SeededGenerator
    ) async -> Int {
        var least = Int.max
        for _ in 0..<10 {
            await work(operations / 10, set, lifetimes, notifier, &generator)
            least = min(least, AllocatedMemory.bytes ?? 0)
        }
        return least
    }

    /// Performs operations, and then removes all observers.
    ///
    /// When it returns, no notification is in progress, so no removed observer is still kept for one.
    private func work(
        _ count: Int, _ set: ObserverSet<Int>, _ lifetimes: Lifetimes, _ notifier: Notifier,
        _ generator: inout SeededGenerator
    ) async {
        let isOver = Signal()
        async let other: Void = onThread {
            while notifier == .anotherThread, !isOver.isSet { set.notify(0) }
        }
        var tokens: [ObserverToken] = []
        var owners = (0..<8).map { _ in Tracked(in: lifetimes) }
        for _ in 0..<count {
            switch generator.below(8) {
            case 0, 1:
                let capture = Tracked(in: lifetimes)
                tokens.append(set.add { _ in _ = capture.isIntact })
                if tokens.count > 64 { tokens.remove(at: generator.below(64)).remove() }
            case 2, 3: set.add(owners[generator.below(8)]) { _, _ in }
            case 4: tokens.popLast()?.remove()
            case 5, 6: owners[generator.below(8)] = Tracked(in: lifetimes)
            default: if notifier == .itself { set.notify(0) }
            }
        }
        tokens.forEach { $0.remove() }
        isOver.set()
        await other
        owners = []
        // This removes the observers of dead owners, in case that no notification has removed them.
        set.removeAll()
    }
}
