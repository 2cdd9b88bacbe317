# Writes closures that must compile, as Swift files in the folder that the variable `out` names:
#
#     awk -v out=FOLDER -f Tests/Clients/closures.awk
#
# Each form of `add` on each kind of source with each kind of parameters has each kind of body once with the closure's
# parameters named, and often with `$0`; in turn on the main actor, on no actor and on an actor's instance. Every other
# way to write the parameters has a body or two. What the closures talk about is in Context.swift. Prints their number.
#
# Left out, because it does not compile, and cannot be helped here:
#
# - In an actor's instance, a closure that captures the actor weakly and calls it without `await`: such a closure
#   belongs to the actor only if it captures it strongly. It is here with a task; `add(self)` is shorter.
# - In an actor's instance, the form of a local set with the actor as the owner: the compiler does not know that the
#   owner it passes is the actor that it is on. There `add { self.show($0) }` is the form to use.
# - A call of `add` on a local set as all that a task does: the task would return the token.
# - `add(method:of:)` with an actor's method, which Swift cannot form, and with a method of several parameters on a
#   tuple with labels, which the compiler does not match. A method that takes the tuple as one parameter is here.
# - In a closure of the main actor, `addNonisolated` and `addNonisolated(on:)` with what belongs to that actor.

BEGIN {
    # A body is `R` for the receiver, `T` for what is told as a text, `N` for the same as a number. `;` ends a line.
    bodies = split("R.show(T)|R.count += N|R.words.insert(T)|R.show(T);R.count += N|if R.isOpen { R.show(T) }|" \
        "if R.count > N { R.words.insert(T) } else { R.show(T) }|" \
        "for number in 0..<N { R.show(\"\\(number) of \\(T)\") }|" \
        "let text = T;R.show(text)|guard R.count > N else { return };R.show(T)|" \
        "switch N {;case 0: R.count = 0;case 1: R.words.insert(T);default: R.show(T);}|" \
        "do { try R.save(T) } catch { R.show(\"\\(error)\") }", plain, "|")

    # The same where the receiver is captured weakly: `S` is it.
    weak[1] = "S?.show(T)"
    weak[2] = "S?.count += N"
    weak[3] = "S?.words.insert(T)"
    weak[4] = "S?.show(T);S?.count += N"
    weak[5] = "if let S { S.show(T) }"
    weak[6] = "if let S, S.count > N { S.words.insert(T) } else { print(T) }"
    weak[7] = "for number in 0..<N { S?.show(\"\\(number) of \\(T)\") }"
    weak[8] = "let text = T;S?.show(text)"
    weak[9] = "guard let S else { return };S.show(T);S.count += N"
    weak[10] = "switch S {;case nil: print(T);case let owner?: owner.show(T);}"
    weak[11] = "do { try S?.save(T) } catch { S?.show(\"\\(error)\") }"
    weak[12] = "guard let self, isOpen else { return };show(T);words.insert(T)"
    weaks = 12

    # The same where it is an actor, and the closure is not on it.
    elsewhere[1] = "Task { await S?.show(T) }"
    elsewhere[2] = "guard let S else { return };Task { await S.show(T) }"
    elsewhere[3] = "if let S { Task { await S.show(T) } }"
    elsewhere[4] = "let text = T;Task { await S?.show(text) }"
    elsewhere[5] = "for number in 0..<N { Task { await S?.show(\"\\(number)\") } }"
    elsewhere[6] = "switch N {;case 0: break;default: Task { await S?.show(T) };}"
    elsewhere[7] = "Task {;do { try await S?.save(T) } catch { await S?.show(\"\\(error)\") };}"
    elsewheres = 7

    # For each kind of parameters a method that takes them, a name, their type, and `T` and `N` of `X`.
    addKind("Void", "clear", "_", "Void", "\"cleared\"", "limit")
    addKind("Value", "show", "text", "String", "X", "X.count")
    addKind("Labelled", "insert", "item", "(name: String, index: Int)", "X.name", "X.index")
    addKind("Pair", "move", "step", "(Int, Int)", "\"\\(X.0)\"", "X.1")
    addKind("Event", "take", "order", "OrderPlaced", "X.name", "X.number")
    addKind("Class", "receive", "message", "Message", "X.text", "X.text.count")
    addKind("AnyEvent", "hear", "event", "any Event", "\"\\(X)\"", "\"\\(X)\".count")
    addKind("Bridged", "change", "theme", "ThemeChanged", "X.name", "X.number")

    addSource("ObserverSet", "Void", "model.cleared")
    addSource("ObserverSet", "Value", "model.renamed")
    addSource("ObserverSet", "Labelled", "model.itemAdded")
    addSource("ObserverSet", "Pair", "model.moved")
    addSource("NotificationSource", "Void", "model.clearedSource")
    addSource("NotificationSource", "Value", "model.renamedSource")
    addSource("NotificationSource", "Labelled", "model.itemAddedSource")
    addSource("NotificationSource", "Pair", "model.movedSource")
    addSource("Starting", "Value", "model.renamed.starting(with: \"first\")")
    addSource("AnySource", "Void", "model.anyCleared")
    addSource("AnySource", "Value", "model.anyRenamed")
    addSource("AnySource", "Labelled", "model.anyItemAdded")
    addSource("AnySource", "Pair", "model.anyMoved")
    addSource("ObserverGroup", "Void", "model.changed")
    addSource("EventPublisher", "Event", "model.events.observers(of: OrderPlaced.self)")
    addSource("EventPublisher", "Class", "model.events.observers(of: Message.self)")
    addSource("EventPublisher", "AnyEvent", "model.events.allEvents")
    addSource("NotificationCenter", "Bridged", "model.center.observers(of: ThemeChanged.self)")
    addSource("NotificationCenter", "Void", "model.center.observers(named: .didReload)")
    addSource("NotificationCenter", "Value",
        "model.center.observers(named: .didReload, as: { $0.userInfo?[\"text\"] as? String })")
    addSource("LocalObserverSet", "Void", "local.cleared")
    addSource("LocalObserverSet", "Value", "local.renamed")
    addSource("LocalObserverSet", "Labelled", "local.itemAdded")
    addSource("LocalObserverSet", "Pair", "local.moved")

    for (s = 1; s <= sources; s++) {
        inPlace("View", 0)
        inPlace("Log", 1)
        inPlace("History", 2)
    }
    print closures
}

