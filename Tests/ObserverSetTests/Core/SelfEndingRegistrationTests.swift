import Testing

@testable import ObserverSet

/// Registrations that their own observer may end; the steps of two threads are made one after another, on one thread.
@Suite("Registrations that end themselves", .lifetimesChecked)
struct SelfEndingRegistrationTests {
    private let set = ObserverSet<Int>()

    /// As with two threads: the second removal begins and ends while the first one is about to remove the observer.
    @Test(
        "A second removal, also through the set, returns only when the observer has been removed",
        arguments: [true, false])
    func removedByTwo(throughItsSet: Bool) {
        let calls = Counter()
        let slow = SlowIssuer(set.add { _ in calls.increment() })
        let token = SelfEndingRegistration().begin(slow.token)
        slow.meanwhile.value = { [set] in
            #expect(token.isActive)
            #expect(token.description.contains("SelfEndingRegistrationTests.swift"))
            _ = throughItsSet ? set.remove(token) : token.remove()
            set.notify(1)
            #expect(!token.isActive)
        }

        token.remove()

        #expect(calls.value == 0)
    }

    /// As if a notification on another thread called the observer before `add` has returned.
    @Test("A registration ended by a call before its token is known removes the observer as soon as the token is known")
    func endedBeforeItBegan() {
        let registration = SelfEndingRegistration()
        let own = set.add { _ in }
        #expect(registration.end())

        let token = registration.begin(own)

        #expect(set.isEmpty)
        #expect(!token.isActive)
        #expect(!token.remove())
        #expect(!registration.end())
    }

    @Test("A call that comes during a removal is made, and the removal returns false")
    func calledWhileRemoved() {
        let registration = SelfEndingRegistration()
        let slow = SlowIssuer(set.add { _ in })
        let token = registration.begin(slow.token)
        slow.meanwhile.value = { #expect(registration.end()) }

        #expect(!token.remove())

        #expect(set.isEmpty)
        #expect(!registration.end())
    }

    @Test("It is known whether the source has ended a registration, which has not ended itself")
    func endedByTheSource() {
        let registration = SelfEndingRegistration()
        let other = SelfEndingRegistration()
        #expect(registration.isInSource == nil)
        registration.begin(set.add { _ in })
        other.begin(set.add { _ in })
        #expect(registration.isInSource == true)
        other.end()
        #expect(other.isInSource == nil)

        set.removeAll()

        #expect(registration.isInSource == false)
        #expect(registration.end())
        #expect(registration.isInSource == nil)
    }

    @Test("A call that comes after the removal does not end the registration")
    func calledAfterRemoval() {
        let registration = SelfEndingRegistration()
        let token = registration.begin(set.add { _ in })

        #expect(token.remove())

        #expect(!registration.end())
        #expect(!token.remove())
    }
}

/// Issues a token whose first removal is slow, as on a thread that is interrupted: it runs `meanwhile` first.
private final class SlowIssuer: TokenIssuer, @unchecked Sendable {
    let meanwhile = Shared<(@Sendable () -> Void)?>(nil)
    private let issued: ObserverToken

    init(_ token: ObserverToken) {
        issued = token
        super.init()
    }

    var token: ObserverToken { ObserverToken(issuer: self, id: issued.id) }

    override func remove(_ id: UInt64) -> Bool {
        let action = meanwhile.value
        meanwhile.value = nil
        action?()
        return issued.remove()
    }

    override func isActive(_ id: UInt64) -> Bool { issued.isActive }
    override func describe(_ id: UInt64) -> String? { issued.issuer.describe(id) }
    override func issuesTokens(for issuer: TokenIssuer) -> Bool { issued.issuer.issuesTokens(for: issuer) }
}
