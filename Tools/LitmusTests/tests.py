"""The litmus tests: the accesses in the sources that they model, what the threads do, and which outcome would be wrong.

A *step* is one access of the library to memory that threads share. Its memory order is read from the sources. A *test* has
a few threads, which are written in this notation, with one access in each line. `@` precedes the name of the step:

    count += 1 @enter       an atomic addition; `-=` is a subtraction
    h = head @head          a load of `head` into `h`
    head = 2 @unlink        a store
    o = lazy ? 0 -> 1 @make a compare-and-exchange; `o` is the old value
    fence @fence            a fence
    v = item, item = 0      without a step: a load or a store that is not atomic
    if h == 1:              a condition for the indented lines that follow; a value that was not loaded is 9

Each test names its bad outcome. In C, a data race is a bad outcome, too. A *variant* of a test gives some steps another
order, leaves one out (`without`), or changes the program. If Tools/broken-variants has the same fault, the variant's name
begins with `fault:`.
"""

RECLAMATION = "Core/Registry/Reclamation.swift"
WRITE = "Core/Registry/Registry+Write.swift"
SLOTS = "Core/Registry/Slots.swift"
SLOT = "Core/Registry/Slot.swift"
LOCK = "Core/Support/Lock.swift"
SET = "Core/ObserverSet.swift"
MAILBOX = "Core/Mailboxes/ActorMailbox.swift"
TRAVERSAL_FILE = "Core/Registry/Traversal.swift"
TABLE = "Events/EventTable.swift"

HOLDING = "Self.check(unsafe pthread_mutex_lock(mutex)) defer { unlock() } return"
REMOVE = "private func remove("

