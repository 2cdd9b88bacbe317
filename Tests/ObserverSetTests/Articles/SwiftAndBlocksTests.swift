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

    @Test("Registrations end with their holder")
    func endWithHolder() {
        var screen: Screen? = Screen(center, log)
        center.post(name: .didSave, object: nil)
        #expect(screen != nil)

        screen = nil
        center.post(name: .didSave, object: nil)

        expect(log.entries, equals: ["saved"])
    }

    @Test("All registrations of an object may be ended at once")
    func deregisterAll() {
        let screen = Screen(center, log)

        screen.deregisterAll()
        center.post(name: .didSave, object: nil)
        center.post(name: .didClose, object: nil, userInfo: ["name": "draft"])

        expect(log.entries, equals: [])
    }

    @Test("An observer may observe one sender or all senders")
    func senders() {
        let document = Document()
        let screens = [Screen(center, log, document: document), Screen(center, log)]

        center.post(name: .didSave, object: document)
        center.post(name: .didClose, object: Document(), userInfo: ["name": "other"])

        expect(log.entries, equals: ["saved", "saved", "closed other"])
        withExtendedLifetime(screens) {}
    }

    @Test("Several names are observed as a group, with one token")
    func group() {
        let group = ObserverGroup(center.observers(named: .didSave), center.observers(named: .didClose))
        let token = group.add { [log] in log.append("something happened") }

        center.post(name: .didSave, object: nil)
        center.post(name: .didClose, object: nil)
        token.remove()
        center.post(name: .didSave, object: nil)

        expect(log.entries, equals: ["something happened", "something happened"])
    }

    @Test("An observer that has an owner needs no object to hold its registration")
    func owner() {
        var document: Document? = Document()
        ObserverGroup(center.observers(named: .didSave), center.observers(named: .didClose))
            .add(document!) { [log] _ in log.append("told") }

        center.post(name: .didClose, object: nil)
        document = nil
        center.post(name: .didClose, object: nil)

        expect(log.entries, equals: ["told"])
    }

    @Test("A block is removed after its first call")
    func once() {
        _ = center.observers(named: .didSave).once.add { [log] in log.append("first") }

        center.post(name: .didSave, object: nil)
        center.post(name: .didSave, object: nil)

        expect(log.entries, equals: ["first"])
    }

    @Test("Notifications are followed as a stream, which ends with the center")
    func stream() async {
        var center: NotificationCenter? = NotificationCenter()
        let names = center!.observers(named: .didClose) { $0.userInfo?["name"] as? String }.values()

        for name in ["a", "b"] { center!.post(name: .didClose, object: nil, userInfo: ["name": name]) }
        center!.post(name: .didClose, object: nil)
        center = nil

        var received: [String] = []
        for await name in names { received.append(name) }
        expect(received, equals: ["a", "b"])
    }
}

extension Notification.Name {
    fileprivate static let didSave = Notification.Name("DocumentDidSave")
    fileprivate static let didClose = Notification.Name("DocumentDidClose")
}
#endif
