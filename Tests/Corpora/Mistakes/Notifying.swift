// `notify` is given the wrong thing, or something that cannot notify is asked to.

import ObserverSet

func labelledTupleWithoutParentheses(_ model: Model) {
    // misleading: a tuple with labels needs a second pair of parentheses
    // error at ": cannot convert value of type 'String' to expected argument type '(name: String, index: Int)'
    // error at 0: extra argument 'index' in call
    model.itemAdded.notify(name: "So What", index: 0)
}

func labelledTupleWithoutParenthesesAndLabels(_ model: Model) {
    // error at notify: instance method 'notify(_:isolation:)' requires the types '(name: String, index: Int)' and
    //     '(String, Int)' be equivalent
    model.itemAdded.notify("So What", 0)
}

func labelMisspelt(_ model: Model) {
    // error at notify: instance method 'notify(_:isolation:)' requires the types '(name: String, index: Int)' and
    //     '(nmae: String, index: Int)' be equivalent
    model.itemAdded.notify((nmae: "So What", index: 0))
}

func labelsInAnotherOrder(_ model: Model) {
    // warning at (: implicit reordering of tuple elements from 'index:name:' to 'name:index:' is deprecated; this will
    //     be an error in a future Swift language mode
    model.itemAdded.notify((index: 0, name: "So What"))
}

func elementForgotten(_ model: Model) {
    // error at notify: instance method 'notify(_:isolation:)' requires the types '(name: String, index: Int)' and
    //     'String' be equivalent
    model.itemAdded.notify("So What")
}

func elementOfPairForgotten(_ model: Model) {
    // error at 2: cannot convert value of type 'Int' to expected argument type '(Int, Int)'
    model.moved.notify(2)
}

func oneElementTooMany(_ model: Model) {
    // error at notify: instance method 'notify(_:isolation:)' requires the types '(Int, Int)' and '(Int, Int, Int)' be
    //     equivalent
    model.moved.notify(2, 5, 7)
}

func wrongTypeInPair(_ model: Model) {
    // error at 2: cannot convert value of type 'String' to expected argument type 'Int'
    model.moved.notify(2, "five")
}

func wrongType(_ model: Model) {
    // error at 1: cannot convert value of type 'Int' to expected argument type 'String'
    model.renamed.notify(1)
}

func nothingForValue(_ model: Model) {
    // error at notify: instance method 'notify(_:isolation:)' requires the types '(_: String)' and '()' be equivalent
    model.renamed.notify()
}

func valueForVoid(_ model: Model) {
    // error at ": cannot convert value of type 'String' to expected argument type 'Void'
    model.cleared.notify("now")
}

func twoValuesForOne(_ model: Model) {
    // error at notify: instance method 'notify(_:isolation:)' requires the types '(_: String)' and '(String, String)'
    //     be equivalent
    model.renamed.notify("old", "new")
}

func optionalForValue(_ model: Model, _ text: String?) {
    // error at text: value of optional type 'String?' must be unwrapped to a value of type 'String'
    model.renamed.notify(text)
}

func throughVoidSource(_ model: Model) {
    // error at notify: value of type 'some NotificationSource<()>' has no member 'notify'
    model.clearedSource.notify()
}

func throughAnySource(_ model: Model) {
    // error at notify: value of type 'any NotificationSource<String>' has no member 'notify'
    model.anyRenamed.notify("mine")
}

func throughGroup(_ model: Model) {
    // error at notify: value of type 'ObserverGroup' has no member 'notify'
    model.changed.notify()
}

func throughGenericSource(_ source: some NotificationSource<String>) {
    // error at notify: value of type 'some NotificationSource<String>' has no member 'notify'
    source.notify("mine")
}

func localLabelledTupleWithoutParentheses(_ local: LocalModel) {
    // error at (: instance method 'notify' expects a single parameter of type '(name: String, index: Int)'
    local.itemAdded.notify(name: "So What", index: 0)
}

func localWrongType(_ local: LocalModel) {
    // error at 1: cannot convert value of type 'Int' to expected argument type 'String'
    local.renamed.notify(1)
}

func asFunction(_ model: Model) {
    // error at renamed: cannot call value of non-function type 'ObserverSet<String>'
    model.renamed("text")
}

func misspeltNotify(_ model: Model) {
    // error at notfy: value of type 'ObserverSet<String>' has no member 'notfy'
    model.renamed.notfy("text")
}
