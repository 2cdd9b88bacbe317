// expect: call to main actor-isolated instance method 'modelDidChange()' in a synchronous nonisolated context
// The delegates of a protocol on the main actor can be notified only there.

import ObserverSet

@MainActor protocol ModelDelegate: AnyObject {
    func modelDidChange()
}

func notify(_ delegates: MulticastDelegate<any ModelDelegate>) {
    delegates.notify { $0.modelDidChange() }
}
