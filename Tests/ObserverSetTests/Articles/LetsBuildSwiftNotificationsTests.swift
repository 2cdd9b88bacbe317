import ObserverSet
import Testing

/// The system of Mike Ash's article "Let's Build Swift Notifications", as its reader would write it today.
///
/// A class declares its notifications as properties, with any parameters. Observers are closures, or methods of an
/// owner that is held weakly. A token removes an observer.
@Suite("Let's Build Swift Notifications", .lifetimesChecked)
@MainActor
struct LetsBuildSwiftNotificationsTests {
    /// What the article observes: an object with four notifications.
    @MainActor final class Mailbox {
        let opened = ObserverSet<Void>()
        let messageArrived = ObserverSet<String>()
        let messageMoved = ObserverSet<(String, Int)>()
        let messageFiled = ObserverSet<(folder: String, message: String)>()

        func receive(_ message: String) {
            opened.notify()
            messageArrived.notify(message)
            messageMoved.notify(message, 3)
            messageFiled.notify((folder: "Inbox", message: message))
        }
    }

    /// An object that observes them with its methods.
    @MainActor final class Clerk {
        private let life = Tracked()
        private(set) var notes: [String] = []

        init(_ mailbox: Mailbox) {
            mailbox.opened.add(method: Clerk.mailboxOpened, of: self)
            mailbox.messageArrived.add(method: Clerk.messageArrived, of: self)
            mailbox.messageMoved.add(method: Clerk.messageMoved, of: self)
            mailbox.messageFiled.add(self) { clerk, filed in clerk.notes.append("\(filed.message) in \(filed.folder)") }
        }

        func mailboxOpened() { notes.append("opened") }
        func messageArrived(_ message: String) { notes.append("arrived: \(message)") }
        func messageMoved(_ message: String, _ place: Int) { notes.append("\(message) at \(place)") }
    }

    @Test("Methods of an owner are called with the values of each notification")
    func methods() {
        let mailbox = Mailbox()
        let clerk = Clerk(mailbox)

        mailbox.receive("hello")

        expect(clerk.notes, equals: ["opened", "arrived: hello", "hello at 3", "hello in Inbox"])
    }

    @Test("Observers need no removal: an observer ends with its owner, and its entry disappears")
    func noRemoval() {
        let mailbox = Mailbox()
        var clerk: Clerk? = Clerk(mailbox)
        expect(mailbox.opened.count, equals: 1)
        #expect(clerk != nil)

        clerk = nil

        expect(Lifetimes.current.count, equals: 0)
        #expect(mailbox.opened.isEmpty && mailbox.messageFiled.isEmpty)
        mailbox.receive("nobody listens")
    }

    @Test("A closure observes without an owner, until its token is removed")
    func closureAndToken() {
        let mailbox = Mailbox()
        var heard: [String] = []
        let token = mailbox.messageArrived.add { message in heard.append(message) }

        mailbox.receive("first")
        mailbox.messageArrived.remove(token)
        mailbox.receive("second")

        expect(heard, equals: ["first"])
    }

    @Test("Observers may add, remove and notify while they are called: no lock is held")
    func reentrancy() {
        let mailbox = Mailbox()
        var heard: [String] = []
        var token: ObserverToken?
        token = mailbox.messageArrived.add { message in
            heard.append(message)
            token?.remove()
            _ = mailbox.messageArrived.add { heard.append("later: \($0)") }
            mailbox.receive("nested")
        }

        mailbox.receive("outer")

        expect(heard, equals: ["outer", "later: nested"])
    }

    @Test("A set's debug description shows its observers and where they were added")
    func inspection() {
        let mailbox = Mailbox()
        let clerk = Clerk(mailbox)

        let description = mailbox.messageFiled.debugDescription

        #expect(description.contains("Clerk"))
        #expect(description.contains("LetsBuildSwiftNotificationsTests.swift"))
        withExtendedLifetime(clerk) {}
    }

    @Test("One set for all senders serves an observer that wants to observe any sender")
    func anySender() {
        let mailboxes = [Mailbox(), Mailbox()]
        let anyArrived = ObserverSet<(mailbox: Mailbox, message: String)>()
        for mailbox in mailboxes {
            _ = mailbox.messageArrived.add { [unowned mailbox] in anyArrived.notify((mailbox: mailbox, message: $0)) }
        }
        // Not the mailboxes themselves: their observers hold `anyArrived`, which would hold them.
        let senders = mailboxes.map { ObjectIdentifier($0) }
        var heard: [(index: Int?, message: String)] = []
        _ = anyArrived.add { arrived in
            heard.append((index: senders.firstIndex(of: ObjectIdentifier(arrived.mailbox)), message: arrived.message))
        }

        mailboxes[1].receive("for one")
        mailboxes[0].receive("for nought")

        expect(heard.map(\.index), equals: [1, 0])
        expect(heard.map(\.message), equals: ["for one", "for nought"])
    }

    @Test("A class may keep `notify` to itself, and publish only the observable side of its set")
    func readOnlySide() {
        @MainActor final class Thermometer {
            private let changes = ObserverSet<Double>()
            var changed: some NotificationSource<Double> { changes }
            var celsius = 20.0 { didSet { changes.notify(celsius) } }
        }
        let thermometer = Thermometer()
        var readings: [Double] = []
        _ = thermometer.changed.add { readings.append($0) }

        thermometer.celsius = 21.5

        expect(readings, equals: [21.5])
    }
}
