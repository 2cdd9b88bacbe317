/// A target that converts each value with a function, and passes the result on to a target with other parameters.
///
/// Its first registration shares the state of the target behind it, if that target has one. So one state counts all
/// pending values. If `starting(with:)` has posted a first value to the target behind, whatever ends this registration
/// drops that value, too.
@usableFromInline
final class AdaptedTarget<Input: Sendable, Parameters: Sendable>: Target<Input>, @unchecked Sendable {
    /// The function to call with the converted value; used only if there is no target behind this one.
    private let function: @Sendable (Parameters) -> Void
    /// The `Target<Parameters>` behind this one; nil if there is only a function.
    ///
    /// Its static type is the superclass, because unspecialised code can release that without looking up a type.
    private let adapted: AnyTarget?
    /// The innermost target, which `adapted` keeps alive; nil if that is this target.
    ///
    /// It is stored, because a search for it from target to target would take stack for each of them, and most changes
    /// of a set need the innermost target.
    private unowned(unsafe) let storedInnermost: AnyTarget?
    private let transform: @Sendable (Input) -> Parameters?
    private let ownState = RegistrationState()

    @usableFromInline
    init(
        _ adapted: AnyTarget?, or function: @escaping @Sendable (Parameters) -> Void,
        _ transform: @escaping @Sendable (Input) -> Parameters?
    ) {
        self.function = function
        self.adapted = adapted
        unsafe storedInnermost = adapted?.innermost
        self.transform = transform
    }

    override func send(_ value: Input, for registration: Registration, by notifier: inout Notifier) {
        guard let parameters = transform(value) else {
            return innermost.checkOwner(for: registration, reportingTo: &notifier)
        }
        // `transform` is user code, and may have removed the registration.
        guard registration.isRegistered else { return registration.reportOwnerIfKnownDead(to: &notifier) }
        if let adapted {
            unsafe unsafeDowncast(adapted, to: Target<Parameters>.self)
                .send(parameters, for: registration, by: &notifier)
        } else if takeCall(for: registration) {
            function(parameters)
        }
    }

    override var state: UnsafePointer<RegistrationState>? {
        unsafe adapted?.state ?? withUnsafePointer(to: ownState) { unsafe $0 }
    }
    override var stateOwner: Registration { unsafe adapted?.state == nil ? self : adapted!.stateOwner }
    override var innermost: AnyTarget {
        _read {
            if let innermost = unsafe storedInnermost { yield innermost } else { yield self }
        }
    }
}
