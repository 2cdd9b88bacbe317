import ObserverSet
import Testing

/// What parameters a local set can have, with every kind of observer, and how it describes itself.
@Suite("Local set: parameters and descriptions", .lifetimesChecked)
struct LocalParametersTests {
    private let owner = Plain()
    private let file = "ObserverSetTests/LocalParametersTests.swift"

    @Test("`Void` works with every form of `add` and every spelling of `notify`")
    func void() {
        let set = LocalObserverSet<Void>()
        var calls = 0
        _ = set.add { calls += 1 }
        set.add(owner) { owner, _ in owner.hearNothing() }
        set.add(method: Plain.hearNothing, of: owner)
        _ = set.once.add { calls += 10 }
        set.add(owner) { owner in owner.hearNothing() }
        set.once.add(owner) { owner in owner.hearNothing() }
        set.once.add(owner) { owner, _ in owner.hearNothing() }
        set.once.add(method: Plain.hearNothing, of: owner)

        set.notify()
        set.notify(())

        expect(calls, equals: 12)
        expect(owner.heard, equals: Array(repeating: -1, count: 3 * 2 + 3))
    }

    @Test("A single value, a pair and a labelled tuple are delivered")
    func tuples() {
        let one = LocalObserverSet<Int>()
        let two = LocalObserverSet<(Int, Int)>()
        let labelled = LocalObserverSet<(name: String, index: Int)>()
        var texts: [String] = []
        one.add(method: Plain.hear, of: owner)
        two.add(method: Plain.hearTwo, of: owner)
        _ = two.add { texts.append("\($0) \($1)") }
        labelled.add(owner) { _, item in texts.append("\(item.name) at \(item.index)") }
        _ = labelled.add { name, index in texts.append(name + "\(index)") }

        one.notify(1)
        two.notify(2, 3)
        two.notify((4, 5))
        labelled.notify((name: "x", index: 6))

        expect(owner.heard, equals: [1, 2, 3, 4, 5])
        expect(texts, equals: ["2 3", "4 5", "x at 6", "x6"])
    }

    @Test("Optionals, objects that are not Sendable, functions, `Any` and tuples of six elements are delivered")
    func others() {
        let optional = LocalObserverSet<Int?>()
        let never = LocalObserverSet<Never?>()
        let object = LocalObserverSet<Plain>()
        let function = LocalObserverSet<(Int) -> Int>()
        let any = LocalObserverSet<Any>()
        let six = LocalObserverSet<(Int, String, Bool, Double?, [Int], Character)>()
        var texts: [String] = []
        _ = optional.add { texts.append("\($0 ?? -1)") }
        _ = never.add { texts.append("\($0 == nil)") }
        object.add(owner) { owner, object in owner.heard += object.heard }
        _ = function.add { texts.append("\($0(20))") }
        _ = any.add { texts.append("\($0)") }
        _ = six.add { texts.append("\($0)\($1)\($2)\($3 ?? 0)\($4)\($5)") }

        optional.notify(nil)
        optional.notify(3)
        never.notify(nil)
        let told = Plain()
        told.hear(8)
        object.notify(told)
        function.notify { $0 + 1 }
        any.notify((1, "a"))
        six.notify(1, "b", true, nil, [2], "c")

        expect(texts, equals: ["-1", "3", "true", "21", "(1, \"a\")", "1btrue0.0[2]c"])
        expect(owner.heard, equals: [8])
    }

    @Test("A set without observers may be notified, emptied, counted and described")
    func empty() {
        let set = LocalObserverSet<Int>()

        set.notify(1)
        set.removeAll()

        expect(set.count, equals: 0)
        #expect(set.isEmpty)
        expect(set.removeAll(ownedBy: owner), equals: 0)
        expect(set.description, equals: "LocalObserverSet<Int>(0 observers)")
        expect(set.debugDescription, equals: set.description)
    }

    @Test("Descriptions name the parameters, the owners, and the lines that registered")
    func descriptions() {
        let set = LocalObserverSet<Int>()
        let line = #line + 1
        let token = set.add { _ in }
        set.add(owner) { _, _ in }
        set.add(method: Plain.hear, of: owner)
        _ = set.once.add { _ in }
        set.once.add(owner) { _, _ in }
        _ = set.add({ _ in }, fileID: "Player/View.swift", line: 12)
        do { set.add(Plain()) { _, _ in } }

        let names = ["closure", "Plain", "Plain", "closure", "Plain"]
        let lines =
            names.enumerated().map { "\($1), registered at \(file):\(line + $0)" }
            + ["closure, registered at Player/View.swift:12"]
        expect(set.description, equals: "LocalObserverSet<Int>(6 observers)")
        expect(set.debugDescription, equals: ([set.description] + lines.map { "  " + $0 }).joined(separator: "\n"))
        #expect(token.description.hasPrefix("LocalObserverSet<Int>.Token(#"))
        #expect(token.description.hasSuffix(", \(lines[0]))"))
        set.removeAll()
        _ = set.add { _ in }
        expect(set.description, equals: "LocalObserverSet<Int>(1 observer)")
    }

    @Test("A method of several parameters also shows the line of its registration")
    func siteOfAMethodOfTwo() {
        let set = LocalObserverSet<(Int, Int)>()
        let line = #line + 1
        set.add(method: Plain.hearTwo, of: owner)

        #expect(set.debugDescription.hasSuffix("  Plain, registered at \(file):\(line)"))
    }

    @Test("Code on the main actor and on an actor adds and notifies in place")
    @MainActor
    func actors() async {
        let panel = Panel()
        panel.changed.notify(1)
        expect(panel.heard, equals: [1, 1, 1])
        expect(await Register().run(), equals: [4, 4])
    }
}

@MainActor private final class Panel {
    let changed = LocalObserverSet<Int>()
    private(set) var heard: [Int] = []

    init() {
        changed.add(method: Panel.hear, of: self)
        changed.add(self) { panel, value in panel.hear(value) }
        _ = changed.add { [unowned self] value in hear(value) }
    }

    private func hear(_ value: Int) { heard.append(value) }
}

private actor Register {
    private let changed = LocalObserverSet<Int>()
    private let plain = Plain()

    func run() -> [Int] {
        changed.add(method: Plain.hear, of: plain)
        _ = changed.once.add { self.plain.hear($0) }
        changed.notify(4)
        return plain.heard
    }
}
