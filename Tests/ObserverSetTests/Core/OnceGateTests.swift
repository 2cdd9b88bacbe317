import Testing

@testable import ObserverSet

/// What lets one call of an observer through; the steps of two threads are made one after another, on one thread.
@Suite("The gate of an observer that is called once", .lifetimesChecked)
struct OnceGateTests {
    private let set = ObserverSet<Int>()
    private let gate = OnceGate()
}

extension OnceGateTests {
    /// A registration whose calls have to pass a gate, and then those of another registration.
    private func registration(_ gate: OnceGate, behind original: Registration? = nil) -> Registration {
        FurtherRegistration(OnceFunction { (_: Int) in }, gate, of: original)
    }

    /// As with two threads: the second removal begins and ends while the first one is about to remove the observer.
    @Test("Of two removals at the same time, also through the set, exactly one returns true", arguments: [true, false])
    func removedByTwo(throughItsSet: Bool) {
        let calls = Counter()
        let second = Shared(false)
        let observer = Observer<Int>(call: { _ in _ = calls.increment() }, site: Site(fileID: #fileID, line: #line))
        let slow = SlowIssuer(set.register(observer.gated(by: gate)))
        let token = gate.arm(exchanging: slow.token)
        slow.meanwhile.value = { [set] in
            second.value = throughItsSet ? set.remove(token) : token.remove()
            set.notify(1)
            #expect(!token.isActive)
        }

        #expect(token.remove() != second.value)

        expect(calls.value, equals: 0)
        #expect(set.isEmpty)
    }

    @Test("A gate that has been passed leaves the one behind it alone")
    func farther() {
        let farther = registration(OnceGate())
        let nearest = registration(gate, behind: farther)
        let token = gate.arm(exchanging: set.add { _ in })
        #expect(token.remove())

        #expect(!nearest.passGates())

        #expect(nearest.isClosed && !farther.isClosed && farther.passGates())
        #expect(nearest.isCalledOnce && !registration(gate).passGates())
    }

    @Test("Gates behind gates are released with their registration and their tokens", arguments: [true, false])
    func released(isCalled: Bool) {
        weak var nearest: TokenIssuer?
        weak var farthest: TokenIssuer?
        do {
            let token = set.once.map { $0 }.once.once.add { _ in }
            farthest = token.issuer
            nearest = token.issuer.parts.first?.issuer
            if isCalled { set.notify(1) } else { token.remove() }
            #expect(set.isEmpty)
        }

        #expect(farthest == nil && nearest == nil)
    }

    /// As if a notification on another thread called the observer before `add` has returned.
    @Test("A registration ended by a call before its token is known removes the observer as soon as the token is known")
    func passedBeforeItBegan() {
        #expect(registration(gate).passGates())

        let token = gate.arm(exchanging: set.add { _ in })

        #expect(set.isEmpty && !token.isActive && !token.remove() && !registration(gate).passGates())
    }

    /// As with two threads: the call has passed the gate nearest to the set when the removal comes.
    @Test("A removal between two gates of a call returns true, and then the call is not made", arguments: 1...3)
    func betweenGates(passed: Int) {
        let gates = [gate, OnceGate(), OnceGate()]
        var registration = registration(gates[2])
        for gate in gates.dropLast().reversed() { registration = self.registration(gate, behind: registration) }
        var token = set.add { _ in }
        for gate in gates { token = gate.arm(exchanging: token) }
        for gate in gates.prefix(passed) { #expect(gate.pass()) }
        #expect(!token.isActive)

        #expect(token.remove() && !token.remove())

        for gate in gates.prefix(passed) { #expect(!gate.endRegistrationAndBeginCall()) }
        #expect(set.isEmpty && !registration.passGates())
    }

    @Test("A call that comes during a removal, or after it, is not made")
    func calledWhileRemoved() {
        let slow = SlowIssuer(set.add { _ in })
        let token = gate.arm(exchanging: slow.token)
        slow.meanwhile.value = { [registration = registration(gate)] in
            #expect(!registration.passGates())
        }

        #expect(token.remove() && set.isEmpty && !registration(gate).passGates())
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

    override func remove(_ id: UInt64, _ removal: RemovalWait?) -> Bool {
        let action = meanwhile.value
        meanwhile.value = nil
        action?()
        return issued.issuer.remove(id, removal)
    }

    override var parts: [ObserverToken] { [issued] }
}
