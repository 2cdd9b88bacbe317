/// The caller of a notification, about whom mailboxes ask once for all observers.
///
/// Small: each nested notification has one on its stack.
struct Notifier {
    /// Identifies the actor to which the caller is isolated; zero if it is isolated to none.
    let identity: UInt
    private var knownUrgency: Urgency?
    private var knownOnMainQueue: Bool?

    init(identity: UInt) { self.identity = identity }

    /// How urgently the values are to be delivered.
    var urgency: Urgency {
        mutating get {
            let urgency = knownUrgency ?? .current
            knownUrgency = urgency
            return urgency
        }
    }

    /// Whether code without isolation happens to run on the main actor.
    var isOnMainQueue: Bool {
        mutating get {
            let isOnMainQueue = knownOnMainQueue ?? (identity == 0 && ObserverSet::isOnMainQueue())
            knownOnMainQueue = isOnMainQueue
            return isOnMainQueue
        }
    }
}
