/// An actor that is not kept alive.
///
/// A set must not keep an actor alive, but observers that capture it do.
struct WeakActor: Sendable {
    let isMain: Bool
    private weak let reference: (any Actor)?

    init(_ actor: (any Actor)?) {
        isMain = actor === MainActor.shared
        // The main actor is always there. A weak reference to it would make each retain of it slower in the whole process.
        reference = isMain ? nil : actor
    }

    /// The actor; nil if it is gone, or if there was none.
    var actor: (any Actor)? { isMain ? MainActor.shared : reference }
}