# Where each step is in the sources: the file, the beginning of the declaration, and a text that the declaration contains
# once. The step's order is the last one that the text names. If the text names none, the order is given as a fourth value.
STEPS = {
    # A traversal.
    "parity": (RECLAMATION, "func enter()", "open.load(ordering: .relaxed)"),
    "stripes": (RECLAMATION, "func enter()", "stripes.load(ordering: .sequentiallyConsistent)"),
    "enter": (RECLAMATION, "func enter()", "count[parity].wrappingAdd(1, ordering: .sequentiallyConsistent)"),
    "head": (
        TRAVERSAL_FILE, "init(_ registry: Unmanaged<Registry>", "slots.head.load(ordering: .sequentiallyConsistent)"),
    "block": (SLOTS, "var block: Block?", "head.load(ordering: .acquiring)"),
    "state": (SLOT, "var state: UInt64", "word.load(ordering: .acquiring)"),
    "leave": (RECLAMATION, "static func leave(", "count.pointee.wrappingSubtract(1, ordering: .sequentiallyConsistent)"),
    "waiting": (RECLAMATION, "func noteLeft(", "hasRetired.load(ordering: .sequentiallyConsistent)"),
    "fence-after-leaving": (
        WRITE, "func collectAfterLeaving()",
        "atomicMemoryFence(ordering: .sequentiallyConsistent) var hasMetAnother = false writeIfAvailable"),
    "last-id": (SET, "package func notify(_ parameters: Parameters,", "lastID.load(ordering: .acquiring)"),
    # A change.
    "publish": (
        SLOT, "func publish(",
        "code.store(callee.code, ordering: .relaxed) reference.store(callee.reference, ordering: .relaxed) "
        "file.store(site.file, ordering: .relaxed) line.store(site.line, ordering: .relaxed) "
        "word.store(id | (callee.isRegistration ? Self.holdsRegistration : 0), ordering: .releasing)"),
    "mark": (
        SLOT, "func markRemoved()",
        "word.store(word.load(ordering: .relaxed) | Self.removed, ordering: .relaxed)"),
    "vacate": (SLOT, "func vacate()", "word.store(0, ordering: .relaxed)"),
    "copy": (SLOTS, "func compactedBlock(", "copyMemory(from: slot", "relaxed"),
    "raise-last-id": (WRITE, "func insert(", "lastID.store(id, ordering: .releasing) unsafe slot.pointee.publish("),
    "clear-last-id": (WRITE, REMOVE, "if contents.registered == 0 { lastID.store(0, ordering: .relaxed)"),
    "unlink": (
        WRITE, "private func replaceOrDropBlock(",
        "slots.head.store(fresh?.memory, ordering: .sequentiallyConsistent) "
        "if let old = unsafe old { unsafe reclamation.retire("),
    "republish": (
        WRITE, REMOVE,
        "slots.head.store(slots.head.load(ordering: .relaxed), ordering: .sequentiallyConsistent) reclamation.retire("),
    "look": (RECLAMATION, "private static func isZero(", "count.load(ordering: .sequentiallyConsistent)"),
    "look-for-stripes": (
        RECLAMATION, "private func eachCountWasZero(_ parity",
        "stripes.load(ordering: .sequentiallyConsistent)"),
    "install": (RECLAMATION, "func addStripes()", "expected: nil, desired: fresh, ordering: .sequentiallyConsistent"),
    "flip": (
        RECLAMATION, "func collect(_ contents",
        "open.store(1 ^ open.load(ordering: .relaxed), ordering: .relaxed)"),
    "raise": (RECLAMATION, "func retire(", "hasRetired.store(true, ordering: .relaxed)"),
    "fence-after-unlocking": (
        WRITE, "private func collectAfterUnlocking(",
        "atomicMemoryFence(ordering: .sequentiallyConsistent) guard reclamation.idleCountsWereZero()"),
    # The lock: the order that a mutex guarantees. A failed attempt to take it is a load.
    "lock": (LOCK, "func withLock<Result>(", HOLDING, "acquiring"),
    "unlock": (LOCK, "func withLock<Result>(", HOLDING, "releasing"),
    "try": (LOCK, "func withLockIfAvailable<Result>(", "let result = unsafe pthread_mutex_trylock(mutex) Self.check(result, orElse: EBUSY) guard result == 0 else { return nil }", "relaxed"),
    # The registry, which is created when it is first needed.
    "registry": (SET, "private var unmanagedRegistry", "lazyRegistry.load(ordering: .acquiring)"),
    "make-registry": (
        SET, "func madeRegistry(", "expected: nil, desired: fresh, ordering: .acquiringAndReleasing"),
    # An actor's mailbox, which is busy while values are pending in it.
    "post": (MAILBOX, "override func post(", "isBusy.store(true, ordering: .relaxed)"),
    "is-idle": (MAILBOX, "override var isIdle", "isBusy.load(ordering: .acquiring)"),
    "idle": (MAILBOX, "private func noteIdleUnlessCatchingUp(", "isBusy.store(false, ordering: .releasing)"),
    # Events.
    "table": (TABLE, "func set<Observed", "current.load(ordering: .acquiring)"),
    "key": (TABLE, "func find(", "place.pointee.key.load(ordering: .acquiring)"),
    "enter-key": (
        TABLE, "func enter(_ key",
        "place.pointee.set = set unsafe place.pointee.key.store(key, ordering: .releasing)"),
    "replace-table": (
        TABLE, "func enter<Observed",
        "enter(Self.key(Observed.self), Unmanaged.passUnretained(set).toOpaque()) "
        "if isFull { unsafe current.store(places, ordering: .releasing)"),
    # Decisions, and the order of statements, that the tests take for granted.
    "enter-before-head": (
        TRAVERSAL_FILE, "init(_ registry: Unmanaged<Registry>",
        "registry.reclamation.enter() let block = unsafe registry.slots.head.load(",
        "none"),
    "flag-after-leaving": (
        RECLAMATION, "func noteLeft(", "guard count.after == 0 else { return false } return hasRetired.load", "none"),
    "mark-first": (WRITE, REMOVE, "slot.pointee.markRemoved() if contents.hasRetired", "none"),
    "last-id-first": (SET, "package func notify(_ parameters: Parameters,", "guard last != 0 else { return }", "none"),
    "quick-way": (RECLAMATION, "func retire(", "if !contents.hasRetired && eachCountWasZero()", "none"),
    "both-counts": (RECLAMATION, "func eachCountWasZero() -> Bool", "eachCountWasZero(0) && eachCountWasZero(1)", "none"),
    "older": (RECLAMATION, "func collect(_ contents", "rare.older = rare.newer", "none"),
    "trim": (WRITE, "private func collectAndTidyUp(", "if !contents.hasRetired { slots.trim(&contents) }", "none"),
    "depart": (WRITE, "private func keepMailbox(", "!mailbox.isIdle", "none"),
}


