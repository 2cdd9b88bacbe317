// expect: stored property 'changed' of 'Sendable'-conforming class 'Document' has non-Sendable type
// A local set stays in one isolation domain, so an object that any thread may use cannot hold one.

import ObserverSet

final class Document: Sendable {
    let changed = LocalObserverSet<String>()
}
