import ObserverSet

/// The forms of a local set's `add`, for tests of what must hold for each of them.
enum LocalForm: CaseIterable, Sendable {
    case closure, owner, once, ownerOnce

    /// Called by every notification, not only once.
    static let lasting: [LocalForm] = [.closure, .owner]

    var hasOwner: Bool { self == .owner || self == .ownerOnce }
    var isOnce: Bool { self == .once || self == .ownerOnce }

    /// Adds `body` in this form; `owner` is used by the forms that have one.
    @discardableResult
    func add<Parameters>(
        to set: LocalObserverSet<Parameters>, owner: some AnyObject, _ body: @escaping (Parameters) -> Void
    ) -> LocalObserverSet<Parameters>.Token {
        switch self {
        case .closure: set.add(body)
        case .owner: set.add(owner) { _, parameters in body(parameters) }
        case .once: set.once.add(body)
        case .ownerOnce: set.once.add(owner) { _, parameters in body(parameters) }
        }
    }
}

/// The values that observers have received, in order.
///
/// It is not `Sendable`, so only the observers of a local set can share it.
final class Notes<Element> {
    var entries: [Element] = []
}

/// An owner or capture whose lifetime is counted, and which can run a closure that is not `Sendable` when it is
/// deallocated.
final class Plain {
    private let life = Tracked()
    private let atEnd: (() -> Void)?
    var heard: [Int] = []

    init(atEnd: (() -> Void)? = nil) { self.atEnd = atEnd }

    var isIntact: Bool { life.isIntact }

    func hear(_ value: Int) { heard.append(value) }
    func hearNothing() { heard.append(-1) }
    func hearTwo(_ first: Int, _ second: Int) { heard += [first, second] }

    deinit { atEnd?() }
}