class Test:
    """A litmus test and its variants.

    `also` names steps on which the test relies, but which are in none of its threads. Each test has a variant
    `all-relaxed`, without fences. If that has the bad outcome, the outcome is one that can happen at all.
    """

    def __init__(self, name, what, start, threads, bad, variants, also=()):
        self.name, self.what, self.start, self.threads, self.bad = name, what, start, threads, bad
        self.variants = {"code": [], **variants, "all-relaxed": ["all relaxed"]}
        self.also = also


def weaker(*variants):
    """Returns variants that give steps another order, or leave one out, by their names."""
    return {variant.replace(",", "").replace(" ", "-"): [variant] for variant in variants}


def calls_of_both(last):
    """Returns a notification's accesses, if it loads `last` as the last id. It reads the removed observer and the new one."""
    return f"""
        l = last @last-id
        if l == {last}:
            count += 1 @enter
            h = head @head
            w = old @state
            n = new @state
    """


TRAVERSAL = """
    count += 1 @enter
    h = head @head
    if h == 1:
        v = item
    count -= 1 @leave
"""
CHANGE = """
    head = 2 @unlink
    z = count @look
    if z == 0:
        item = 0
"""
REMOVED_THEN_ADDED = """
    old = 2 @mark
    head = 1 @republish
    last = 2 @raise-last-id
    new = 2 @publish
"""
WEAKER_TRY = weaker(
    "fence-after-leaving acquiringAndReleasing", "without fence-after-leaving",
    "fence-after-unlocking acquiringAndReleasing", "without fence-after-unlocking", "leave acquiringAndReleasing",
    "leave relaxed", "look relaxed")
WEAKER_HAND_ON = weaker(
    "without fence-after-leaving", "without fence-after-unlocking", "leave acquiringAndReleasing", "look relaxed")
