import ObserverSet

/// Names that a client has of its own, too.
enum Taken {
    protocol Event {}
    struct Observer {}

    struct DoorOpened: ObserverSet.Event {
        let floor: Int
    }

    /// Tells the length of what another source tells.
    struct Lengths: NotificationSource {
        let texts: ObserverSet<String>

        func register(_ observer: ObserverSet.Observer<Int>) -> ObserverToken {
            texts.register(observer.adapted { (text: String) in text.count })
        }

        func settled() async { await texts.settled() }
    }
}
