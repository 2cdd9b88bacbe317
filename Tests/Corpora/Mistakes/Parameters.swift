// What is told is taken for something else.

import ObserverSet

extension View {
    func misspeltLabel(_ model: Model) {
        // error at nmae: value of tuple type '(name: String, index: Int)' has no member 'nmae'
        model.itemAdded.add(self) { view, item in view.show(item.nmae) }
    }

    func misspeltLabelInText(_ model: Model) {
        // error at idnex: value of tuple type '(name: String, index: Int)' has no member 'idnex'
        model.itemAdded.add(self) { view, item in view.show("\(item.name) at \(item.idnex)") }
    }

    func twoMisspeltLabels(_ model: Model) {
        // error at nmae: value of tuple type '(name: String, index: Int)' has no member 'nmae'
        model.itemAdded.add(self) { view, item in view.show("\(item.nmae) at \(item.idnex)") }
    }

    func twoMisspeltLabelsAsArguments(_ model: Model) {
        // misleading: two labels are misspelt; with two mistakes the form for `Void` is as good a guess
        // error at add: referencing instance method 'add(_:_:isolation:fileID:line:)' on 'NotificationSource' requires
        //     the types '(name: String, index: Int)' and '()' be equivalent
        // error at view: contextual closure type '@isolated(any) @Sendable (View) -> Void' expects 1 argument, but 2
        //     were used in closure body
        model.itemAdded.add(self) { view, item in view.move(item.idnex, item.lenght) }
    }

    func misspeltLabelWithoutOwner(_ model: Model) {
        // error at nmae: value of tuple type '(name: String, index: Int)' has no member 'nmae'
        model.itemAdded.add { item in self.show(item.nmae) }
    }

    func misspeltLabelWithShorthand(_ model: Model) {
        // error at nmae: value of tuple type '(name: String, index: Int)' has no member 'nmae'
        model.itemAdded.add(self) { $0.show($1.nmae) }
    }

    func misspeltLabelOnLocalSet(_ local: LocalModel) {
        // error at nmae: value of tuple type '(name: String, index: Int)' has no member 'nmae'
        local.itemAdded.add(self) { view, item in view.show(item.nmae) }
    }

    func labelOfUnlabelledTuple(_ model: Model) {
        // misleading: the tuple has no labels; with two mistakes the form for `Void` is as good a guess
        // error at add: referencing instance method 'add(_:_:isolation:fileID:line:)' on 'NotificationSource' requires
        //     the types '(Int, Int)' and '()' be equivalent
        // error at view: contextual closure type '@isolated(any) @Sendable (View) -> Void' expects 1 argument, but 2
        //     were used in closure body
        model.moved.add(self) { view, step in view.move(step.from, step.to) }
    }

    func labelOfOneElement(_ model: Model) {
        // error at from: value of tuple type '(Int, Int)' has no member 'from'
        model.moved.add(self) { view, step in view.count += step.from }
    }

    func labelOfValue(_ model: Model) {
        // error at name: value of type 'String' has no member 'name'
        model.renamed.add(self) { view, text in view.show(text.name) }
    }

    func wrongElement(_ model: Model) {
        // error at index: cannot convert value of type 'Int' to expected argument type 'String'
        model.itemAdded.add(self) { view, item in view.show(item.index) }
    }

    func tupleForItsElement(_ model: Model) {
        // error at item: cannot convert value of type '(name: String, index: Int)' to expected argument type 'String'
        model.itemAdded.add(self) { view, item in view.show(item) }
    }

    func pairForItsElements(_ model: Model) {
        // error at step: instance method 'move' expects 2 separate arguments
        model.moved.add(self) { view, step in view.move(step) }
    }

    func numberForText(_ model: Model) {
        // error at text: cannot convert value of type 'String' to expected argument type 'Int'
        model.renamed.add(self) { view, text in view.count += text }
    }

    func wrongTypeStated(_ model: Model) {
        // error at {: cannot convert value of type '@Sendable (Int) -> ()' to expected argument type '@isolated(any)
        //     @Sendable (String) -> Void'
        model.renamed.add { (number: Int) in print(number) }
    }

    func wrongTypeStatedWithOwner(_ model: Model) {
        // error at {: cannot convert value of type '@Sendable (View, Int) -> ()' to expected argument type
        //     '@isolated(any) @Sendable (View, String) -> Void'
        model.renamed.add(self) { (view: View, number: Int) in view.count += number }
    }

    func wrongOwnerStated(_ model: Model) {
        // error at self: cannot convert value of type 'View' to expected argument type 'Log'
        model.renamed.add(self) { (log: Log, text: String) in log.show(text) }
    }

    func wrongLabelsStated(_ model: Model) {
        // warning at {: tuple conversion from '(name: String, index: Int)' to '(title: String, index: Int)' mismatches
        //     labels; this will be an error in a future Swift language mode
        _ = model.itemAdded.add { (item: (title: String, index: Int)) in print(item.title) }
    }

    func functionOfWrongType(_ model: Model, _ observer: @escaping @Sendable (Int) -> Void) {
        // error at observer: cannot convert value of type '@Sendable (Int) -> Void' to expected argument type
        //     '@isolated(any) @Sendable (String) -> Void'
        model.renamed.add(observer)
    }

    func functionOfWrongTypeNonisolated(_ model: Model, _ observer: @escaping @Sendable (Int) -> Void) {
        // error at observer: cannot convert value of type '@Sendable (Int) -> Void' to expected argument type
        //     '@Sendable (String) -> Void'
        model.renamed.addNonisolated(observer)
    }

    func ownerAndParameterSwapped(_ model: Model) {
        // error at show: value of type 'String' has no member 'show'
        model.renamed.add(self) { text, view in view.show(text) }
    }
}