FLIPS = [
    """
        head = 2 @unlink
        z = odd @look
        if z == 0:
            mutex = 0 @unlock
    """, """
        m = mutex @lock
        if m == 0:
            y = even @look
            if y == 0:
                item = 0
    """,
]
TESTS = [
    # "Why nothing is released too early"
    Test(
        "enter-unlink",
        "A traversal counts itself in and loads the head; a change unlinks, sees the count zero, and releases. "
        "Weakened, the traversal would walk what is released.",
        "head=1 item=1", [TRAVERSAL, CHANGE], "0:v=0",
        {
            **weaker(
                "enter acquiringAndReleasing", "head acquiring", "head relaxed", "unlink releasing", "look acquiring",
                "leave releasing", "leave relaxed"),
            "acquire-and-release-alone": [
                "enter acquiringAndReleasing, head acquiring, unlink releasing, look acquiring"],
            "fault:counted-out-before-the-walk": [
                ("count -= 1 @leave", ""), ("h = head @head", "count -= 1 @leave\nh = head @head")],
        },
        also=["quick-way", "enter-before-head"]),
    Test(
        "leave-between",
        "A traversal leaves, and another one comes and goes on the same count: the change that sees it zero has seen "
        "the first one's last access.",
        "count=1 item=1",
        ["v = item\ncount -= 1 @leave", "count += 1 @enter\ncount -= 1 @leave", """
            z = count @look
            if z == 0:
                item = 0
        """],
        "0:v=0",
        weaker("leave releasing", "leave relaxed", "look acquiring", "look relaxed", "enter relaxed")),
    Test(
        "remove-marked",
        "`remove` marks the slot, relaxed, and stores the same head once more: a traversal that finds the slot registered "
        "is one that the count tells of. Weakened, it would call what is released.",
        "head=1 word=1 item=1",
        ["""
            count += 1 @enter
            h = head @head
            w = word @state
            if w == 1:
                v = item
            count -= 1 @leave
        """, """
            word = 2 @mark
            head = 1 @republish
            z = count @look
            if z == 0:
                item = 0
        """],
        "0:v=0",
        weaker(
            "enter acquiringAndReleasing", "head acquiring", "head relaxed", "republish releasing", "without republish",
            "look acquiring", "state relaxed"),
        also=["mark-first"]),
    Test(
        "quick-way",
        "`retire` looks at both counts, one after the other: a traversal may have taken either parity at any time.",
        "head=1 item=1",
        [TRAVERSAL.replace("count", "odd"), """
            head = 2 @unlink
            y = even @look
            if y == 0:
                z = odd @look
                if z == 0:
                    item = 0
        """],
        "0:v=0",
        {
            **weaker("look acquiring", "enter acquiringAndReleasing"),
            "fault:quick-way-looks-at-one-count": [("z = odd @look", ""), ("if z == 0:", "if y == 0:")],
        },
        also=["quick-way", "both-counts", "parity"]),
    Test(
        "two-flips",
        "One change unlinks, sees the idle count zero, and flips; the next one to hold the lock sees the other count "
        "zero, and releases. Here the traversal is on the side that is looked at last.",
        "head=1 item=1 mutex=1",
        [TRAVERSAL.replace("count", "even"), *FLIPS], "0:v=0",
        {
            **weaker("look acquiring", "head acquiring", "unlink releasing", "enter acquiringAndReleasing"),
            "fault:epoch-skipped": [("y = even @look", ""), ("if y == 0:", "if m == 0:")],
        },
        also=["older", "flip", "parity"]),
    Test(
        "two-flips-latecomer",
        "The same with a traversal on the side that was idle at first: the parity that it takes is a hint, however "
        "old.",
        "head=1 item=1 mutex=1",
        [TRAVERSAL.replace("count", "odd"), *FLIPS], "0:v=0",
        {
            **weaker("look acquiring", "head acquiring", "unlink releasing", "enter acquiringAndReleasing"),
            "flipped-on-an-occupied-side": [("if z == 0:", "if z != 9:")],
        }),
    Test(
        "stripes",
        "Stripes are installed without the lock; a traversal counts itself in there, and a change looks at them, or "
        "misses the installation.",
        "head=1 item=1",
        ["""
            made = 1
            i = stripes ? 0 -> 1 @install
        """, """
            s = stripes @stripes
            if s == 1:
                m = made
                stripe += 1 @enter
                h = head @head
        """, """
            head = 2 @unlink
            p = stripes @look-for-stripes
            if p == 1:
                n = made
                y = stripe @look
        """],
        "(1:h=1 and (2:p=0 or 2:y=0)) or 1:m=0 or 2:n=0",
        {
            **weaker(
                "install acquiringAndReleasing", "stripes acquiring", "stripes relaxed", "look-for-stripes acquiring",
                "enter acquiringAndReleasing", "look acquiring"),
            "fault:stripes-unseen": [("y = stripe @look", "y = other @look")],
        }),
    Test(
        "trim",
        "A removed slot becomes vacant when nothing waits any more, and the next one to hold the lock puts another "
        "observer there. Weakened, a traversal would call half of each.",
        "head=1 word=1 callee=1 mutex=1",
        ["""
            count += 1 @enter
            h = head @head
            w = word @state
            if w == 1:
                v = callee
            if w == 3:
                u = callee
            count -= 1 @leave
        """, """
            word = 2 @mark
            head = 1 @republish
            z = count @look
            if z == 0:
                word = 0 @vacate
                mutex = 0 @unlock
        """, """
            m = mutex @lock
            if m == 0:
                callee = 2
                word = 3 @publish
        """],
        "0:v=2 or 0:u=1",
        {
            **weaker(
                "head acquiring", "republish releasing", "look acquiring", "publish relaxed", "state relaxed",
                "without republish"),
            "fault:slot-vacant-too-early": [("if z == 0:", "if z != 9:")],
        },
        also=["trim"]),
    Test(
        "departure",
        "While it is counted, a traversal posts into a mailbox; the change that sees the count zero finds it busy. "
        "Weakened, `settled()` would not wait for what is enqueued.",
        "head=1",
        ["""
            count += 1 @enter
            h = head @head
            if h == 1:
                busy = 1 @post
            count -= 1 @leave
        """, """
            head = 2 @unlink
            z = count @look
            if z == 0:
                b = busy @is-idle
        """],
        "0:h=1 and 1:z=0 and 1:b=0",
        weaker("leave relaxed", "head acquiring", "look acquiring"),
        also=["depart"]),
    Test(
        "idle-mailbox",
        "A drain makes an observer's last call, and says that the mailbox is idle; who removes the observer sees that, "
        "and does not wait. Weakened, what the call has written might not be seen.",
        "busy=1",
        ["""
            written = 1
            busy = 0 @idle
        """, """
            b = busy @is-idle
            if b == 0:
                v = written
        """],
        "1:v=0",
        weaker("idle relaxed", "is-idle relaxed")),
    # "Why nothing is forgotten"
    Test(
        "leave-flag",
        "A traversal empties its count and loads `hasRetired`; a change raises it, unlocks, fences and looks at the "
        "count. Weakened, each would rely on the other, and what waits would wait for ever.",
        "count=1 mutex=1",
        ["""
            count -= 1 @leave
            f = flag @waiting
        """, """
            flag = 1 @raise
            mutex = 0 @unlock
            fence @fence-after-unlocking
            z = count @look
        """],
        "0:f=0 and 1:z=1",
        weaker(
            "leave acquiringAndReleasing", "waiting acquiring", "waiting relaxed", "without fence-after-unlocking",
            "look acquiring", "look relaxed"),
        also=["flag-after-leaving"]),
    Test(
        "leave-flag-later",
        "The same where an earlier holder of the lock has raised the flag.",
        "count=1 mutex=1",
        ["""
            count -= 1 @leave
            f = flag @waiting
        """, """
            flag = 1 @raise
            mutex = 0 @unlock
        """, """
            m = mutex @lock
            if m == 0:
                mutex = 2 @unlock
                fence @fence-after-unlocking
                z = count @look
        """],
        "0:f=0 and 2:m=0 and 2:z=1",
        weaker("leave acquiringAndReleasing", "waiting acquiring", "without fence-after-unlocking", "look relaxed")),
    Test(
        "leave-try",
        "A traversal that has left fences, and goes where it cannot take the lock; who unlocks then sees the count zero.",
        "count=1 mutex=1",
        ["""
            count -= 1 @leave
            fence @fence-after-leaving
            t = mutex @try
        """, """
            mutex = 0 @unlock
            fence @fence-after-unlocking
            z = count @look
        """],
        "0:t=1 and 1:z=1",
        WEAKER_TRY),
    Test(
        "hand-on",
        "The traversal goes, since the first or the second holds the lock; the first goes, since the second holds it: "
        "the last of them sees the count zero.",
        "count=1 mutex=1",
        ["""
            count -= 1 @leave
            fence @fence-after-leaving
            t = mutex @try
        """, """
            mutex = 0 @unlock
            fence @fence-after-unlocking
            z = count @look
            if z == 0:
                t = mutex @try
        """, """
            m = mutex @lock
            if m == 0:
                mutex = 3 @lock
                mutex = 2 @unlock
                fence @fence-after-unlocking
                y = count @look
        """],
        "(0:t=1 or 0:t=3) and (1:z=1 or 1:t=3) and (2:m=1 or 2:y=1)",
        WEAKER_HAND_ON),
    Test(
        "publish",
        "`append` writes the callee, then the id; a traversal that sees the id reads the callee.",
        "",
        ["callee = 1\nword = 1 @publish", """
            w = word @state
            if w == 1:
                v = callee
        """],
        "1:v=0",
        {"fault:slot-published-relaxed": ["publish relaxed"], "fault:slot-read-relaxed": ["state relaxed"]}),
    Test(
        "fresh-block",
        "Slots are taken over into a fresh block, then the head is stored; a traversal loads the head and walks them.",
        "head=1",
        ["""
            callee = 1
            word = 1 @copy
            head = 2 @unlink
        """, """
            h = head @head
            if h == 2:
                w = word @state
                v = callee
        """],
        "1:w=0 or 1:v=0",
        weaker("unlink relaxed", "unlink releasing", "head relaxed", "head acquiring", "state relaxed")),
    Test(
        "found-in-fresh-block",
        "The same for who looks for one observer, with a second load of the head, which may be younger than the "
        "first.",
        "head=1",
        ["""
            callee = 1
            word = 1 @copy
            head = 2 @unlink
        """, """
            h = head @head
            g = head @block
            if g == 2:
                w = word @state
                v = callee
        """],
        "1:w=0 or 1:v=0 or (1:h=2 and 1:g=1)",
        weaker("unlink relaxed", "block relaxed")),
    Test(
        "seen-then-notified",
        "`append` raises `lastID`, then publishes the slot; who sees it registered (`isEmpty`, `count`) and notifies "
        "then, loads at least its id. Weakened, the notification would be lost.",
        "",
        ["""
            last = 1 @raise-last-id
            word = 1 @publish
        """, """
            w = word @state
            if w == 1:
                l = last @last-id
        """],
        "1:l=0",
        {
            **weaker("publish relaxed", "state relaxed"),
            "raised-after-publishing": [("last = 1 @raise-last-id", ""), (
                "word = 1 @publish", "word = 1 @publish\nlast = 1 @raise-last-id")],
        },
        also=["last-id-first"]),
    Test(
        "seen-then-notified-all-gone",
        "The same where the last observer is removed before, and its removal clears `lastID`.",
        "last=7 mutex=1",
        ["""
            last = 0 @clear-last-id
            mutex = 0 @unlock
        """, """
            m = mutex @lock
            if m == 0:
                last = 9 @raise-last-id
                word = 9 @publish
        """, """
            w = word @state
            if w == 9:
                l = last @last-id
        """],
        "2:w=9 and (2:l=0 or 2:l=7)",
        weaker("publish relaxed", "state relaxed")),
    Test(
        "seen-then-notified-moved",
        "The same where another thread takes the slot over into a fresh block, and it is seen there.",
        "mutex=1 head=1",
        ["""
            last = 1 @raise-last-id
            word = 1 @publish
            mutex = 0 @unlock
        """, """
            m = mutex @lock
            if m == 0:
                moved = 1 @copy
                head = 2 @unlink
        """, """
            h = head @head
            if h == 2:
                w = moved @state
                l = last @last-id
        """],
        "2:w=0 or 2:l=0",
        weaker("unlink relaxed", "head relaxed", "state relaxed")),
    Test(
        "told-then-notified",
        "The same where one who added an observer tells another thread, which notifies: if the telling orders "
        "nothing, neither does the library.",
        "",
        ["""
            last = 1 @raise-last-id
            word = 1 @publish
            told = 1 @unlock
        """, """
            t = told @lock
            if t == 1:
                l = last @last-id
                w = word @state
        """],
        "1:l=0 or 1:w=0",
        weaker("lock relaxed, unlock relaxed")),
    Test(
        "removed-then-added",
        "An observer is removed, and then another one is added: a notification that calls the new one sees the old one "
        "marked. Weakened, it would call both.",
        "last=1 head=1 old=1",
        [REMOVED_THEN_ADDED, calls_of_both("2")],
        "1:w=1 and 1:n=2",
        weaker("last-id relaxed", "raise-last-id relaxed", "publish relaxed")),
    Test(
        "removed-then-two-added",
        "The same where another thread adds an observer next, whose id is what the notification loads.",
        "last=1 head=1 old=1 mutex=1",
        [REMOVED_THEN_ADDED + "    mutex = 0 @unlock", """
            m = mutex @lock
            if m == 0:
                last = 3 @raise-last-id
        """, calls_of_both("3")],
        "2:w=1 and 2:n=2",
        weaker("last-id relaxed", "raise-last-id relaxed")),
]


