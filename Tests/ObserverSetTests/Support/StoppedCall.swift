import ObserverSet

/// An observer's call that has begun, and that stops there until the test lets it continue.
struct StoppedCall: Sendable {
    var registration: KeptRegistration
    private let mayGoOn = Signal()
    // The door is for an observer that awaits, because such an observer must not block a thread that runs tasks.
    private let door = Door()
    private let notifying: Task<Void, Never>

    var token: ObserverToken { registration.token }

    /// Adds an observer, notifies the set on another thread, and returns when the observer's call has begun.
    ///
    /// - Parameters:
    ///   - kind: The kind of observer. Of the kinds that await, only `awaited` and `awaitedOwner` may be used.
    ///   - source: The source to which the observer is added; it passes the observer on to the set.
    ///   - set: The set.
    ///   - atEnd: What the call does last.
    init(
        _ kind: ObserverKind, of source: some NotificationSource<Int>, by set: ObserverSet<Int>,
        atEnd: @escaping @Sendable () -> Void = {}
    ) async {
        let hasBegun = Signal()
        if kind.isAwaited {
            registration = (kind.hasOwner ? AwaitingForm.owner : .closure).add(to: source) { [door] _ in
                hasBegun.set()
                await door.pass()
                atEnd()
            }
        } else {
            registration = kind.add(to: source) { [mayGoOn] _ in
                hasBegun.set()
                mayGoOn.wait()
                atEnd()
            }
        }
        notifying = Task { await onThread { set.notify(1) } }
        await eventually { hasBegun.isSet }
    }

    /// Lets this call continue, and every later one.
    func letGo() {
        mayGoOn.set()
        door.open()
    }

    /// Lets the call continue, and returns when the notification has ended.
    func end() async {
        letGo()
        await notifying.value
        registration.end()
    }
}
