import Dispatch
import ObserverSet
import Testing

/// What a set's description shows: its observers, where each of them runs, and where it was registered.
@Suite("Descriptions", .lifetimesChecked, .againstHanging)
struct DescriptionTests {
    private let set = ObserverSet<Int>()
    private let file = "ObserverSetTests/DescriptionTests.swift"
}

extension DescriptionTests {
    // MARK: The description

    @Test("The description names the parameters and counts the observers", arguments: [0, 1, 2, 100])
    func description(count: Int) {
        for _ in 0..<count { _ = set.add { _ in } }

        expect("\(set)", equals: "ObserverSet<Int>(\(count) observer\(count == 1 ? "" : "s"))")
        expect(set.debugDescription == set.description, equals: count == 0)
        #expect(ObserverSet<Void>().description.hasPrefix("ObserverSet<()>"))
        #expect(ObserverSet<(name: String, index: Int)>().description.contains("name: String, index: Int"))
        #expect(ObserverSet<[String: Int]?>().description.contains("Optional<Dictionary<String, Int>>"))
    }

    // MARK: The line of an observer

    @Test("The debug description has a line for each observer: its owner, where it runs, and where it was registered")
    @MainActor func debugDescription() async {
        let (owner, listener, queue) = (Owner(), Listener(), DispatchQueue(label: "work"))
        let lengths = Mapped(source: set) { (value: Int) in String(value) }
        let line = #line + 1
        let token = set.add { _ in }
        set.add(owner) { _, _ in }
        set.add(method: Owner.hear, of: owner)
        let once = set.once.add { _ in }
        set.once.add(owner) { _, _ in }
        _ = set.addNonisolated { _ in }
        set.addNonisolated(owner) { _, _ in }
        _ = set.addNonisolated(on: queue) { _ in }
        set.addNonisolated(on: queue, owner) { _, _ in }
        set.add(listener) { _, _ in }
        _ = set.add { @Elsewhere _ in }
        lengths.addNonisolated(on: queue, owner) { _, _ in }
        _ = set.add({ _ in }, fileID: "Player/View.swift", line: 12)
        let own = await listener.observe(set)

        let places = [
            "closure, on MainActor", "Owner, on MainActor", "Owner, nonisolated", "closure, on MainActor",
            "Owner, on MainActor", "closure, nonisolated", "Owner, nonisolated", "closure, on queue work",
            "Owner, on queue work", "Listener, on Listener", "closure, on Elsewhere", "Owner, on queue work",
        ]
        var expected = places.enumerated().map { "\($1), registered at \(file):\(line + $0)" }
        expected += [
            "closure, on MainActor, registered at Player/View.swift:12",
            "closure, on Listener, registered at \(file):\(own)",
            "Owner, on Listener, registered at \(file):\(own + 1)",
        ]
        expect(lines, equals: expected)
        expect(set.debugDescription, equals: ([set.description] + expected.map { "  " + $0 }).joined(separator: "\n"))
        #expect(token.description.hasSuffix(", \(expected[0]))") && once.description.hasSuffix(", \(expected[3]))"))
        let pairs = ObserverSet<(Int, Int)>()
        pairs.add(method: Owner.hearTwo, of: owner)
        #expect(pairs.debugDescription.hasSuffix("  Owner, nonisolated, registered at \(file):\(#line - 1)"))
    }

    @Test("A registration site that is not a constant string is shown as a question mark")
    func siteOfOneScalar() {
        /// In generic code such a literal is kept as a scalar.
        func scalar<Literal: ExpressibleByUnicodeScalarLiteral>() -> Literal { "x" }
        let token = set.add({ _ in }, fileID: scalar(), line: 7)

        #expect("\(token)".contains("registered at ?:7"))
    }

    @Test("A living owner is described by its own class, whatever its class was where the observer was added")
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
        for controller in controllers + [Controller()] { controller.observe(set, local) }

        withExtendedLifetime(controllers) {
            for description in [set.debugDescription, local.debugDescription] {
                let lines = description.split(separator: "\n")
                expect(lines.count, equals: 3)
                #expect(lines[0].contains("(2 observers)"))
                #expect(lines[1].hasPrefix("  Controller, ") && lines[2].hasPrefix("  DetailController, "))
            }
        }
    }

    // MARK: Many lines

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

    /// Adds closures that belong to this actor because they are formed in it; returns the first one's line.
    func observe(_ set: ObserverSet<Int>) -> Int {
        let line = #line + 1
        _ = set.add { _ in self.hear() }
        set.add(owner) { _, _ in self.hear() }
        return line
    }

    private func hear() {}
}
