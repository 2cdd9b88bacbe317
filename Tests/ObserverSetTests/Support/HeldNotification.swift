import ObserverSet

/// A notification that stays inside an observer, which is added for that, for as long as a test needs it.
final class HeldNotification: Sendable {
    private let set: ObserverSet<Int>
    private let isInside = Signal()
    private let mayGoOn = Signal()
    private let registration: KeptRegistration

    init(of set: ObserverSet<Int>, in kind: ObserverKind = .once) {
        self.set = set
        registration = kind.add(to: set) { [isInside, mayGoOn] value in
            guard value == 1 else { return }
            isInside.set()
            mayGoOn.wait()
        }
    }

    /// Has a thread notify, and runs `body` on another one meanwhile; returns when the notification has ended.
    func run(meanwhile body: @escaping @Sendable () -> Void) async {
        await onThreads(2) { [self] thread in
            if thread == 0 {
                set.notify(1)
            } else {
                isInside.wait()
                body()
                mayGoOn.set()
            }
        }
        registration.end()
    }
}
