// Mistakes that the type checker finds. Each part of a message that the page *Messages of the compiler* quotes stands
// here as `// expect: PART`, and the compiler must say it about the next line.

import Dispatch
import Foundation
import ObserverSet
import Observation

extension View {
    func misspells(_ model: Model) {
        // expect: contextual closure type '@isolated(any) @Sendable (View) -> Void' expects 1 argument, but 2 were used in closure body
        // expect: referencing instance method 'add(_:_:isolation:fileID:line:)' on 'NotificationSource' requires the types '(name: String, index: Int)' and '()' be equivalent
        model.itemAdded.add(self) { view, item in view.move(item.idnex, item.lenght) }
    }

    func usesSelf(_ model: Model) {
        // expect: implicit use of 'self' in closure; use 'self.' to make capture semantics explicit
        model.renamed.add(self) { view, text in show(text) }
    }

    func miscounts(_ model: Model) {
        // expect: expects 2 arguments, but 1 was used
        model.renamed.add(self) { view in view.clear() }
        // expect: which cannot be implicitly ignored
        model.renamed.add { self.clear() }
        // expect: Sendable (View, (Int, Int)) -> Void' expects
        model.moved.add(self) { view, from, to in view.move(from, to) }
        // expect: value of type 'Int' has no member
        model.itemAdded.add { view, item in view.move(item.index, 1) }
        // expect: cannot convert value of type 'Void' to expected argument type
        model.cleared.add(self) { view, text in view.show(text) }
    }

    func sendsElements(_ model: Model) {
        // expect: 'notify(_:isolation:)' requires the types
        // expect: requires the types '(name: String, index: Int)' and '(String, Int)'
        model.itemAdded.notify("So What", 0)
        // expect: extra argument 'index' in call
        model.itemAdded.notify(name: "So What", index: 0)
    }

    func namesFunctions(_ model: Model, _ history: History, _ observer: @escaping (String) -> Void) {
        // expect: '@Sendable (View) -> @MainActor @Sendable () -> ()'
        model.cleared.add(self, View.clear)
        // expect: no exact matches in call to instance method 'add'
        model.cleared.add(method: self.clear, of: self)
        // expect: can not be partially applied
        _ = model.renamed.add(history.show)
        // expect: loses global actor 'MainActor'
        _ = model.renamed.addNonisolated(show)
        // expect: to function expecting a '@Sendable' closure
        model.renamed.add(observer)
        // expect: may introduce data races
        model.cleared.add(View.clear)
    }

    func awaitsAndThrows(_ model: Model, _ history: History) {
        // expect: to parameter expecting synchronous function type
        model.renamed.add { text in await history.show(text) }
        // expect: from throwing function
        model.renamed.add(self) { view, text in try view.save(text) }
        // expect: to closure result type 'Void'
        model.renamed.add { text in return text.count }
    }

    func crossesActors(_ model: Model, _ history: History) {
        // expect: in a synchronous main actor-isolated context
        model.renamed.add(self) { view, text in history.show(text) }
        // expect: in a synchronous actor-isolated context
        model.renamed.add(history) { history, text in self.show(text) }
    }

    func passesValues(_ model: Model) {
        // expect: requires that 'Point' conform to 'Actor'
        model.renamed.add(Point()) { point, text in print(point, text) }
        // expect: cannot infer contextual base in reference to member 'main'
        model.renamed.add(Log(), on: .main) { log, text in log.show(text) }
    }

    func infers(_ model: Model) {
        // expect: in reasonable time
        model.renamed.add(self) { view, _ in view.show("item " + String(view.count) + "/" + String(view.count + 1)) }
        // expect: could not be inferred
        let lengths = model.renamed.compactMap { text in
            guard !text.isEmpty else { return nil }
            return text.count
        }
        _ = lengths.add { length in print(length) }
        // expect: no exact matches in call to instance method 'merge'
        let both = model.renamed.merge(with: model.itemAdded)
        _ = both.add { name in print(name) }
    }

    func endsThroughSource(_ model: Model, _ token: ObserverToken) {
        // expect: 'some NotificationSource<String>' has no member
        model.renamedSource.remove(token)
        // expect: has no member 'cancel'
        token.cancel()
        // expect: result of call to 'add(_:isolation:fileID:line:)' is unused
        model.renamed.add { [weak self] text in self?.show(text) }
    }

    func publishes(_ events: EventPublisher, _ center: NotificationCenter) {
        // expect: requires that 'NoEvent' conform to 'Event'
        events.publish(NoEvent())
        // expect: call to instance method 'post'
        center.post(OrderPlaced(name: "tea", number: 1))
    }
}

func runsAnywhere(_ model: Model, _ draft: Draft) {
    // expect: type 'Draft' does not conform to the 'Sendable' protocol
    model.renamed.add(draft) { draft, text in draft.text = text }
    // expect: capture of 'draft' with non-Sendable type
    _ = model.renamed.add { text in draft.text = text }
    var number = 0
    // expect: mutation of captured var
    _ = model.cleared.addNonisolated { number += 1 }
    print(number)
}

func passesOn<Owner: AnyObject & Sendable>(
    _ model: Model, _ owner: Owner, _ body: @escaping @MainActor (Owner, String) -> Void
) {
    // expect: in a synchronous nonisolated context
    model.renamed.add(owner) { owner, text in body(owner, text) }
}

func observesFromNowhere(_ settings: Settings) {
    // expect: can not be referenced from a nonisolated context
    _ = settings.changed.add { text in print(text) }
}

@MainActor enum Request {
    static var id = ""
}

@MainActor struct Heading: @MainActor Equatable, Sendable {
    var text: String
}

actor Archive {
    func observe(_ headings: ObserverSet<Heading>, _ old: Heading) {
        // expect: on a nonisolated actor instance
        print(Request.id)
        // expect: cannot be used in nonisolated context
        _ = headings.filter { heading in heading == old }
    }
}

final class SharedDocument: Sendable {
    // expect: has non-Sendable type 'LocalObserverSet
    let renamed = LocalObserverSet<String>()
}

func sharesLocalSet(_ local: LocalModel, _ renamed: LocalObserverSet<String>) {
    // expect: value of type 'LocalObserverSet<String>' has no member
    local.renamed.addNonisolated { text in print(text) }
    // expect: stays in the set's isolation domain
    Task.detached { renamed.add { text in print(text) } }
}

/// Is no event.
struct NoEvent {
    let name = ""
}

struct Point {}

/// A class that is not `Sendable`.
final class Draft {
    var text = ""
}

@MainActor final class Settings {
    var changed: some NotificationSource<String> { observers }
    private let observers = ObserverSet<String>()
}
