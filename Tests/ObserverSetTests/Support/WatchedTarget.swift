import Synchronization

@testable import ObserverSet

/// A target for `Int`s that counts how often a sweep, which searches for dead owners, checks it.
///
/// Tests add it directly to a registry, so that they can count how many slots a sweep checks, including those of
/// closures.
final class WatchedTarget: Target<Int>, @unchecked Sendable {
    private let looks: Counter
    private let hasOwner: Bool
    private let countsEveryCheck: Bool
    private let isOver = Atomic<Bool>(false)

    /// Creates a target with a living owner or, if `hasOwner` is false, one without an owner, like that of a closure.
    ///
    /// If `countsEveryCheck` is true, the observer also counts the checks that removals make.
    init(_ looks: Counter, hasOwner: Bool = true, countsEveryCheck: Bool = false) {
        self.looks = looks
        self.hasOwner = hasOwner
        self.countsEveryCheck = countsEveryCheck
    }

    /// Makes the owner count as dead from now on.
    func die() { isOver.store(true, ordering: .relaxed) }

    override var traits: UInt { hasOwner ? Self.hasOwner : 0 }

    // Only sweeps read this property.
    override var shouldBeSwept: Bool {
        if !countsEveryCheck { looks.increment() }
        return super.shouldBeSwept
    }

    // Every check of an owner loads it.
    override var owner: AnyObject? {
        if countsEveryCheck { looks.increment() }
        return hasOwner && !isOver.load(ordering: .relaxed) ? self : nil
    }

    override func send(_ parameters: Int, for registration: Registration, by notifier: inout Notifier) {
        if isOver.load(ordering: .relaxed) { notifier.metDead = true }
    }
}

extension Registry {
    /// Registers the target once more, even if it is already registered here or elsewhere.
    @discardableResult
    func append(_ target: Registration) -> UInt64 { append(Callee(retaining: target), site: Site()) }

    /// Registers a closure.
    @discardableResult
    func appendClosure() -> UInt64 { append(Callee(retaining: { (_: Int) in }), site: Site()) }

    /// Ends a registration, and returns `false` if it had already ended or its owner is dead.
    func remove(_ id: UInt64) -> Bool { remove(id, nil) }

    /// The number of slots in use, including those of removed observers: a notification visits each of them.
    var taken: Int { Int(lock.withLock { $0.taken }) }

    /// The number of slots in the block, that is, for all observers except the first.
    var room: Int { unsafe slots.block?.capacity ?? 0 }

    /// The number of removed observers, and of slots in replaced blocks, that are kept until the traversals in progress
    /// have ended.
    var waiting: (observers: Int, slots: Int) {
        lock.withLock { contents in
            var (observers, slots) = (0, 0)
            guard let rare = contents.rare else { return (0, 0) }
            rare.forEachRetired { _ in observers += 1 }
            unsafe (rare.older.blocks + rare.newer.blocks).forEach { unsafe slots += $0.capacity }
            return (observers, slots)
        }
    }
}

/// Counts the blocks that a registry makes, if `look()` is called after each change.
///
/// Only one thread may change the registry.
struct BlockCount {
    private let registry: Registry
    private var last: UInt
    /// The number of blocks that were made, and the number of slots in all of them.
    private(set) var blocks = 0
    private(set) var slots = 0

    init(of registry: Registry) {
        self.registry = registry
        last = Self.address(registry)
    }

    // A block that replaces another is allocated before the old one is freed, so it has another address.
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

extension Site {
    /// For observers whose site does not matter.
    init() { self.init(file: 0, line: 0) }
}
