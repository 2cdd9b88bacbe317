#if NotificationCenter
import Foundation
import ObserverSet
import Testing

/// The system of the article "NSNotificationCenter, Swift and blocks", as its reader would write it today.
///
/// Registrations with Foundation's center end with the object that holds them, or all at once before that. They may ask
/// for a sender. Several names may be observed as a group.
@Suite("NSNotificationCenter, Swift and blocks", .lifetimesChecked, .againstHanging)
struct SwiftAndBlocksTests {
    private let center = NotificationCenter()
    private let log = Log<String>()
}

extension SwiftAndBlocksTests {
    /// What the article builds: an object that observes, and whose registrations end with it.
    private final class Screen: Sendable {
        private let life = Tracked()
        private let bag = ObserverBag()

        init(_ center: NotificationCenter, _ log: Log<String>, document: Document? = nil) {
            center.observers(named: .didSave, object: document).add { log.append("saved") }.store(in: bag)
            center.observers(named: .didClose, object: document) { $0.userInfo?["name"] as? String }
                .add { log.append("closed \($0)") }.store(in: bag)
        }

        func deregisterAll() { bag.removeAll() }
    }

    private final class Document: Sendable {
        private let life = Tracked()
    }

    @Test("Registrations of one sender, or of all, end with their holder, or all at once before")
    func program() {
        let (document, other) = (Document(), Document())
        let all = Screen(center, log)
        var one: Screen? = Screen(center, log, document: document)

        center.post(name: .didSave, object: document)
        center.post(name: .didClose, object: other, userInfo: ["name": "other"])
        expect(log.entries, equals: ["saved", "saved", "closed other"])
        expect(one != nil)

        one = nil
        center.post(name: .didSave, object: document)
        expect(log.entries, equals: ["saved", "saved", "closed other", "saved"])
        all.deregisterAll()
        center.post(name: .didSave, object: document)
        expect(log.count, equals: 4)
    }

    @Test("Several names are observed as a group, with one token, or with an owner that holds nothing")
    func group() {
        let group = ObserverGroup(center.observers(named: .didSave), center.observers(named: .didClose))
        let token = group.add { [log] in log.append("token") }
        var document: Document? = Document()
        group.add(document!) { [log] _ in log.append("owner") }

        center.post(name: .didSave, object: nil)
        token.remove()
        center.post(name: .didClose, object: nil)
        document = nil
        center.post(name: .didSave, object: nil)

        expect(log.entries, equals: ["token", "owner", "owner"])
    }
}

extension Notification.Name {
    fileprivate static let didSave = Notification.Name("DocumentDidSave")
    fileprivate static let didClose = Notification.Name("DocumentDidClose")
}
#endif
