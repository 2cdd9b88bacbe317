import Dispatch
import ObserverSet
import Testing

/// What a set's description shows: its observers, where each of them runs, and where it was registered.
@Suite("Descriptions", .lifetimesChecked, .againstHanging)
struct DescriptionTests {
    private let set = ObserverSet<Int>()
    private let file = "ObserverSetTests/DescriptionTests.swift"

    @Test("The description names the parameters and counts the observers", arguments: [0, 2, 100])
    func description(count: Int) {
        for _ in 0..<count { _ = set.add { _ in } }

        expect(set.description, equals: "ObserverSet<Int>(\(count) observers)")
        expect("\(set)", equals: set.description)
    }

    @Test("One observer is counted in the singular")
    func one() {
        _ = set.add { _ in }

        expect(set.description, equals: "ObserverSet<Int>(1 observer)")
    }

    @Test("The description names parameters of every kind")
    func parameters() {
        #expect(ObserverSet<Void>().description.hasPrefix("ObserverSet<()>"))
        #expect(ObserverSet<(name: String, index: Int)>().description.contains("name: String, index: Int"))
        #expect(ObserverSet<[String: Int]?>().description.contains("Optional<Dictionary<String, Int>>"))
    }

    @Test("A registration site that is not a constant string is shown as a question mark")
    func siteOfOneScalar() {
        /// In generic code such a literal is kept as a scalar.
        func scalar<Literal: ExpressibleByUnicodeScalarLiteral>() -> Literal { "x" }
        let token = set.add({ _ in }, fileID: scalar(), line: 7)

        #expect("\(token)".contains("registered at ?:7"))
    }

    @Test("The description does not count observers whose owner has died")
    func livingOnly() {
        let owner = Tracked()
        set.add(owner) { _, _ in }
        set.add(owner) { _, _ in }
        do { set.add(Tracked()) { _, _ in } }

        #expect(set.description.contains("(2 observers)"))
        expect(lines.count, equals: 2)
    }

    @Test("The debug description has the description, and a line for each observer, in order")
    func debugDescription() {
        let owner = Tracked()
        let line = #line + 1
        _ = set.add { _ in }
        set.add(owner) { _, _ in }

        let expected = """
            \(set.description)
              closure, nonisolated, registered at \(file):\(line)
              Tracked, nonisolated, registered at \(file):\(line + 1)
            """
        expect(set.debugDescription, equals: expected)
    }

    @Test("An owner is described by its own class, whatever its class was where the observer was added")
    func ownersOwnClass() {
        class Controller: @unchecked Sendable {
            final func observe(_ set: ObserverSet<Int>, _ local: LocalObserverSet<Int>) {
                set.add(self) { _, _ in }
                local.add(self) { _, _ in }
            }
        }
        final class DetailController: Controller, @unchecked Sendable {}
        let local = LocalObserverSet<Int>()
        let controllers = [Controller(), DetailController()]

        for controller in controllers { controller.observe(set, local) }

        withExtendedLifetime(controllers) {
            for description in [set.debugDescription, local.debugDescription] {
                let lines = description.split(separator: "\n")
                expect(lines.count, equals: 3)
                #expect(lines[1].hasPrefix("  Controller, "))
                expect(lines.last?.hasPrefix("  DetailController, "), equals: true)
            }
        }
    }

    @Test("Observers with equal lines are shown once, with their number, where the first of them is")
    func equalLines() {
        let line = #line + 1
        for _ in 0..<250 { _ = set.add { _ in } }
        _ = set.addNonisolated { _ in }
        for index in 0..<3 { _ = set.add({ _ in }, fileID: "A.swift", line: index == 1 ? 2 : 1) }

        let expected = """
            ObserverSet<Int>(254 observers)
              closure, nonisolated, registered at \(file):\(line) × 250
              closure, nonisolated, registered at \(file):\(line + 1)
              closure, nonisolated, registered at A.swift:1 × 2
              closure, nonisolated, registered at A.swift:2
            """
        expect(set.debugDescription, equals: expected)
    }

    @Test("At most fifty different lines are shown, and how many more there are", arguments: [50, 51, 62])
    func manyLines(count: Int) {
        for line in 1...count {
            for _ in 0..<2 { _ = set.add({ _ in }, fileID: "A.swift", line: UInt(line)) }
        }

        let shown = (1...50).map { "closure, nonisolated, registered at A.swift:\($0) × 2" }
        let rest = [50: [], 51: ["and 1 more line"], 62: ["and 12 more lines"]]
        expect(lines, equals: shown + rest[count]!)
        #expect(set.debugDescription.hasPrefix("ObserverSet<Int>(\(2 * count) observers)\n"))
    }

