import ObserverSet
import Testing

/// What the article "Recipes" says about its programs, except for what these print.
@Suite("Recipes", .lifetimesChecked, .againstHanging)
struct RecipesArticleTests {}

extension RecipesArticleTests {
    @MainActor private final class TitleView {
        private let log: Log<String>
        private var token: ObserverToken?

        init(_ log: Log<String>) { self.log = log }

        func show(_ name: String, _ titleChanged: ObserverSet<Int>) {
            token?.remove()
            token = titleChanged.add(self) { view, title in view.log.append("\(name) \(title)") }
        }
    }

    @Test("A view that removes the token it keeps, and then adds again, has one observer, which receives nothing older")
    @MainActor func oneObserverAtATime() async {
        let (first, second) = (ObserverSet<Int>(), ObserverSet<Int>())
        let log = Log<String>()
        let view = TitleView(log)
        for set in [first, first, second] {
            view.show(set === first ? "first" : "second", set)
            join {
                first.notify(1)
                second.notify(1)
            }
        }
        expect(first.isEmpty && second.count == 1)

        await second.settled()
        view.show("again", second)
        second.notify(2)

        expect(log.entries, equals: ["second 1", "again 2"])
        expect(second.count, equals: 1)
    }

    @Test("A call ends by itself or is cancelled at its limit; either way the next one begins after that")
    func timeLimit() async {
        let source = ObserverSet<Int>()
        let log = Log<String>()
        let limit = Door()
        _ = source.addAsync { value in
            await withTaskGroup { group in
                group.addTask {
                    log.append("begin \(value)")
                    if value.isMultiple(of: 2) { await cancellation() }
                    log.append("end \(value)")
                }
                let isAtItsLimit = Signal()
                group.addTask {
                    await limit.pass()
                    isAtItsLimit.set()
                }
                await group.next()
                group.cancelAll()
                if !isAtItsLimit.isSet { limit.letOnOne() }
            }
        }
        let rounds = many(2_000, long: 100_000)

        for value in 1...rounds { source.notify(value) }
        for value in 1...rounds where value.isMultiple(of: 2) {
            await eventually { log.count >= 2 * value - 1 }
            limit.letOnOne()
        }
        limit.open()
        await source.settled()

        expect(log.entries, equals: (1...rounds).flatMap { ["begin \($0)", "end \($0)"] })
    }

    @Test("A shutdown with a time limit ends although a client never answers, and its description says who is late")
    func shutdown() async {
        let said = ObserverSet<String>()
        let door = Door()
        let token = said.addAsync { _ in await door.pass() }
        said.notify("hello")
        said.notify("is anybody there?")
        let end = Task { await said.settled() }
        await eventually { door.waiting == 1 }

        let late = said.debugDescription
        end.cancel()
        await end.value

        expect(late.contains("in a call") && late.contains("1 pending"))
        token.remove()
        door.open()
    }
}
