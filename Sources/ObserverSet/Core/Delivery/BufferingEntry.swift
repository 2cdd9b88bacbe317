/// An observer that puts values where they wait for somebody else: a sequence's.
///
/// It is called on the notifying thread, and has no owner.
final class BufferingEntry<Parameters: Sendable>: Entry<Parameters>, @unchecked Sendable {
    private let call: @Sendable (Parameters) -> Void
    /// How many values wait; nil if nobody knows.
    private let waiting: @Sendable () -> Int?

    init(_ call: @escaping @Sendable (Parameters) -> Void, waiting: @escaping @Sendable () -> Int?) {
        self.call = call
        self.waiting = waiting
    }

    override func deliver(_ parameters: Parameters, by notifier: inout Notifier) -> Bool {
        call(parameters)
        return true
    }

    override func isKnownAlive(by notifier: Notifier) -> Bool { true }

    override var placeDescription: String {
        super.placeDescription + Mailbox.describe((isInCall: false, waiting: waiting() ?? 0))
    }

    override func ending(_ registration: SelfEndingRegistration) -> Entry<Parameters> {
        BufferingEntry({ [call] in if registration.end() { call($0) } }, waiting: waiting)
    }
}