    @Test("Each form of `add` shows the line of its call")
    func sites() {
        let owner = Owner()
        let line = #line + 1
        _ = set.add { _ in }
        set.add(owner) { _, _ in }
        set.add(method: Owner.hear, of: owner)
        _ = set.once.add { _ in }
        set.once.add(owner) { _, _ in }
        _ = set.addNonisolated { _ in }
        set.addNonisolated(owner) { _, _ in }
        _ = set.addNonisolated(on: .main) { _ in }
        set.addNonisolated(on: .main, owner) { _, _ in }

        let ends = lines.map { $0.split(separator: " ").last.map { "\($0)" } }
        expect(ends, equals: (0..<9).map { "\(file):\(line + $0)" })
    }

    @Test("The form of `add` for methods of several parameters also shows the line of its call")
    func siteOfAMethodOfTwo() {
        let pairs = ObserverSet<(Int, Int)>()
        let owner = Owner()
        let line = #line + 1
        pairs.add(method: Owner.hearTwo, of: owner)

        #expect(pairs.debugDescription.hasSuffix("  Owner, nonisolated, registered at \(file):\(line)"))
    }

    @Test("A registration site that is passed explicitly is shown instead of the caller's own")
    func givenSite() {
        _ = set.add({ _ in }, fileID: "Player/View.swift", line: 12)

        expect(lines, equals: ["closure, nonisolated, registered at Player/View.swift:12"])
    }

    @Test("An observer on a queue shows the queue's label")
    func queue() {
        let owner = Owner()
        _ = set.addNonisolated(on: DispatchQueue(label: "com.example.work")) { _ in }
        set.addNonisolated(on: DispatchQueue(label: "com.example.work"), owner) { _, _ in }

        #expect(lines[0].hasPrefix("closure, on queue com.example.work, registered at "))
        #expect(lines[1].hasPrefix("Owner, on queue com.example.work, registered at "))
    }

    @Test("An observer of an actor shows the actor")
    func actor() async {
        let actor = Listener()
        set.add(actor) { _, _ in }
        await actor.observe(set)

        #expect(lines[0].hasPrefix("Listener, on Listener, registered at "))
        #expect(lines[1].hasPrefix("closure, on Listener, registered at "))
        #expect(lines[2].hasPrefix("Owner, on Listener, registered at "))
    }

    @Test("An observer of the main actor shows the main actor, unless it was added as nonisolated")
    @MainActor
    func mainActor() {
        let owner = Owner()
        _ = set.add { _ in }
        set.add(owner) { _, _ in }
        _ = set.once.add { _ in }
        _ = set.addNonisolated { _ in }

        #expect(lines[0].hasPrefix("closure, on MainActor, registered at "))
        #expect(lines[1].hasPrefix("Owner, on MainActor, registered at "))
        #expect(lines[2].hasPrefix("closure, on MainActor, registered at "))
        #expect(lines[3].hasPrefix("closure, nonisolated, registered at "))
    }

    @Test("An adapted observer shows its own owner, isolation and registration site")
    func adapted() {
        let words = ObserverSet<String>()
        let lengths = Mapped(source: words) { (word: String) in word.count }
        let owner = Owner()
        let line = #line + 1
        lengths.addNonisolated(on: DispatchQueue(label: "Q"), owner) { _, _ in }

        #expect(words.debugDescription.hasSuffix("  Owner, on queue Q, registered at \(file):\(line)"))
    }

    @Test("A token's description shows the same line as its set's description")
    func token() {
        let token = set.add { _ in }

        #expect(token.description.hasSuffix(", \(lines[0]))"))
    }

    @Test("A set may be described by its own observers")
    func describedInside() {
        let log = Log<String>()
        _ = set.add { [weak set] _ in log.append(set?.debugDescription ?? "") }

        set.notify(1)

        expect(log.entries, equals: [set.debugDescription])
    }

    @Test("A set may be described while others change it")
    func describedDuringChanges() async {
        let isDone = Shared(false)
        let odd = Log<String>()

        await onThreads(2) { thread in
            if thread == 0 {
                for _ in 0..<2_000 { set.add { _ in }.remove() }
                isDone.value = true
            } else {
                while !isDone.value {
                    let lines = set.debugDescription.split(separator: "\n")
                    if !lines.dropFirst().allSatisfy({ $0.hasPrefix("  closure, nonisolated, registered at ") }) {
                        odd.append(set.debugDescription)
                    }
                }
            }
        }

        expect(odd.entries, equals: [])
    }

    /// The lines of the observers.
    private var lines: [String] {
        self.set.debugDescription.split(separator: "\n").dropFirst().map { String($0.dropFirst(2)) }
    }
}

private final class Owner: Sendable {
    func hear(_ value: Int) {}
    func hearTwo(_ first: Int, _ second: Int) {}
}

private actor Listener {
    private let owner = Owner()

    /// Adds closures that belong to this actor because they are formed in it.
    func observe(_ set: ObserverSet<Int>) {
        _ = set.add { _ in self.hear() }
        set.add(owner) { _, _ in self.hear() }
    }

    private func hear() {}
}
