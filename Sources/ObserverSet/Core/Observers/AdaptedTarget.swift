/// A target for other parameters, which a function converts before it passes them on.
///
/// Its first registration shares the state of the observer's registration that it was made from, if that has one. So there is
/// one state for what is pending, and whatever ends this registration also drops a first value that `starting(with:)` has
/// posted for the observer itself.
@usableFromInline
final class AdaptedTarget<Input: Sendable, Parameters: Sendable>: Target<Input>, @unchecked Sendable {
    /// What is called with the converted value, if there is no target behind this one.
    private let function: @Sendable (Parameters) -> Void
    /// A `Target<Parameters>`; as its superclass, because unspecialised code releases that without looking up a type.
    private let adapted: AnyTarget?
    private let transform: @Sendable (Input) -> Parameters?
    private let ownState = RegistrationState()

    @usableFromInline
    init(
        _ adapted: AnyTarget?, or function: @escaping @Sendable (Parameters) -> Void,
        _ transform: @escaping @Sendable (Input) -> Parameters?
    ) {
        self.function = function
        self.adapted = adapted
        self.transform = transform
    }

    override func send(_ value: Input, for registration: Registration, by notifier: inout Notifier) -> OwnerCheck {
        guard let parameters = transform(value) else { return observer.checkOwner(for: registration, by: &notifier) }
        // `transform` itself may have removed the registration.
        guard registration.isRegistered else { return registration.ownerCheck }
        if let adapted {
            return unsafe unsafeDowncast(adapted, to: Target<Parameters>.self)
                .send(parameters, for: registration, by: &notifier)
        }
        if takeCall(for: registration) { function(parameters) }
        return .passed
    }

    override var state: UnsafePointer<RegistrationState>? {
        unsafe adapted?.state ?? withUnsafePointer(to: ownState) { unsafe $0 }
    }
    override var observer: AnyTarget {
        _read {
            if let adapted { yield adapted.observer } else { yield self }
        }
    }
}
