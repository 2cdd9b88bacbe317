import Dispatch
import ObserverSet
import Testing

/// All kinds of parameters of a notification, in every spelling that they allow (Scenario 57).
@Suite("Parameters", .lifetimesChecked, .againstHanging)
struct ParametersTests {
    private let log = Log<String>()
    private let listener: Listener
}

extension ParametersTests {
    init() { listener = Listener(log) }

    @Test("`Void` works with `notify()`, and with closures and methods that do not name it, with an owner or without")
    func void() async {
        let set = ObserverSet<Void>()
        let collector = Collector()
        _ = set.add { log.append("closure") }
        set.add(listener) { listener, _ in listener.note("named") }
        set.add(listener) { listener in listener.note("owner") }
        set.add(listener) { $0.note("short") }
        set.add(method: Listener.nothing, of: listener)
        _ = set.addNonisolated { log.append("nonisolated") }
        set.addNonisolated(listener) { listener in listener.note("nonisolated owner") }
        _ = set.once.add { log.append("once") }
        set.once.add(listener) { listener in listener.note("owner once") }
        let rest = [
            set.addNonisolated(on: DispatchQueue(label: "Q"), listener) { listener in listener.note("queue") },
            set.add(collector) { collector in collector.sums.append(0) },
            set.add(listener) { @MainActor listener in listener.note("main") },
        ]
        let lasting = ["closure", "named", "owner", "short", "nothing", "nonisolated", "nonisolated owner"]

        set.notify()
        expect(Array(log.entries.prefix(9)), equals: lasting + ["once", "owner once"])
        await set.settled()
        expect(log.entries.dropFirst(9).sorted(), equals: ["main", "queue"])
        expect(await collector.sums, equals: [0])

        for token in rest { #expect(token.remove()) }
        set.notify(())
        expect(Array(log.entries.dropFirst(11)), equals: lasting)
        #expect(set.debugDescription.contains("Listener, nonisolated, registered at ObserverSetTests/ParametersTests"))
    }

    @Test(
        "An unlabelled tuple works with `notify(a, b)`, `notify((a, b))` and a method of as many parameters, up to six")
    func unlabelledTuple() {
        let set = ObserverSet<(Int, String)>()
        let six = ObserverSet<(Int, Int, Int, Int, Int, String)>()
        _ = six.add { log.append("closure \($0 + $4)\($5)") }
        six.add(listener) { listener, all in listener.note("owner \(all.1)\(all.5)") }
        six.add(method: Listener.six, of: listener)
        _ = set.add { log.append("closure \($0) \($1)") }
        _ = set.add { pair in log.append("pair \(pair.0) \(pair.1)") }
        set.add(listener) { listener, pair in listener.note("owner \(pair.0) \(pair.1)") }
        set.add(method: Listener.two, of: listener)

        set.notify(1, "a")
        set.notify((2, "b"))
        six.notify(1, 2, 3, 4, 5, "!")
        six.notify((5, 4, 3, 2, 1, "?"))

        let forms = ["closure", "pair", "owner", "two"]
        expect(Array(log.entries.prefix(8)), equals: forms.map { $0 + " 1 a" } + forms.map { $0 + " 2 b" })
        let ofSix = ["closure 6!", "owner 2!", "six 123!", "closure 6?", "owner 4?", "six 543?"]
        expect(Array(log.entries.dropFirst(8)), equals: ofSix)
    }

    @Test("The labels of a tuple are available in closures")
    func labelledTuple() {
        let set = ObserverSet<(name: String, index: Int)>()
        _ = set.add { item in log.append("closure \(item.name) \(item.index)") }
        _ = set.add { name, index in log.append("apart \(name) \(index)") }
        set.add(listener) { listener, item in listener.note("owner \(item.name) \(item.index)") }
        set.add(method: Listener.item, of: listener)

        set.notify((name: "a", index: 1))
        set.notify(("b", 2))

        let forms = ["closure", "apart", "owner", "item"]
        expect(log.entries, equals: forms.map { $0 + " a 1" } + forms.map { $0 + " b 2" })
    }

    @Test("A parameter may be a closure, which observers may call")
    func closureParameter() async {
        let set = ObserverSet<@Sendable (String) -> Void>()
        _ = set.add { reply in reply("closure") }
        set.add(listener) { listener, reply in reply("owner of \(type(of: listener))") }
        set.add(method: Listener.reply, of: listener)
        _ = set.addNonisolated(on: DispatchQueue(label: "elsewhere")) { $0("queue") }

        set.notify { [log] in log.append($0) }
        await set.settled()

        expect(log.entries.sorted(), equals: ["closure", "owner of Listener", "queue", "reply"])
    }

    @Test("A value of each kind arrives as it was notified, in place and through a mailbox, in generic code")
    func everyKind() async {
        await arrives((), "()")
        await arrives(7, "7")
        await arrives((name: "a", index: 1), #"(name: "a", index: 1)"#)
        await arrives((1, "two", 3.0, [4], Character("5"), UInt8(6)), #"(1, "two", 3.0, [4], "5", 6)"#)
        await arrives(nil as Int?, "nil")
        await arrives(5 as Int?, "Optional(5)")
        await arrives(Int??.some(nil), "Optional(nil)")
        await arrives(Int??.none, "nil")
        await arrives(nil as Never?, "nil")
        await arrives(nil as (any Sendable)?, "nil")
        await arrives(Int?.none as any Sendable, "nil")
        await arrives("text" as any Sendable, #""text""#)
        await arrives(Large(), String(reflecting: Large()))
        await arrives(CancellationError() as any Error, "Swift.CancellationError()")
        await arrives(Int?.self as any Any.Type, "Swift.Optional<Swift.Int>")
        await arrives(Box(content: Box(content: Int?.none)), String(reflecting: Box(content: Box(content: Int?.none))))
    }

    /// Sends a value to observers in place, a method among them, and through a queue's mailbox.
    private func arrives<Value: Sendable>(_ value: Value, _ description: String) async {
        let set = ObserverSet<Value>()
        let log = Log<String>()
        _ = set.add { log.append(String(reflecting: $0)) }
        set.add(method: Listener.generic, of: listener)
        _ = set.addNonisolated(on: DispatchQueue(label: "elsewhere")) { log.append(String(reflecting: $0)) }

        set.notify(value)
        await set.settled()

        expect(log.entries + self.log.entries.suffix(1), equals: [description, description, description])
    }
}

/// An owner with a method for each kind of parameter.
private final class Listener: Sendable {
    private let log: Log<String>

    init(_ log: Log<String>) { self.log = log }

    func note(_ entry: String) { log.append(entry) }

    func nothing() { note("nothing") }
    func generic<Value: Sendable>(_ value: Value) { note(String(reflecting: value)) }
    func two(_ number: Int, _ text: String) { note("two \(number) \(text)") }
    func item(_ item: (name: String, index: Int)) { note("item \(item.name) \(item.index)") }
    func reply(_ reply: @Sendable (String) -> Void) { reply("reply") }
    func six(_ a: Int, _ b: Int, _ c: Int, _ d: Int, _ e: Int, _ text: String) { note("six \(a)\(b)\(c)\(text)") }
}

private struct Box<Content: Sendable>: Sendable {
    let content: Content
}

private struct Large: Sendable {
    let first = (1, 2, 3, 4)
    let second = (5, 6, 7, 8)
}

private actor Collector {
    var sums: [Int] = []
}
