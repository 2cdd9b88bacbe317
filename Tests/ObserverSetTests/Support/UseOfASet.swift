import Dispatch
import ObserverSet

/// Does everything that can be done with a set, on this thread, on another one and on a queue, for both of which it waits.
///
/// Leaves the set's observers as they were, and has notified them three times, with zero.
func useEverywhere<Parameters>(_ set: ObserverSet<Parameters>) {
    useInEveryWay(set)
    join { useInEveryWay(set) }
    DispatchQueue(label: "Q").sync { useInEveryWay(set) }
}

/// Every call that a set offers, as a thread makes it that knows nothing of what the others do.
func useInEveryWay<Parameters>(_ set: ObserverSet<Parameters>) {
    let owner = Signal()
    let token = set.add { _ in }
    set.add(owner) { _, _ in }
    let once = set.addOnce { _ in }
    (set as? ObserverSet<Int>)?.notify(0)
    _ = (set.count, set.isEmpty, set.description, set.debugDescription, token.isActive, token.description)
    _ = once.remove()
    _ = set.removeAll(ownedBy: owner)
    _ = set.remove(token)
}
