import Dispatch
import ObserverSet

/// Makes every call that a set offers on this thread, on another one and on a queue, and waits for these two.
///
/// Leaves the set's observers as they were. It has notified the set three times, with zero.
func useEverywhere<Parameters>(_ set: ObserverSet<Parameters>) {
    useInEveryWay(set)
    join { useInEveryWay(set) }
    DispatchQueue(label: "Q").sync { useInEveryWay(set) }
}

/// Makes every call that a set offers, as a thread would that knows nothing of the other threads.
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
