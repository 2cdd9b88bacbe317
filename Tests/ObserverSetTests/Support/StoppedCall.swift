import ObserverSet

/// An observer's call that has begun, and goes on when the test lets it.
struct StoppedCall: Sendable {
    let registration: KeptRegistration
    private let mayGoOn = Signal()
    // An observer that awaits must not block a thread of the tasks.
    private let door = Door()
    private let notifying: Task<Void, Never>

    var token: ObserverToken { registration.token }

    /// Adds an observer of that kind to the source, and has another thread notify the set; returns when the call has begun.
    ///
    /// - Parameters:
    ///   - kind: The kind; of those that await, `awaited` alone.
    ///   - source: The source that passes the observer on to the set.
    ///   - set: The set.
    ///   - atEnd: What the call does last.
    init(
        _ kind: ObserverKind, of source: some NotificationSource<Int>, by set: ObserverSet<Int>,
        atEnd: @escaping @Sendable () -> Void = {}
    ) async {
        let hasBegun = Signal()
        if kind == .awaited {
            registration = KeptRegistration(
                source.addAsync { [door] _ in
                    hasBegun.set()
                    await door.pass()
                    atEnd()
                })
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

    /// Lets this call go on, and any later one.
    func letGo() {
        mayGoOn.set()
        door.open()
    }

    /// Lets the call go on, and returns when the notification has.
    func end() async {
        letGo()
        await notifying.value
        registration.end()
    }
}
