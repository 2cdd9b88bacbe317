// What stands in a closure is not what an observer may do.

import ObserverSet

extension View {
    func awaits(_ model: Model, _ history: History) {
        // error at {: cannot pass function of type '@Sendable (String) async -> ()' to parameter expecting synchronous
        //     function type
        model.renamed.add { text in await history.show(text) }
    }

    func awaitsWithOwner(_ model: Model, _ history: History) {
        // error at {: cannot pass function of type '@Sendable (View, String) async -> Void' to parameter expecting
        //     synchronous function type
        model.renamed.add(self) { view, text in
            view.show(text)
            await history.show(text)
        }
    }

    func awaitsOnLocalSet(_ local: LocalModel, _ history: History) {
        // error at {: cannot pass function of type '(String) async -> ()' to parameter expecting synchronous function
        //     type
        local.renamed.add { text in await history.show(text) }
    }

    func isAsync(_ model: Model, _ history: History) {
        // error at {: cannot pass function of type '@Sendable (String) async -> ()' to parameter expecting synchronous
        //     function type
        model.renamed.add { text async in await history.show(text) }
    }

    func throwsWithOwner(_ model: Model) {
        // error at {: invalid conversion from throwing function of type '@Sendable (View, String) throws -> Void' to
        //     non-throwing function type '@isolated(any) @Sendable (View, String) -> Void'
        model.renamed.add(self) { view, text in try view.save(text) }
    }

    func throwsWithoutOwner(_ model: Model) {
        // error at {: invalid conversion from throwing function of type '@Sendable (String) throws -> ()' to
        //     non-throwing function type '@isolated(any) @Sendable (String) -> Void'
        model.renamed.add { text in try self.save(text) }
    }

    func throwsInSeveralStatements(_ model: Model) {
        // error at {: invalid conversion from throwing function of type '@Sendable (View, String) throws -> Void' to
        //     non-throwing function type '@isolated(any) @Sendable (View, String) -> Void'
        model.renamed.add(self) { view, text in
            view.show(text)
            throw Failure()
        }
    }

    func forgetsTry(_ model: Model) {
        // error at view: call can throw, but it is not marked with 'try' and the error is not handled
        model.renamed.add(self) { view, text in view.save(text) }
    }

    func catchesSomeErrorsOnly(_ model: Model) {
        // error at {: invalid conversion from throwing function of type '@Sendable (View, String) throws -> Void' to
        //     non-throwing function type '@isolated(any) @Sendable (View, String) -> Void'
        model.renamed.add(self) { view, text in
            do { try view.save(text) } catch is Failure {}
        }
    }

    func returnsValue(_ model: Model) {
        model.renamed.add(self) { view, text in
            view.show(text)
            // error at count: cannot convert value of type 'Int' to closure result type 'Void'
            return text.count
        }
    }

    func returnsValueInOneStatement(_ model: Model) {
        // error at count: cannot convert value of type 'Int' to closure result type 'Void'
        model.renamed.add { text in return text.count }
    }

    func returnsValueInGuard(_ model: Model) {
        model.renamed.add(self) { view, text in
            // error at false: cannot convert value of type 'Bool' to closure result type 'Void'
            guard view.isOpen else { return false }
            view.show(text)
        }
    }

    func statesResult(_ model: Model) {
        // error at Int: declared closure result 'Int' is incompatible with contextual type 'Void'
        model.renamed.add(self) { (view, text) -> Int in text.count }
    }

    func forgetsIn(_ model: Model) {
        // misleading: does not say that `in` is missing after the parameters
        // error at {: contextual type for closure argument list expects 1 argument, which cannot be implicitly ignored
        model.renamed.add {
            // error at text: cannot find 'text' in scope
            text
            // error at text: cannot find 'text' in scope
            self.show(text)
        }
    }

    func forgetsSelf(_ model: Model) {
        // error at show: implicit use of 'self' in closure; use 'self.' to make capture semantics explicit
        _ = model.renamed.add { text in show(text) }
    }

    func forgetsSelfOfProperty(_ model: Model) {
        // error at count: reference to property 'count' in closure requires explicit use of 'self' to make capture
        //     semantics explicit
        _ = model.cleared.add { count += 1 }
    }

    func forgetsOwner(_ model: Model) {
        // misleading: `self.count` would compile, and keep the owner alive; it is `view.count`
        // error at count: reference to property 'count' in closure requires explicit use of 'self' to make capture
        //     semantics explicit
        model.cleared.add(self) { view in count += 1 }
    }

    func forgetsSelfOnLocalSet(_ local: LocalModel) {
        // error at show: implicit use of 'self' in closure; use 'self.' to make capture semantics explicit
        _ = local.renamed.add { text in show(text) }
    }

    func forgetsQuestionMark(_ model: Model) {
        // error at self: value of optional type 'View?' must be unwrapped to refer to member 'show' of wrapped base
        //     type 'View'
        model.renamed.add { [weak self] text in self.show(text) }
    }

    func forgetsToUnwrap(_ model: Model) {
        // error at show: explicit use of 'self' is required when 'self' is optional, to make control flow explicit
        model.renamed.add { [weak self] text in show(text) }
    }

    func assignsParameter(_ model: Model) {
        model.renamed.add { text in
            // error at +: left side of mutating operator isn't mutable: 'text' is a 'let' constant
            text += "!"
            print(text)
        }
    }

    func assignsConstantOfOwner(_ model: Model) {
        // error at view: cannot assign to value: 'view' is a 'let' constant
        model.cleared.add(self) { view in view = View() }
    }

    func capturesVariable(_ model: Model) {
        var number = 0
        // error at number: mutation of captured var 'number' in concurrently-executing code
        _ = model.cleared.addNonisolated { number += 1 }
        print(number)
    }

    func namesParameterTwice(_ model: Model) {
        // error at view: invalid redeclaration of 'view'
        model.renamed.add(self) { view, view in view.clear() }
    }

    func mixesShorthandAndNames(_ model: Model) {
        // error at $1: anonymous closure arguments cannot be used inside a closure that has explicit arguments; did you
        //     mean 'text'?
        model.renamed.add(self) { view, text in view.show($1) }
    }

    func usesShorthandOfTooMany(_ model: Model) {
        // error at {: contextual closure type '@isolated(any) @Sendable (String) -> Void' expects 1 argument, but 2
        //     were used in closure body
        model.renamed.add { self.show($1) }
    }
}
