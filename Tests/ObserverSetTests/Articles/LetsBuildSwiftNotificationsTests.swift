import ObserverSet
import Testing

/// The system of Mike Ash's article "Let's Build Swift Notifications", as its reader would write it today.
///
/// A class declares its notifications as properties, with any parameters. Observers are closures, or methods of an
/// owner that is held weakly. A token removes an observer.
@Suite("Let's Build Swift Notifications", .lifetimesChecked)
@MainActor
struct LetsBuildSwiftNotificationsTests {}

extension LetsBuildSwiftNotificationsTests {
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

    @Test("Methods are called while their owner lives, and closures until their token removes them")
    func program() {
        let mailbox = Mailbox()
        var heard: [String] = []
        let token = mailbox.messageArrived.add { message in heard.append(message) }
        var clerk: Clerk? = Clerk(mailbox)
        #expect(mailbox.messageFiled.debugDescription.contains("Clerk"))
        #expect(mailbox.messageFiled.debugDescription.contains("LetsBuildSwiftNotificationsTests.swift"))

        mailbox.receive("hello")
        expect(clerk?.notes, equals: ["opened", "arrived: hello", "hello at 3", "hello in Inbox"])

        // No code removes the clerk's observers.
        clerk = nil
        expect(Lifetimes.current.count, equals: 0)
        mailbox.receive("is anybody there?")
        mailbox.messageArrived.remove(token)
        mailbox.receive("nobody listens")
        expect(heard, equals: ["hello", "is anybody there?"])
        expect(mailbox.opened.isEmpty && mailbox.messageArrived.isEmpty && mailbox.messageFiled.isEmpty)
    }
}
