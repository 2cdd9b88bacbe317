// What is not `Sendable`, where it must be.

import Dispatch
import ObserverSet

final class Draft {
    var text = ""
    func rewrite(_ text: String) {}
}

func ownerIsPlain(_ model: Model, _ draft: Draft) {
    // error at add: type 'Draft' does not conform to the 'Sendable' protocol
    model.renamed.add(draft) { draft, text in draft.text = text }
}

func ownerIsPlainOnVoidSet(_ model: Model, _ draft: Draft) {
    // error at add: type 'Draft' does not conform to the 'Sendable' protocol
    model.cleared.add(draft) { draft in draft.text = "" }
}

func ownerIsPlainOnce(_ model: Model, _ draft: Draft) {
    // error at add: type 'Draft' does not conform to the 'Sendable' protocol
    model.renamed.once.add(draft) { draft, text in draft.text = text }
}

func ownerIsPlainOnQueue(_ model: Model, _ draft: Draft) {
    // error at addNonisolated: type 'Draft' does not conform to the 'Sendable' protocol
    model.renamed.addNonisolated(on: .main, draft) { draft, text in draft.text = text }
}

func ownerOfMethodIsPlain(_ model: Model, _ draft: Draft) {
    // misleading: it is not the function that is wrong; the class of the owner must be `Sendable`
    // error at rewrite: converting non-Sendable function value to '@isolated(any) @Sendable (String) -> Void' may
    //     introduce data races
    model.renamed.add(method: Draft.rewrite, of: draft)
}

func captureIsPlain(_ model: Model, _ draft: Draft) {
    // error at draft: capture of 'draft' with non-Sendable type 'Draft' in a '@Sendable' closure
    _ = model.renamed.add { text in draft.text = text }
}

func captureIsPlainAndWeak(_ model: Model, _ draft: Draft) {
    // error at draft: capture of 'draft' with non-Sendable type 'Draft?' in a '@Sendable' closure
    _ = model.renamed.add { [weak draft] text in draft?.text = text }
}

func captureIsPlainOnQueue(_ model: Model, _ draft: Draft) {
    // error at draft: capture of 'draft' with non-Sendable type 'Draft' in a '@Sendable' closure
    _ = model.renamed.addNonisolated(on: .main) { text in draft.text = text }
}

func captureIsLocalSet(_ model: Model, _ local: LocalObserverSet<String>) {
    // error at local: capture of 'local' with non-Sendable type 'LocalObserverSet<String>' in a '@Sendable' closure
    _ = model.renamed.add { text in local.notify(text) }
}

func functionIsNotSendable(_ model: Model, _ observer: @escaping (String) -> Void) {
    // error at observer: passing non-Sendable parameter 'observer' to function expecting a '@Sendable' closure
    model.renamed.add(observer)
}

func functionIsNotSendableNonisolated(_ model: Model, _ observer: @escaping (String) -> Void) {
    // error at observer: passing non-Sendable parameter 'observer' to function expecting a '@Sendable' closure
    model.renamed.addNonisolated(observer)
}

func setOfPlain() {
    // error at drafts: type 'Draft' does not conform to the 'Sendable' protocol
    // error at ObserverSet: type 'Draft' does not conform to the 'Sendable' protocol
    // error at >: type 'Draft' does not conform to the 'Sendable' protocol
    let drafts = ObserverSet<Draft>()
    // error at add: type 'Draft' does not conform to the 'Sendable' protocol
    _ = drafts.add { draft in print(draft.text) }
}

func setOfTupleWithPlain() {
    // error at drafts: type 'Draft' does not conform to the 'Sendable' protocol
    // error at ObserverSet: type 'Draft' does not conform to the 'Sendable' protocol
    // error at >: type 'Draft' does not conform to the 'Sendable' protocol
    let drafts = ObserverSet<(draft: Draft, index: Int)>()
    // error at add: type 'Draft' does not conform to the 'Sendable' protocol
    _ = drafts.add { item in print(item.index) }
}

struct PlainSource: NotificationSource {
    // error at draft: stored property 'draft' of 'Sendable'-conforming struct 'PlainSource' has non-Sendable type
    //     'Draft'
    var draft: Draft
    func register(_ observer: Observer<String>) -> ObserverToken { ObserverToken([]) }
    func settled() async {}
}

extension Draft {
    func observesItself(_ model: Model) {
        // error at add: type 'Draft' does not conform to the 'Sendable' protocol
        model.renamed.add(self) { draft, text in draft.text = text }
    }

    func capturesItself(_ model: Model) {
        // error at self: capture of 'self' with non-Sendable type 'Draft?' in a '@Sendable' closure
        _ = model.renamed.add { [weak self] text in self?.text = text }
    }
}

extension View {
    func closureInVariable(_ model: Model) {
        let show = { (view: View, text: String) in view.show(text) }
        // misleading: the closure belongs to the main actor; its variable has to say so, or that it is `@Sendable`
        // error at show: converting non-Sendable function value to '@isolated(any) @Sendable (View, String) -> Void'
        //     may introduce data races
        model.renamed.add(self, show)
    }
}

func passesOn<Owner: AnyObject & Sendable>(_ model: Model, _ owner: Owner, to body: @escaping (Owner, String) -> Void) {
    // error at body: capture of 'body' with non-Sendable type '(Owner, String) -> Void' in a '@Sendable' closure
    model.renamed.add(owner) { owner, text in body(owner, text) }
}

func passesOnSendable<Owner: AnyObject & Sendable>(
    _ model: Model, _ owner: Owner, to body: @escaping @Sendable (Owner, String) -> Void
) {
    model.renamed.add(owner) { owner, text in body(owner, text) }
}

func passesOnIsolated<Owner: AnyObject & Sendable>(
    _ model: Model, _ owner: Owner, to body: @escaping @isolated(any) @Sendable (Owner, String) -> Void
) {
    // error at body: call to @isolated(any) parameter 'body' in a synchronous nonisolated context
    model.renamed.add(owner) { owner, text in body(owner, text) }
}

extension View {
    func givesClosureAway(_ model: Model) {
        // misleading: a function that takes a `@Sendable` closure makes it a nonisolated one; return a source instead
        // error at count: main actor-isolated property 'count' can not be mutated from a Sendable closure
        passesOnSendable(model, self) { view, text in view.count += text.count }
    }
}
