import ObserverSet

/// A notification that a test can hold in progress for as long as it needs: an observer added for that doesn't return.
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

    /// Notifies the set on one thread, runs `body` on another one during the notification, and returns when both are
    /// done.
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
