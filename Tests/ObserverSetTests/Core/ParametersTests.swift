import Dispatch
import ObserverSet
import Testing

/// All kinds of parameters of a notification, in every spelling that they allow (Scenario 57).
@Suite("Parameters", .lifetimesChecked, .againstHanging)
struct ParametersTests {
    private let log = Log<String>()
    private let listener: Listener

    init() {
        listener = Listener(log)
    }

    @Test("`Void` works with `notify()`, closures without parameters and methods without parameters")
    func void() {
        let set = ObserverSet<Void>()
        _ = set.add { log.append("closure") }
        set.add(listener) { listener, _ in listener.note("owner") }
        set.add(method: Listener.nothing, of: listener)
        _ = set.addNonisolated { log.append("nonisolated") }
        _ = set.once.add { log.append("once") }

        set.notify()
        expect(log.entries, equals: ["closure", "owner", "nothing", "nonisolated", "once"])
        set.notify(())

        expect(log.entries.dropFirst(5), equals: ["closure", "owner", "nothing", "nonisolated"])
    }

    @Test("A closure with an owner need not name a parameter that is `Void`")
    func voidWithOwner() async {
        let set = ObserverSet<Void>()
        let collector = Collector()
        set.add(listener) { listener in listener.note("owner") }
        set.add(listener) { $0.note("short") }
        set.once.add(listener) { listener in listener.note("once") }
        set.addNonisolated(listener) { listener in listener.note("nonisolated") }
        let rest = [
            set.addNonisolated(on: DispatchQueue(label: "Q"), listener) { listener in listener.note("queue") },
            set.add(collector) { collector in collector.sums.append(0) },
            set.add(listener) { @MainActor listener in listener.note("main") },
        ]

        set.notify()
        expect(log.entries.prefix(4), equals: ["owner", "short", "once", "nonisolated"])
        await set.settled()
        expect(Set(log.entries.dropFirst(4)), equals: ["queue", "main"])
        expect(await collector.sums, equals: [0])

        for token in rest { #expect(token.remove()) }
        set.notify()
        expect(log.entries.dropFirst(6), equals: ["owner", "short", "nonisolated"])
        #expect(set.debugDescription.contains("Listener, nonisolated, registered at ObserverSetTests/ParametersTests"))
    }

    @Test("A single value is passed to closures and to methods of one parameter")
    func single() {
        let set = ObserverSet<Int>()
        _ = set.add { log.append("closure \($0)") }
        set.add(listener) { listener, value in listener.note("owner \(value)") }
        set.add(method: Listener.one, of: listener)
        set.add(method: Listener.generic, of: listener)

        set.notify(1)

        expect(log.entries, equals: ["closure 1", "owner 1", "one 1", "generic 1"])
    }

    @Test("An unlabelled tuple works with `notify(a, b)`, `notify((a, b))` and a method of as many parameters")
    func unlabelledTuple() {
        let set = ObserverSet<(Int, String)>()
        _ = set.add { log.append("closure \($0) \($1)") }
        _ = set.add { pair in log.append("pair \(pair.0) \(pair.1)") }
        set.add(listener) { listener, pair in listener.note("owner \(pair.0) \(pair.1)") }
        set.add(method: Listener.two, of: listener)

        set.notify(1, "a")
        set.notify((2, "b"))

        expect(
            log.entries,
            equals: [
                "closure 1 a", "pair 1 a", "owner 1 a", "two 1 a",
                "closure 2 b", "pair 2 b", "owner 2 b", "two 2 b",
            ])
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

        expect(
            log.entries,
            equals: [
                "closure a 1", "apart a 1", "owner a 1", "item a 1",
                "closure b 2", "apart b 2", "owner b 2", "item b 2",
            ])
    }

    @Test("A tuple of six elements is passed in parts, as a whole, and to a method of six parameters")
    func six() {
        let set = ObserverSet<(Int, Int, Int, Int, Int, String)>()
        _ = set.add { log.append("closure \($0 + $1 + $2 + $3 + $4)\($5)") }
        set.add(listener) { listener, all in listener.note("owner \(all.0 + all.4)\(all.5)") }
        set.add(method: Listener.six, of: listener)

        set.notify(1, 2, 3, 4, 5, "!")
        set.notify((5, 4, 3, 2, 1, "?"))

        expect(
            log.entries,
            equals: [
                "closure 15!", "owner 6!", "six 15!",
                "closure 15?", "owner 6?", "six 15?",
            ])
    }

    @Test("A set of `Never?` delivers nil, the only value")
    func neverOptional() {
        let set = ObserverSet<Never?>()
        _ = set.add { log.append("closure \($0 == nil)") }
        set.add(listener) { listener, value in listener.note("owner \(value == nil)") }
        set.add(method: Listener.never, of: listener)

        set.notify(nil)

        expect(log.entries, equals: ["closure true", "owner true", "never true"])
    }

    @Test("An optional is delivered as a value, as nil, and as an optional in an optional")
    func optional() {
        let set = ObserverSet<Int?>()
        _ = set.add { log.append("closure \($0.map { "\($0)" } ?? "nil")") }
        set.add(method: Listener.optional, of: listener)
        let doubled = ObserverSet<Int??>()
        _ = doubled.add { log.append("doubled \($0 == nil) \($0 == .some(nil))") }

        set.notify(1)
        set.notify(nil)
        doubled.notify(nil)
        doubled.notify(.some(nil))

        expect(
            log.entries,
            equals: [
                "closure 1", "optional true", "closure nil", "optional false",
                "doubled true false", "doubled false true",
            ])
    }

    @Test("An object is delivered as the same instance, and is not kept alive")
    func classInstance() {
        let set = ObserverSet<Tracked>()
        let instances = Log<ObjectIdentifier>()
        _ = set.add { instances.append(ObjectIdentifier($0)) }
        set.add(listener) { _, value in instances.append(ObjectIdentifier(value)) }
        set.add(method: Listener.tracked, of: listener)

        do {
            let value = Tracked(3)
            set.notify(value)
            expect(instances.entries, equals: [ObjectIdentifier(value), ObjectIdentifier(value)])
        }

        expect(log.entries, equals: ["tracked 3"])
        expect(Lifetimes.current.count, equals: 0)
    }

    @Test("An existential keeps its dynamic type")
    func existential() {
        let set = ObserverSet<any Sendable>()
        _ = set.add { log.append("closure \(type(of: $0))") }
        set.add(method: Listener.anything, of: listener)

        set.notify(1)
        set.notify("text")
        set.notify(Int?.none)

        expect(
            log.entries,
            equals: [
                "closure Int", "anything Int", "closure String", "anything String",
                "closure Optional<Int>", "anything Optional<Int>",
            ])
    }

    @Test("Generic code may notify a value whose type it does not know")
    func generic() {
        told(7)
        told("text")
        told([1, 2])
        told((1, "pair"))
        told(Tracked(5).value)

        expect(log.entries, equals: ["told 7", "told text", "told [1, 2]", "told (1, \"pair\")", "told 5"])
    }

    @Test("A parameter may be a closure, which observers may call")
    func closureParameter() {
        let set = ObserverSet<@Sendable (String) -> Void>()
        _ = set.add { reply in reply("closure") }
        set.add(listener) { listener, reply in reply("owner of \(type(of: listener))") }
        set.add(method: Listener.reply, of: listener)

        set.notify { [log] in log.append($0) }

        expect(log.entries, equals: ["closure", "owner of Listener", "reply"])
    }

    @Test("Parameters may be of local, private, nested and generic types")
    func oddTypes() {
        struct Local: Sendable { let value: Int }
        let local = ObserverSet<Local>()
        let hidden = ObserverSet<Hidden>()
        let box = ObserverSet<Box<Box<Int>>>()
        _ = local.add { log.append("local \($0.value)") }
        _ = hidden.add { log.append("hidden \($0)") }
        _ = box.add { log.append("box \($0.content.content)") }

        local.notify(Local(value: 1))
        hidden.notify(.one)
        hidden.notify(.two(2))
        box.notify(Box(content: Box(content: 3)))

        expect(log.entries, equals: ["local 1", "hidden one", "hidden two(2)", "box 3"])
    }

    @Test("A large value arrives whole, in place and in an actor")
    func largeValue() async {
        let set = ObserverSet<Large>()
        let collector = Collector()
        _ = set.add { log.append("in place \($0.sum)") }
        set.add(collector) { collector, large in collector.sums.append(large.sum) }

        set.notify(Large())
        await set.settled()

        expect(log.entries, equals: ["in place 36"])
        expect(await collector.sums, equals: [36])
    }

    @Test("A value of each kind leaves a mailbox as it was enqueued")
    func throughMailbox() async {
        await enqueued((), "()")
        await enqueued(7, "7")
        await enqueued((name: "a", index: 1), #"(name: "a", index: 1)"#)
        await enqueued((1, "two", 3.0, [4], Character("5"), UInt8(6)), #"(1, "two", 3.0, [4], "5", 6)"#)
        await enqueued(nil as Int?, "nil")
        await enqueued(5 as Int?, "Optional(5)")
        await enqueued(Int??.some(nil), "Optional(nil)")
        await enqueued(nil as Never?, "nil")
        await enqueued(nil as (any Sendable)?, "nil")
        await enqueued(Int?.none as any Sendable, "nil")
        await enqueued(Large() as any Sendable, String(reflecting: Large()))
        await enqueued(CancellationError() as any Error, "Swift.CancellationError()")
        await enqueued(Int?.self as any Any.Type, "Swift.Optional<Swift.Int>")
        await enqueued(Box(content: Int?.none), String(reflecting: Box(content: Int?.none)))

        let closures = ObserverSet<@Sendable (String) -> Void>()
        _ = closures.addNonisolated(on: DispatchQueue(label: "elsewhere")) { $0("called") }
        closures.notify { log.append($0) }
        await closures.settled()
        expect(log.entries.last, equals: "called")
    }

    /// Sends a value through a queue's mailbox, in code that is generic over the value's type.
    private func enqueued<Value: Sendable>(_ value: Value, _ description: String) async {
        let set = ObserverSet<Value>()
        _ = set.addNonisolated(on: DispatchQueue(label: "elsewhere")) { log.append(String(reflecting: $0)) }

        set.notify(value)
        await set.settled()

        expect(log.entries.last, equals: description)
    }

    @Test("Each kind of parameter is also delivered on the main actor, to methods that belong to it")
    @MainActor
    func onTheMainActor() {
        let view = View()
        let cleared = ObserverSet<Void>()
        let titled = ObserverSet<String>()
        let moved = ObserverSet<(Int, Int)>()
        let inserted = ObserverSet<(name: String, index: Int)>()
        cleared.add(method: View.clear, of: view)
        titled.add(method: View.setTitle, of: view)
        moved.add(method: View.move, of: view)
        inserted.add(view) { view, item in view.calls.append("insert \(item.name) at \(item.index)") }

        cleared.notify()
        titled.notify("T")
        moved.notify(1, 2)
        inserted.notify((name: "a", index: 3))

        expect(view.calls, equals: ["clear", "title T", "move 1 to 2", "insert a at 3"])
    }

    private func told<Value: Sendable>(_ value: Value) {
        let set = ObserverSet<Value>()
        _ = set.add { log.append("told \($0)") }
        set.notify(value)
    }
}

/// An owner with a method for each kind of parameter.
private final class Listener: Sendable {
    private let log: Log<String>

    init(_ log: Log<String>) {
        self.log = log
    }

    func note(_ entry: String) { log.append(entry) }

    func nothing() { note("nothing") }
    func one(_ value: Int) { note("one \(value)") }
    func generic<Value: Sendable>(_ value: Value) { note("generic \(value)") }
    func two(_ number: Int, _ text: String) { note("two \(number) \(text)") }
    func item(_ item: (name: String, index: Int)) { note("item \(item.name) \(item.index)") }
    func never(_ value: Never?) { note("never \(value == nil)") }
    func optional(_ value: Int?) { note("optional \(value != nil)") }
    func tracked(_ value: Tracked) { note("tracked \(value.value)") }
    func anything(_ value: any Sendable) { note("anything \(type(of: value))") }
    func reply(_ reply: @Sendable (String) -> Void) { reply("reply") }

    func six(_ a: Int, _ b: Int, _ c: Int, _ d: Int, _ e: Int, _ text: String) {
        note("six \(a + b + c + d + e)\(text)")
    }
}

private enum Hidden: Sendable {
    case one
    case two(Int)
}

private struct Box<Content: Sendable>: Sendable {
    let content: Content
}

private struct Large: Sendable {
    let first = (1, 2, 3, 4)
    let second = (5, 6, 7, 8)

    var sum: Int { first.0 + first.1 + first.2 + first.3 + second.0 + second.1 + second.2 + second.3 }
}

private actor Collector {
    var sums: [Int] = []
}

@MainActor private final class View {
    var calls: [String] = []

    func clear() { calls.append("clear") }
    func setTitle(_ title: String) { calls.append("title \(title)") }
    func move(_ from: Int, _ to: Int) { calls.append("move \(from) to \(to)") }
}