function addKind(name, method, parameter, type, text, number) {
    methodOf[name] = method
    parameterOf[name] = parameter
    typeOf[name] = type
    textOf[name] = text
    numberOf[name] = number
}

function addSource(family, kind, expression) {
    sources++
    familyOf[sources] = family
    kindOf[sources] = kind
    expressionOf[sources] = expression
}

# Replaces each capital that stands alone: `awk` has no word boundaries.
function fill(text, letter, value,   result, before, after, at) {
    result = ""
    text = " " text " "
    while (at = index(text, letter)) {
        before = substr(text, at - 1, 1)
        after = substr(text, at + 1, 1)
        result = result substr(text, 1, at - 1)
        result = result (before after ~ /[A-Za-z0-9_]/ ? letter : value)
        text = substr(text, at + 1)
    }
    text = result text
    return substr(text, 2, length(text) - 2)
}

# Whether it is this place's turn: each body has one of the three, of which the form and the source decide.
function isTurn(b) {
    return (b + s + form + place) % 3 == 0
}

# Whether it is this place's turn, and one body's of all.
function isRareTurn(b, style) {
    return (b + s + form + style) % bodies == 0 && (s + form + style + place) % 3 == 0
}

# One closure: what is called, up to the brace; what stands before the body; the body; what stands after the brace. Every other
# one that may await does.
function closure(call, head, text, tail,   lines, count, i) {
    closures++
    if (call ~ /addAsync/ && closures % 2) text = "await Task.yield();" text
    print "        " call " {" (head == "" ? "" : " " head " in") >file
    count = split(text, lines, ";")
    for (i = 1; i <= count; i++) print "            " lines[i] >file
    print "        }" tail >file
}

# A function that is an observer as it stands.
function observer(call, text) {
    closures++
    print "        " (text ~ /^method:/ ? "" : "_ = ") call "(" text ")" >file
}

# A body with its letters filled in: the receiver, and what is told, which goes by a name.
function filled(text, receiver, told, kind) {
    text = fill(text, "R", receiver)
    text = fill(text, "S", receiver)
    text = fill(text, "T", textOf[kind])
    text = fill(text, "N", numberOf[kind])
    return fill(text, "X", told)
}

# The forms without an owner, whose closure uses what is captured as `receiver`, and whose result must be used.
function withoutOwner(call, receiver,   b, told, head) {
    form++
    call = "_ = " call
    told = parameterOf[kind]
    head = kind == "Void" ? "" : told
    for (b = 1; b <= bodies; b++) {
        if (isTurn(b)) closure(call, head, filled(plain[b], receiver, told, kind))
        if (isTurn(b + 1) && (b + s) % 2 == 0 && kind != "Void")
            closure(call, "", filled(plain[b], receiver, "$0", kind))
        if (isRareTurn(b, 1)) closure(call, "_", filled(plain[b], receiver, told, "Void"))
        if (isRareTurn(b, 2)) closure(call, "(" told ": " typeOf[kind] ")", filled(plain[b], receiver, told, kind))
        if (isRareTurn(b, 3)) closure(call, captured("[" receiver "]", head), filled(plain[b], receiver, told, kind))
        if (kind == "Labelled" || kind == "Pair") {
            if (isRareTurn(b, 4)) closure(call, "first, second", namedParts(plain[b], receiver, "first", "second"))
            if (isRareTurn(b, 5)) closure(call, "(first, second)", namedParts(plain[b], receiver, "first", "second"))
            if (isRareTurn(b, 6)) closure(call, "", namedParts(plain[b] ";print($1)", receiver, "$0", "$1"))
        }
    }
    if (receiver == "self" && place == 2) {
        for (b = 1; b <= elsewheres; b++)
            closure(call, captured("[weak self]", head), filled(elsewhere[b], receiver, told, kind))
        return
    }
    for (b = 1; b <= weaks; b++) {
        if (b == 12 && receiver != "self") continue
        if (isTurn(b)) closure(call, captured("[weak " receiver "]", head), filled(weak[b], receiver, told, kind))
        if (isTurn(b + 1) && (b + s) % 3 == 0 && kind != "Void")
            closure(call, "[weak " receiver "]", filled(weak[b], receiver, "$0", kind))
    }
}

