// Forms that the compiler warns of with the settings of a new Xcode project. Nothing here is marked `@MainActor`: the types belong to
// the main actor, because that is the default. If the classes were marked, only the lines below "also if it is marked" would be
// warned of. `.ci/compiler` checks that the compiler says at each line what stands above it, and nothing else.

import ObserverSet

final class Screen {
    lazy var stored: @MainActor (String) -> Void = show
    func show(_ text: String) {}
    func returned() -> (String) -> Void { { text in self.show(text) } }
    static func tell(_ text: String) {}
    static func both(_ screen: Screen, _ text: String) {}

    func observe(_ source: ObserverSet<String>, _ local: LocalObserverSet<String>) {
        // expect: call to main actor-isolated instance method 'show' in a synchronous nonisolated context
        source.add(method: Screen.show, of: self)
        // expect: call to main actor-isolated instance method 'show' in a synchronous nonisolated context
        local.add(method: Screen.show, of: self)
        // expect: call to main actor-isolated static method 'tell' in a synchronous nonisolated context
        _ = source.add(Screen.tell)
        // expect: call to main actor-isolated static method 'both' in a synchronous nonisolated context
        source.add(self, Screen.both)
        // expect: call to main actor-isolated instance method 'show' in a synchronous nonisolated context
        _ = source.add(Screen.show(self))
        // expect: call to main actor-isolated instance method 'show' in a synchronous nonisolated context
        let unapplied = Screen.show
        _ = source.add(unapplied(self))
    }

    func alsoIfItIsMarked(_ source: ObserverSet<String>) {
        let variable: (String) -> Void = show
        // expect: converting non-Sendable function value to '@isolated(any) @Sendable (String) -> Void' may introduce data races
        _ = source.add(variable)
        // expect: converting non-Sendable function value to '@isolated(any) @Sendable (String) -> Void' may introduce data races
        _ = source.add(returned())
        let closure = { (text: String) in self.show(text) }
        // expect: converting non-Sendable function value to '@isolated(any) @Sendable (String) -> Void' may introduce data races
        _ = source.add(closure)
        // expect: call to main actor-isolated instance method 'show' in a synchronous nonisolated context
        _ = source.addNonisolated { text in self.show(text) }
        // expect: call to main actor-isolated instance method 'isGood' in a synchronous nonisolated context
        _ = source.filter { self.isGood($0) }.addNonisolated { _ in }
    }

    func isGood(_ text: String) -> Bool { true }
}

func isGood(_ text: String) -> Bool { true }
func global(_ text: String) {}

nonisolated func observeFromNowhere(_ source: ObserverSet<String>, _ screen: Screen) {
    // expect: loses global actor 'MainActor'
    _ = source.addNonisolated(global)
    // expect: loses global actor 'MainActor'
    _ = source.filter(isGood).addNonisolated { _ in }
    // expect: call to main actor-isolated instance method 'show' in a synchronous nonisolated context
    _ = source.add { text in screen.show(text) }
    // expect: call to main actor-isolated instance method 'show' in a synchronous nonisolated context
    source.add(screen) { screen, text in screen.show(text) }
}

struct Sheet: Equatable, Sendable {
    var title = ""
    var heading: String { title.uppercased() }
}

actor Sender {
    let sent = ObserverSet<String>()
    func observe() {
        // expect: cannot have a global actor
        sent.add(self) { @MainActor sender, text in print(text) }
    }

    func areEqual(_ first: Sheet, _ second: Sheet) -> Bool {
        // expect: cannot be used in actor-isolated context
        first == second
    }
}

func observeSheets(_ sheets: ObserverSet<Sheet>) {
    // expect: can not be referenced from a Sendable closure
    _ = sheets.map { $0.heading }.addNonisolated { _ in }
}
