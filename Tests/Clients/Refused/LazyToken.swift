// expect: call to main actor-isolated instance method 'show' in a synchronous nonisolated context
// The closure in a lazy property's initial value belongs to no actor unless it is marked.

import ObserverSet

@MainActor final class View {
    private let started: ObserverSet<String>
    lazy var token = started.add(self) { view, title in view.show(title) }

    init(_ started: ObserverSet<String>) { self.started = started }
    func show(_ title: String) {}
}
