import Synchronization

@testable import ObserverSet

/// What a set of `Int`s has of an observer, which counts how often somebody looks whether it is dead.
///
/// Registered with all it has, so that sweeps are counted from outside: slot for slot, those of closures included.
final class WatchedEntry: Entry<Int>, @unchecked Sendable {
    private let looks: Counter
    private let hasOwner: Bool
    private let isOver = Atomic<Bool>(false)

    /// One with an owner, which is alive, or one that cannot die, like a closure's.
    init(_ looks: Counter, hasOwner: Bool = true) {
        self.looks = looks
        self.hasOwner = hasOwner
    }

    /// From here on, its owner is dead.
    func die() { isOver.store(true, ordering: .relaxed) }

    override var mayDie: Bool { hasOwner }

    // What every look begins with.
    override var ownerType: Any.Type? {
        looks.increment()
        return hasOwner ? WatchedEntry.self : nil
    }

    override var owner: AnyObject? { isOver.load(ordering: .relaxed) ? nil : self }

    override func deliver(_ parameters: Int, from here: UInt) -> Bool { !isOver.load(ordering: .relaxed) }
}

extension Registry {
    /// Registers it once more, wherever else it is registered.
    @discardableResult
    func append(_ entry: AnyEntry) -> UInt64 { append(Callee(retaining: entry), site: Site()) }

    /// Registers a closure.
    @discardableResult
    func appendClosure() -> UInt64 { append(Callee(retaining: { (_: Int) in }), site: Site()) }

    /// How many slots are taken, those included whose observers were removed: as many as a notification walks.
    var taken: Int { Int(lock.withLock { $0.counts.taken }) }

    /// For how many observers there is room behind the first.
    var room: Int { unsafe slots.block?.capacity ?? 0 }

    /// What waits for traversals to end: how many removed observers, and how many slots in blocks that were replaced.
    var waiting: (observers: Int, slots: Int) {
        lock.withLock { contents in
            var (observers, slots) = (0, 0)
            for retired in [contents.backlog?.older, contents.backlog?.newer] {
                retired?.forEachCallee { _ in observers += 1 }
                unsafe retired?.blocks.forEach { unsafe slots += $0.capacity }
            }
            return (observers, slots)
        }
    }
}

/// Counts the blocks that a registry makes, by a look after each change of its one thread.
struct BlockCount {
    private let registry: Registry
    private var last: UInt
    /// How many it has made, and how many slots these have: each is written once, when its block is made.
    private(set) var blocks = 0
    private(set) var slots = 0

    init(of registry: Registry) {
        self.registry = registry
        last = Self.address(registry)
    }

    // The one that takes another's place is made before that goes, so that it stands elsewhere.
    mutating func look() {
        let address = Self.address(registry)
        guard address != last else { return }
        last = address
        blocks += address == 0 ? 0 : 1
        slots += registry.room
    }

    private static func address(_ registry: Registry) -> UInt {
        unsafe registry.slots.block.map { unsafe UInt(bitPattern: $0.memory) } ?? 0
    }
}
