// expect: of 'Sendable'-conforming class 'Model' contains non-Sendable type 'any ModelDelegate'
// Delegates that are not Sendable cannot be notified on an arbitrary thread.

import ObserverSet

protocol ModelDelegate: AnyObject {
    func modelDidChange()
}

final class Model: Sendable {
    let delegates = MulticastDelegate<any ModelDelegate>()
}