def lazily(name, what, load, make):
    """Returns a test of an object that is created when it is first needed, by two threads at once. A third one finds it."""
    loser = """
        {mine} = 1
        o = lazy ? 0 -> {number} @{make}
        if o == {other}:
            v = {theirs}
    """
    return Test(
        name, what, "",
        [
            loser.format(mine="one", number=1, other=2, theirs="two", make=make),
            loser.format(mine="two", number=2, other=1, theirs="one", make=make),
            f"""
                r = lazy @{load}
                if r == 1:
                    v = one
                if r == 2:
                    v = two
            """,
        ],
        "0:v=0 or 1:v=0 or 2:v=0",
        weaker(f"{make} acquiring", f"{make} releasing", f"{load} relaxed"))


TESTS += [
    lazily(
        "lazy-registry",
        "Two threads make the registry, one of the two is kept, and a third loads it: all see it made.",
        "registry", "make-registry"),
    Test(
        "event-table",
        "A writer stores the set, then the key; it fills a larger table, then publishes that. Readers see a set "
        "behind each key, and a filled table.",
        "",
        ["""
            set = 1
            key = 1 @enter-key
            moved = 1
            table = 1 @replace-table
        """, """
            t = table @table
            if t == 1:
                v = moved
            k = key @key
            if k == 1:
                w = set
        """],
        "1:v=0 or 1:w=0",
        weaker("enter-key relaxed", "replace-table relaxed", "table relaxed", "key relaxed")),
]
