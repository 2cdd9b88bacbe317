import Foundation
import ObserverSet
import Synchronization

/// Adds, removes and lets owners die, and looks at the memory that is occupied afterwards.
struct Growth: Sendable {
    let operations: Int
    let seed: UInt64
    let mistakes: Mistakes

    /// What the second so many operations may leave beyond what the first did.
    private static var allowed: Int { 512 * 1_024 }

    private enum Notifier: String, CaseIterable {
        case nobody = "without notifications"
        case itself = "with notifications"
        case anotherThread = "with notifications from another thread"
    }

    func run() {
        for notifier in Notifier.allCases {
            let began = Date()
            let census = Census()
            let set = ObserverSet<Int>()
            var generator = SeededGenerator(seed: seed)
            work(operations / 10, set, census, notifier, &generator)
            // The first look costs memory itself.
            _ = residentBytes()
            var least = leastBytes(set, census, notifier, &generator)
            var drift = 0
            // What grows does so each time; what an allocator keeps for later comes and goes.
            for _ in 0..<3 {
                let next = leastBytes(set, census, notifier, &generator)
                drift = next - least
                least = next
                if drift < Self.allowed { break }
            }
            mistakes.note(.memoryGrew, unless: drift < Self.allowed)
            mistakes.note(.wrongCount, unless: set.isEmpty)
            mistakes.note(.notReleased, unless: census.comes(to: 0))
            let time = Date().timeIntervalSince(began).formatted(digits: 1)
            say("\(operations) operations \(notifier.rawValue): \(drift / 1_024) KiB more, in \(time) s")
        }
    }

    /// The least that is occupied after a tenth of the operations, after another, and so on to the last.
    private func leastBytes(
        _ set: ObserverSet<Int>, _ census: Census, _ notifier: Notifier, _ generator: inout SeededGenerator
    ) -> Int {
        var least = Int.max
        for _ in 0..<10 {
            work(operations / 10, set, census, notifier, &generator)
            least = min(least, residentBytes())
        }
        return least
    }

    /// Leaves nothing behind: no observer, and no notification under way, for which what is removed would have to wait.
    private func work(
        _ count: Int, _ set: ObserverSet<Int>, _ census: Census, _ notifier: Notifier,
        _ generator: inout SeededGenerator
    ) {
        let flag = Flag()
        if notifier == .anotherThread {
            Thread.detachNewThread {
                while !flag.isSet { set.notify(0) }
                flag.confirm()
            }
        }
        var tokens: [ObserverToken] = []
        var owners = (0..<8).map { _ in Tracked(census) }
        for _ in 0..<count {
            switch generator.below(8) {
            case 0, 1:
                let capture = Tracked(census)
                tokens.append(set.add { _ in _ = capture.isIntact })
                if tokens.count > 64 { tokens.remove(at: generator.below(64)).remove() }
            case 2, 3: set.add(owners[generator.below(8)]) { _, _ in }
            case 4: tokens.popLast()?.remove()
            case 5, 6: owners[generator.below(8)] = Tracked(census)
            default: if notifier == .itself { set.notify(0) }
            }
        }
        tokens.forEach { $0.remove() }
        if notifier == .anotherThread {
            flag.set()
            flag.awaitConfirmation()
        }
        owners = []
        // The entries of the dead, if nobody has notified.
        set.removeAll()
    }

    /// The memory that this process really occupies.
    private func residentBytes() -> Int {
        #if os(Linux)
        // A peak that has passed is no leak: glibc's `malloc_trim` gives back what is free; others do without.
        if let symbol = unsafe dlsym(nil, "malloc_trim") {
            _ = unsafe unsafeBitCast(symbol, to: (@convention(c) (Int) -> Int32).self)(0)
        }
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0)
            * Int(sysconf(Int32(_SC_PAGESIZE)))
        #else
        var info = mach_task_basic_info()
        var count = mach_msg_type_number_t(MemoryLayout<mach_task_basic_info>.size / MemoryLayout<natural_t>.size)
        let result = unsafe withUnsafeMutablePointer(to: &info) { pointer in
            unsafe pointer.withMemoryRebound(to: integer_t.self, capacity: Int(count)) {
                unsafe task_info(mach_task_self_, task_flavor_t(MACH_TASK_BASIC_INFO), $0, &count)
            }
        }
        return result == KERN_SUCCESS ? Int(info.resident_size) : 0
        #endif
    }
}

/// Ends another thread, and learns that it has ended.
private final class Flag: Sendable {
    private let phase = Atomic<Int>(0)

    var isSet: Bool { phase.load(ordering: .acquiring) > 0 }

    func set() { phase.store(1, ordering: .releasing) }
    func confirm() { phase.store(2, ordering: .releasing) }

    func awaitConfirmation() {
        while phase.load(ordering: .acquiring) < 2 { sched_yield() }
    }
}
