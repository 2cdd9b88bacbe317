// expect: has no member 'notify'
// A source can be observed; only code that has the set can notify.

import ObserverSet

final class Document: Sendable {
    private let titleObservers = ObserverSet<String>()
    var titleChanged: some NotificationSource<String> { titleObservers }
}

func rename(_ document: Document) {
    document.titleChanged.notify("mine now")
}
