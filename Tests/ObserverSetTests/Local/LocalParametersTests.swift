import ObserverSet
import Testing

/// What parameters a local set can have, with every kind of observer, and how it describes itself.
@Suite("Local set: parameters and descriptions", .lifetimesChecked)
struct LocalParametersTests {
    private let owner = Plain()
    private let file = "ObserverSetTests/LocalParametersTests.swift"
}

extension LocalParametersTests {
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
        set.once.add(method: Plain.hearNothing, of: owner)

        set.notify()
        set.notify(())

        expect(calls, equals: 12)
        expect(owner.heard, equals: Array(repeating: -1, count: 3 * 2 + 2))
    }

    @Test("A single value, a pair and a labelled tuple are delivered, to methods, too, and to those called once")
    func tuples() {
        let one = LocalObserverSet<Int>()
        let two = LocalObserverSet<(Int, Int)>()
        let labelled = LocalObserverSet<(name: String, index: Int)>()
        var texts: [String] = []
        one.once.add(method: Plain.hear, of: owner)
        two.add(method: Plain.hearTwo, of: owner); let line = #line
        #expect(two.debugDescription.hasSuffix("  Plain, registered at \(file):\(line)"))
        _ = two.add { texts.append("\($0) \($1)") }
        two.once.add(method: Plain.hearTwo, of: owner)
        labelled.add(owner) { _, item in texts.append("\(item.name) at \(item.index)") }
        _ = labelled.add { name, index in texts.append(name + "\(index)") }

        for _ in 0..<2 { one.notify(1) }
        two.notify(2, 3)
        two.notify((4, 5))
        labelled.notify((name: "x", index: 6))

        expect(owner.heard, equals: [1, 2, 3, 2, 3, 4, 5])
        expect(texts, equals: ["2 3", "4 5", "x at 6", "x6"])
    }

    @Test("Optionals, objects that are not Sendable, functions and tuples of six elements are delivered")
    func others() {
        let optional = LocalObserverSet<Int?>()
        let object = LocalObserverSet<Plain>()
        let function = LocalObserverSet<(Int) -> Int>()
        let six = LocalObserverSet<(Int, String, Bool, Double?, [Int], Character)>()
        var texts: [String] = []
        _ = optional.add { texts.append("\($0 ?? -1)") }
        object.add(owner) { owner, object in owner.heard += object.heard }
        _ = function.add { texts.append("\($0(20))") }
        _ = six.add { texts.append("\($0)\($1)\($2)\($3 ?? 0)\($4)\($5)") }

        for number in [nil, 3] { optional.notify(number) }
        let told = Plain()
        told.hear(8)
        object.notify(told)
        function.notify { $0 + 1 }
        six.notify(1, "b", true, nil, [2], "c")

        expect(texts, equals: ["-1", "3", "21", "1btrue0.0[2]c"])
        expect(owner.heard, equals: [8])
    }

    @Test("Descriptions name the parameters, the owners, and the lines that registered; an empty set has one, too")
    func descriptions() {
        let set = LocalObserverSet<Int>()
        set.notify(1)
        set.removeAll()
        expect([set.count, set.removeAll(ownedBy: owner)], equals: [0, 0])
        expect(
            [set.description, set.debugDescription],
            equals: Array(repeating: "LocalObserverSet<Int>(0 observers)", count: 2))
        let line = #line + 1
        let token = set.add { _ in }
        expect(set.description, equals: "LocalObserverSet<Int>(1 observer)")
        set.add(owner) { _, _ in }
        set.add(method: Plain.hear, of: owner)
        _ = set.once.add { _ in }
        _ = set.add({ _ in }, fileID: "Player/View.swift", line: 12)
        for _ in 0..<3 { set.add(owner) { _, _ in } }
        do { set.add(Plain()) { _, _ in } }

        expect(
            set.debugDescription,
            equals: """
                LocalObserverSet<Int>(8 observers)
                  closure, registered at \(file):\(line)
                  Plain, registered at \(file):\(line + 2)
                  Plain, registered at \(file):\(line + 3)
                  closure, registered at \(file):\(line + 4)
                  closure, registered at Player/View.swift:12
                  Plain, registered at \(file):\(line + 6) × 3
                """)
        #expect(token.description.hasPrefix("LocalObserverSet<Int>.Token(#"))
        #expect(token.description.hasSuffix(", closure, registered at \(file):\(line))"))
    }
}
