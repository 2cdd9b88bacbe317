// expect: capture of 'delegates' with non-Sendable type 'MulticastDelegate<any ModelDelegate>' in a '@Sendable' closure
// A multicast stays where its delegates are if these are not Sendable.

import ObserverSet

protocol ModelDelegate: AnyObject {
    func modelDidChange()
}

func forward(_ changed: ObserverSet<Void>, to delegates: MulticastDelegate<any ModelDelegate>) {
    changed.addNonisolated { delegates.notify { $0.modelDidChange() } }
}