# What stands before a body: what it captures, and its parameters, if they have names.
function captured(list, head) {
    return head == "" ? list : list " " head
}

# A body that names the two elements of a tuple.
function namedParts(text, receiver, first, second) {
    return fill(fill(fill(text, "T", "\"\\(" first ")\""), "N", second), "R", receiver)
}

# The forms with an owner, whose closure is passed it.
function withOwner(call, owner, type,   b, told, name, head) {
    form++
    told = parameterOf[kind]
    name = owner == "self" ? "owner" : owner
    head = kind == "Void" ? name : name ", " told
    for (b = 1; b <= bodies; b++) {
        if (isTurn(b)) closure(call owner ")", head, filled(plain[b], name, told, kind))
        if (isTurn(b + 1) && (b + s) % 2 == 0) closure(call owner ")", "", filled(plain[b], "$0", "$1", kind))
        if (isRareTurn(b, 1)) closure(call owner ")", name ", _", filled(plain[b], name, told, "Void"))
        if (isRareTurn(b, 2))
            closure(call owner ")", "(" name ": " type (kind == "Void" ? "" : ", " told ": " typeOf[kind]) ")",
                filled(plain[b], name, told, kind))
        if (isRareTurn(b, 3)) closure(call owner ")", "(" head ") -> Void", filled(plain[b], name, told, kind))
        if (isRareTurn(b, 4)) closure(call owner ",", head, filled(plain[b], name, told, kind), ")")
    }
}

function inPlace(type, number,   call, isLocal, heard, owner) {
    place = number
    form = 0
    kind = kindOf[s]
    call = expressionOf[s]
    isLocal = familyOf[s] == "LocalObserverSet"
    file = out "/" type familyOf[s] kind ".swift"
    print "import Dispatch\nimport Foundation\nimport ObserverSet\n" >file
    print (type == "View" ? "@MainActor " : type == "Log" ? "nonisolated " : "") "extension " type " {" >file
    print "    func observe" familyOf[s] kind "(" >file
    print "        _ model: Model, _ local: LocalModel, _ queue: DispatchQueue," >file
    print "        _ view: View, _ log: Log, _ history: History" >file
    print "    ) {" >file

    withoutOwner(call ".add", "self")
    withoutOwner(call ".once.add", "self")
    observer(call ".add", methodOf[kind])
    observer(call ".once.add", methodOf[kind])
    if (type != "History") {
        withOwner(call ".add(", "self", type)
        withOwner(call ".once.add(", "self", type)
        observer(call ".add", "method: " type "." methodOf[kind] ", of: self")
        observer(call ".once.add", "method: " type "." methodOf[kind] ", of: self")
    } else if (!isLocal) {
        withOwner(call ".add(", "self", "isolated History")
        withOwner(call ".once.add(", "self", "isolated History")
    } else {
        form += 2
    }
    if (!isLocal) {
        withoutOwner(call ".addAsync", "self")
        observer(call ".addAsync", methodOf[kind])
        withOwner(call ".addAsync(", "self", type == "History" ? "isolated History" : type)
        withOwner(call ".addAsync(", "history", "isolated History")
        withoutOwner(call ".addAsync(buffering: .newest(1))", "log")
        withoutOwner(call ".once.addAsync", "self")
        withOwner(call ".once.addAsync(", "history", "isolated History")
        owner = type == "Log" ? "self" : "log"
        withoutOwner(call ".addNonisolated", owner)
        withoutOwner(call ".addNonisolated(on: queue)", owner)
        withOwner(call ".addNonisolated(", owner, "Log")
        withOwner(call ".addNonisolated(on: queue, ", owner, "Log")
        observer(call ".addNonisolated", owner "." methodOf[kind])
        # What belongs to another actor is added from here, too.
        withOwner(call ".add(", "history", "isolated History")
        withOwner(call ".once.add(", "history", "isolated History")
        observer(call ".add", "method: View." methodOf[kind] ", of: view")
        observer(call ".once.add", "method: View." methodOf[kind] ", of: view")
    }
    print "    }\n}" >file
    close(file)
}
