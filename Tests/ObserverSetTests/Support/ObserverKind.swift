import Dispatch
import ObserverSet
import Testing

/// Every way in which an observer can be added.
enum ObserverKind: CaseIterable, Sendable {
    case closure, nonisolated, once, adapted
    case owner, ownerMethod, ownerNonisolated, ownerOnce
    case mainActor, mainActorOwner, mainActorMethod, mainActorOnce
    case actor, actorOwner
    case queue, queueOwner
    case awaited, awaitedOwner, awaitedOnTheMainActor, awaitedActorOwner

    /// The observers that are called in place, whichever thread notifies.
    static let inPlace = allCases.filter(\.mayCallInPlace)
    /// The observers that are called on an actor, on a queue or in a task; some of them in place if the notifier is
    /// there.
    static let hopping = allCases.filter { !$0.mayCallInPlace }
    /// The observers that every notification calls, not only the first one.
    static let lasting = allCases.filter { !$0.isOnce }
    static let lastingInPlace = inPlace.filter { !$0.isOnce }
    static let lastingHopping = hopping.filter { !$0.isOnce }
    static let ofTheMainActor: [ObserverKind] = [.mainActor, .mainActorOwner, .mainActorMethod, .mainActorOnce]
    /// The observers that are removed when their owner is deallocated.
    static let owned = allCases.filter(\.hasOwner)
    /// The observers that only the set holds; a method is held by its owner.
    static let held = allCases.filter { $0 != .ownerMethod && $0 != .mainActorMethod }

    var mayCallInPlace: Bool {
        switch self {
        case .closure, .nonisolated, .once, .adapted, .owner, .ownerMethod, .ownerNonisolated, .ownerOnce: true
        default: false
        }
    }

    var isOnce: Bool {
        switch self {
        case .once, .ownerOnce, .mainActorOnce: true
        default: false
        }
    }

    var isAwaited: Bool {
        switch self {
        case .awaited, .awaitedOwner, .awaitedOnTheMainActor, .awaitedActorOwner: true
        default: false
        }
    }

    var hasOwner: Bool {
        switch self {
        case .owner, .ownerMethod, .ownerNonisolated, .ownerOnce: true
        case .mainActorOwner, .mainActorMethod, .actorOwner, .queueOwner: true
        case .awaitedOwner, .awaitedActorOwner: true
        default: false
        }
    }

    /// Adds an observer of this kind that calls `call`.
    func add<Parameters>(
        to source: some NotificationSource<Parameters>, _ call: @escaping @Sendable (Parameters) -> Void
    ) -> KeptRegistration {
        let listener = PlainListener(self == .ownerMethod ? call : { _ in })
        let onMain = MainActorListener(call)
        let keeper = Keeper()
        return switch self {
        case .closure: KeptRegistration(source.add { call($0) })
        case .nonisolated: KeptRegistration(source.addNonisolated { call($0) })
        case .once: KeptRegistration(source.once.add { call($0) })
        case .adapted:
            KeptRegistration(Mapped(source: source) { (parameters: Parameters) in parameters }.add { call($0) })
        case .owner: KeptRegistration(source.add(listener) { _, value in call(value) }, listener)
        case .ownerMethod: KeptRegistration(source.add(method: PlainListener.hear, of: listener), listener)
        case .ownerNonisolated: KeptRegistration(source.addNonisolated(listener) { _, value in call(value) }, listener)
        case .ownerOnce: KeptRegistration(source.once.add(listener) { _, value in call(value) }, listener)
        case .mainActor: KeptRegistration(source.add { @MainActor in call($0) })
        case .mainActorOwner: KeptRegistration(source.add(listener) { @MainActor _, value in call(value) }, listener)
        case .mainActorMethod: KeptRegistration(source.add(method: MainActorListener.hear, of: onMain), onMain)
        case .mainActorOnce: KeptRegistration(source.once.add { @MainActor in call($0) })
        case .actor: KeptRegistration(source.add { @Elsewhere in call($0) })
        case .actorOwner:
            KeptRegistration(source.add(keeper) { (_: isolated Keeper, value) in call(value) }, keeper)
        case .queue: KeptRegistration(source.addNonisolated(on: DispatchQueue(label: "observer")) { call($0) })
        case .queueOwner:
            KeptRegistration(
                source.addNonisolated(on: DispatchQueue(label: "observer"), listener) { _, value in call(value) },
                listener)
        case .awaited:
            KeptRegistration(
                source.addAsync { value in
                    await Task.yield()
                    call(value)
                })
        case .awaitedOwner: KeptRegistration(source.addAsync(listener) { _, value in call(value) }, listener)
        case .awaitedOnTheMainActor: KeptRegistration(source.addAsync { @MainActor value in call(value) })
        case .awaitedActorOwner:
            KeptRegistration(
                source.addAsync(keeper) { (_: isolated Keeper, value) in
                    await Task.yield()
                    call(value)
                }, keeper)
        }
    }
}

/// The token of an observer, together with its owner, which a test keeps alive in this way.
struct KeptRegistration: Sendable {
    let token: ObserverToken
    let owner: (any AnyObject & Sendable)?

    init(_ token: ObserverToken, _ owner: (any AnyObject & Sendable)? = nil) {
        self.token = token
        self.owner = owner
    }

    /// Keeps the owner alive until this call.
    func end() { withExtendedLifetime(owner) {} }
}

/// An actor that is not the main one.
@globalActor actor Elsewhere {
    static let shared = Elsewhere()
}

/// An actor that owns observers.
actor Keeper {
    private let life = Tracked()

    /// Runs `body` on the actor.
    func perform<Result: Sendable>(_ body: @Sendable (isolated Keeper) -> Result) -> Result { body(self) }
}

/// An owner that belongs to no actor.
final class PlainListener<Parameters: Sendable>: Sendable {
    private let life = Tracked()
    private let call: @Sendable (Parameters) -> Void

    init(_ call: @escaping @Sendable (Parameters) -> Void) { self.call = call }

    func hear(_ parameters: Parameters) { call(parameters) }
}

/// An owner that belongs to the main actor.
@MainActor final class MainActorListener<Parameters: Sendable> {
    private let life = Tracked()
    private let call: @Sendable (Parameters) -> Void

    nonisolated init(_ call: @escaping @Sendable (Parameters) -> Void) { self.call = call }

    func hear(_ parameters: Parameters) { call(parameters) }
}
