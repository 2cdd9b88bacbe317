import Dispatch
import ObserverSet

/// Calls every method of a set on this thread, on another thread and on a queue, and waits for these two.
///
/// Afterwards, the set has the same observers as before. If it is a set of `Int`s, it has been notified three times,
/// with zero.
func useEverywhere<Parameters>(_ set: ObserverSet<Parameters>) {
    useInEveryWay(set)
    join { useInEveryWay(set) }
    DispatchQueue(label: "Q").sync { useInEveryWay(set) }
}

/// Calls every method of a set once, without regard to what other threads do.
func useInEveryWay<Parameters>(_ set: ObserverSet<Parameters>) {
    let owner = Signal()
    let token = set.add { _ in }
    set.add(owner) { _, _ in }
    let once = set.once.add { _ in }
    (set as? ObserverSet<Int>)?.notify(0)
    _ = (set.count, set.isEmpty, set.description, set.debugDescription, token.isActive, token.description)
    _ = once.remove()
    _ = set.removeAll(ownedBy: owner)
    _ = set.remove(token)
}
