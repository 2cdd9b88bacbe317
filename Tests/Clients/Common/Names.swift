import ObserverSet

/// Names of the library that a client also uses for its own types.
enum Taken {
    protocol Event {}
    struct Observer {}

    struct DoorOpened: ObserverSet.Event {
        let floor: Int
    }

    /// A source that delivers the length of each text of another source.
    struct Lengths: NotificationSource {
        let texts: ObserverSet<String>

        func register(_ observer: ObserverSet.Observer<Int>) -> ObserverToken {
            texts.register(observer.adapted { (text: String) in text.count })
        }

        func settled() async { await texts.settled() }
    }
}
