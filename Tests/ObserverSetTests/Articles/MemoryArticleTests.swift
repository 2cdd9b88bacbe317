import ObserverSet
import Synchronization
import Testing

/// The five mistakes of the article "Lifetimes and leaks", and what it lists as less common.
///
/// What the article says leaks keeps something alive until the test breaks the cycle; the other form does not.
@Suite("Lifetimes and leaks", .lifetimesChecked, .againstHanging)
struct MemoryArticleTests {
    // MARK: Models and observers

    private final class Document: Sendable {
        let titleChanged = ObserverSet<String>()
        let closed = ObserverSet<Void>()
        let life = Tracked()
        let title = "Kind of Blue"
    }

    /// Publishes a part of its notifications; its transform needs `prefix`.
    private final class Shelf: Sendable {
        let changes = ObserverSet<String>()
        private let prefix = Tracked()

        func line(_ title: String) -> String { "\(prefix.value) \(title)" }

        var changedWrong: some NotificationSource<String> { changes.map { self.line($0) } }
        var changedRight: some NotificationSource<String> { changes.map { [prefix] in "\(prefix.value) \($0)" } }
    }

    @MainActor private final class View {
        private let life = Tracked()
        let bag = ObserverBag()
        let shown = Log<String>()
        var task: Task<Void, Never>?
        var document: Document?

        func show(_ text: String) { shown.append(text) }
    }

    private actor Statistics {
        private let life = Tracked()
        private(set) var total = 0
        nonisolated let sizeRead = ObserverSet<Int>()

        func observeWrong(_ sizes: ObserverSet<Int>) -> ObserverToken { sizes.add { size in self.total += size } }

        func observeRight(_ sizes: ObserverSet<Int>) -> ObserverToken {
            sizes.add(self) { statistics, size in statistics.total += size }
        }
    }

    private struct Renamed: Event {}

    /// Whether a view is deallocated when nothing refers to it except what `observe` has set up.
    @MainActor private func isReleased(_ observe: (View) -> Void) -> Bool {
        var view: View? = View()
        weak let reference = view
        observe(view!)
        view = nil
        return reference == nil
    }

    /// The same for a document.
    @MainActor private func isReleased(_ observe: (Document) -> Void) -> Bool {
        var document: Document? = Document()
        weak let reference = document
        observe(document!)
        document = nil
        return reference == nil
    }

    // MARK: Closures

    @Test("A closure without an owner keeps what it captures, until it is removed or the set is gone")
    @MainActor func closureWithoutAnOwner() {
        let document = Document()

        #expect(!isReleased { view in _ = document.titleChanged.add { title in view.show(title) } })
        document.titleChanged.removeAll()
        #expect(isReleased { view in document.titleChanged.add(view) { view, title in view.show(title) } })

        // If the view holds the model, too, neither is released, and no code is left that could remove the observer.
        weak var kept: Document?
        let isViewReleased = isReleased { (view: View) in
            let document = Document()
            view.document = document
            kept = document
            _ = document.titleChanged.add { title in view.show(title) }
        }
        #expect(!isViewReleased)
        #expect(kept != nil)
        kept?.titleChanged.removeAll()
        #expect(kept == nil)
        let isReleasedWithItsModel = isReleased { (view: View) in
            let document = Document()
            view.document = document
            document.titleChanged.add(view) { view, title in view.show(title) }
        }
        #expect(isReleasedWithItsModel)
    }

    @Test("A closure without an owner that captures its view weakly does not keep the view, but is called without end")
    @MainActor func weakSelfWithoutAnOwner() {
        let document = Document()
        let calls = Log<Int>()

        for number in 1...3 {
            let isReleased = isReleased { (view: View) in
                _ = document.titleChanged.add { [weak view] title in
                    calls.append(number)
                    view?.show(title)
                }
            }
            #expect(isReleased)
        }
        document.titleChanged.notify("Kind of Blue")
        expect(calls.entries, equals: [1, 2, 3])
        expect(document.titleChanged.count, equals: 3)
    }

    @Test("An owner that the closure also captures is kept alive")
    @MainActor func capturedOwner() {
        let document = Document()

        #expect(!isReleased { view in document.titleChanged.add(view) { _, title in view.show(title) } })
        document.titleChanged.removeAll()
        #expect(isReleased { view in document.titleChanged.add(view) { view, title in view.show(title) } })
    }

    @Test("An owner is kept alive by an inner observer that captures it, and not by one that has an owner of its own")
    @MainActor func observerAddedInAnObserver() {
        let document = Document()
        let titles = document.titleChanged

        let isReleasedIfCaptured = isReleased { (view: View) in
            document.closed.add(view) { inner in titles.add(inner) { _, title in view.show(title) } }
            document.closed.notify()
        }
        #expect(!isReleasedIfCaptured)
        document.closed.removeAll()
        titles.removeAll()

        let isReleasedIfOwner = isReleased { (view: View) in
            document.closed.add(view) { view in titles.add(view) { view, title in view.show(title) } }
            document.closed.notify()
        }
        #expect(isReleasedIfOwner)
    }

    @Test("An observer that captures its model keeps the model alive, even when the observer's owner is gone")
    @MainActor func capturedModel() {
        var view: View? = View()
        weak let viewReference = view
        weak var reference: Document?
        var token: ObserverToken?
        do {
            let document = Document()
            reference = document
            token = document.closed.add(view!) { view in view.show(document.title) }
        }
        #expect(reference != nil)

        // The closure of a dead owner is released by the next notification, but the program has no reference left to
        // send one.
        view = nil
        #expect(viewReference == nil)
        expect(token?.isActive, equals: false)
        #expect(reference != nil)
        reference?.closed.notify()
        #expect(reference == nil)
    }

    @Test("An observer that captures its model weakly does not keep the model alive")
    @MainActor func weaklyCapturedModel() {
        let view = View()

        #expect(
            isReleased { document in
                document.closed.add(view) { [weak document] view in view.show(document?.title ?? "") }
            })
        var shown: [String] = []
        #expect(
            isReleased { (document: Document) in
                let view = View()
                view.document = document
                document.closed.add(view) { view in view.show(view.document?.title ?? "") }
                document.closed.notify()
                shown = view.shown.entries
            })
        expect(shown, equals: ["Kind of Blue"])
    }

    @Test("What a dead owner's closure captures is released by the next notification")
    @MainActor func deadOwnersCaptures() {
        let document = Document()
        var capture: Tracked? = Tracked()
        weak let reference = capture
        #expect(
            isReleased { (view: View) in
                document.titleChanged.add(view) { [capture] view, _ in view.show("\(capture?.value ?? 0)") }
            })
        capture = nil

        #expect(reference != nil)
        document.titleChanged.notify("Blue Train")
        #expect(reference == nil)
    }

    @Test(
        "A dead owner's closure that runs elsewhere is released by the second notification; a bag releases it at once")
    @MainActor func deadOwnersCapturesElsewhere() async {
        let document = Document()
        var captures: [Tracked] = [Tracked(), Tracked()]
        weak let elsewhere = captures[0]
        weak let inABag = captures[1]
        var statistics: Statistics? = Statistics()
        document.titleChanged.add(statistics!) { [capture = captures[0]] (_: isolated Statistics, _) in _ = capture }
        let isViewReleased = isReleased { (view: View) in
            document.titleChanged.add(view) { [capture = captures[1]] _, _ in _ = capture }.store(in: view.bag)
        }
        captures = []
        statistics = nil

        #expect(isViewReleased)
        #expect(inABag == nil)
        document.titleChanged.notify("one")
        await document.titleChanged.settled()
        #expect(elsewhere != nil)
        document.titleChanged.notify("two")
        #expect(elsewhere == nil)
    }

    @Test("A transform that captures the model keeps the model alive while it is observed")
    @MainActor func capturedByATransform() {
        weak var wrong: Shelf?
        weak var right: Shelf?
        do {
            let shelf = Shelf()
            wrong = shelf
            _ = shelf.changedWrong.addNonisolated { _ in }
        }
        do {
            let shelf = Shelf()
            right = shelf
            _ = shelf.changedRight.addNonisolated { _ in }
        }

        #expect(wrong != nil)
        #expect(right == nil)
        wrong?.changes.removeAll()
        #expect(wrong == nil)
    }

    // MARK: Tokens and bags

    @Test("An observer does not end when its token is released, but ends with the bag that holds the token")
    @MainActor func tokens() {
        let document = Document()
        let log = Log<String>()

        do {
            let token = document.titleChanged.add { title in log.append("token: \(title)") }
            _ = token
        }
        #expect(
            isReleased { (view: View) in
                document.titleChanged.add { title in log.append("bag: \(title)") }.store(in: view.bag)
                document.titleChanged.notify("one")
            })
        document.titleChanged.notify("two")

        expect(log.entries, equals: ["token: one", "bag: one", "token: two"])
        document.titleChanged.removeAll()
    }

    @Test("A bag that nobody keeps ends its observers at once")
    @MainActor func localBag() {
        let document = Document()
        func observe() {
            let bag = ObserverBag()
            document.titleChanged.add { _ in }.store(in: bag)
        }

        observe()
        #expect(document.titleChanged.isEmpty)
    }

    @Test("A bag does not end an observer that keeps the bag alive")
    @MainActor func bagThatIsKept() {
        let document = Document()

        #expect(
            !isReleased { (view: View) in
                document.titleChanged.add { title in view.show(title) }.store(in: view.bag)
            })
        document.titleChanged.removeAll()
        #expect(
            isReleased { (view: View) in
                document.titleChanged.add { [weak view] title in view?.show(title) }.store(in: view.bag)
            })
        #expect(
            isReleased { (view: View) in
                document.titleChanged.add(view) { view, title in view.show(title) }.store(in: view.bag)
            })
        #expect(document.titleChanged.isEmpty)
    }

    // MARK: Actors

    @Test("An actor that a closure captures is kept alive; an actor that owns its observer is not")
    func actors() async {
        let sizes = ObserverSet<Int>()
        var wrong: Statistics? = Statistics()
        var right: Statistics? = Statistics()
        weak let wrongReference = wrong
        weak let rightReference = right
        let token = await wrong!.observeWrong(sizes)
        _ = await right!.observeRight(sizes)
        wrong = nil
        right = nil
        await eventually { rightReference == nil }

        #expect(wrongReference != nil)
        #expect(rightReference == nil)
        token.remove()
        await eventually { wrongReference == nil }
        #expect(wrongReference == nil)
    }

    @Test("An actor that observes itself is kept alive by a closure that captures it")
    func actorsOwnSet() async {
        var wrong: Statistics? = Statistics()
        var right: Statistics? = Statistics()
        weak let wrongReference = wrong
        weak let rightReference = right
        _ = await wrong!.observeWrong(wrong!.sizeRead)
        _ = await right!.observeRight(right!.sizeRead)
        wrong = nil
        right = nil
        await eventually { rightReference == nil }

        #expect(wrongReference != nil)
        #expect(rightReference == nil)
        wrongReference?.sizeRead.removeAll()
        await eventually { wrongReference == nil }
        #expect(wrongReference == nil)
    }

    @Test("A set that is an actor's property does not keep the actor alive")
    func setOfAnActor() async {
        var statistics: Statistics? = Statistics()
        weak let reference = statistics
        let sizeRead = statistics!.sizeRead
        let token = sizeRead.addNonisolated { _ in }
        statistics = nil

        #expect(reference == nil)
        withExtendedLifetime(sizeRead) { #expect(token.isActive) }
    }

    // MARK: Waiting calls and loops

    @Test("A call that never returns keeps its owner alive; with a weak capture and a bag, both end")
    @MainActor func endlessCall() async {
        let document = Document()
        let opened = ObserverSet<Void>()
        let calls = Log<String>()

        var wrong: View? = View()
        weak let wrongReference = wrong
        document.titleChanged.addAsync(wrong!) { view, title in
            calls.append("begins")
            _ = await opened.first()
            view.show(title)
            calls.append("ends")
        }
        document.titleChanged.notify("one")
        await eventually { opened.count == 1 }
        wrong = nil
        #expect(wrongReference != nil)
        opened.notify()
        await eventually { wrongReference == nil }
        #expect(wrongReference == nil)
        expect(calls.entries, equals: ["begins", "ends"])

        calls.removeAll()
        var right: View? = View()
        weak let rightReference = right
        document.titleChanged.addAsync { [weak right] title in
            calls.append("begins")
            _ = await opened.first()
            right?.show(title)
            calls.append(Task.isCancelled ? "is cancelled" : "ends")
        }.store(in: right!.bag)
        document.titleChanged.notify("two")
        await eventually { opened.count == 1 }
        right = nil
        #expect(rightReference == nil)
        await eventually { calls.count == 2 }
        expect(calls.entries, equals: ["begins", "is cancelled"])
        // A set that dies does not cancel its observers' calls.
        withExtendedLifetime(document) {}
    }

    @Test("A loop in a task keeps alive what the task captures, including the model")
    @MainActor func loop() async {
        var document: Document? = Document()
        weak let documentReference = document
        var wrong: View? = View()
        weak let wrongReference = wrong
        // As a view would write it for itself.
        wrong!.task = Task { [view = wrong!, document = document!] in
            for await title in document.titleChanged.values() { view.show(title) }
        }
        let task = wrong!.task!
        await eventually { documentReference?.titleChanged.count == 1 }
        wrong = nil
        document = nil

        #expect(wrongReference != nil)
        #expect(documentReference != nil)
        task.cancel()
        await task.value
        await eventually { wrongReference == nil && documentReference == nil }
        #expect(wrongReference == nil)
        #expect(documentReference == nil)
    }

    @Test("A loop over a stream made beforehand keeps alive neither the model nor a weakly captured view")
    @MainActor func weakLoop() async {
        var document: Document? = Document()
        weak let documentReference = document
        var view: View? = View()
        weak let viewReference = view
        let task = Task { [weak view, titles = document!.titleChanged.values()] in
            for await title in titles { view?.show(title) }
        }
        document!.titleChanged.notify("Kind of Blue")
        await eventually { view?.shown.count == 1 }
        expect(view?.shown.entries, equals: ["Kind of Blue"])

        view = nil
        #expect(viewReference == nil)
        document = nil
        #expect(documentReference == nil)
        // The set is gone, and so the loop ends.
        await task.value
    }

    @Test("A stream keeps no set alive: neither one of a set, nor one of a mapped source, a merged source or a group")
    @MainActor func streams() async {
        var sets: [ObserverSet<String>] = [ObserverSet(), ObserverSet(), ObserverSet(), ObserverSet()]
        weak let mapped = sets[0]
        weak let grouped = sets[1]
        weak let plain = sets[2]
        weak let merged = sets[3]
        let lengths = sets[0].map(\.count).values()
        let changes = ObserverGroup(sets[1], sets[1].filter { $0.isEmpty }).values()
        let titles = sets[2].values()
        let all = sets[3].merge(with: ObserverSet<String>(), sets[3].map { $0 }).values()
        sets = []

        #expect(mapped == nil)
        #expect(grouped == nil)
        #expect(merged == nil)
        #expect(plain == nil)
        // They end, and stay ended.
        for _ in 0..<2 {
            for await _ in lengths { Issue.record("the set is gone") }
            for await _ in changes { Issue.record("the set is gone") }
            for await _ in titles { Issue.record("the set is gone") }
            for await _ in all { Issue.record("the sets are gone") }
        }
    }

    @Test("A stream of a merged source or a group goes on with the members that are left, and ends with the last")
    func membersLeft() async {
        var gone: ObserverSet<Int>? = ObserverSet()
        let left = ObserverSet<Int>()
        let values = gone!.merge(with: left).values()
        let changes = ObserverGroup(gone!, left).values()
        gone?.notify(1)
        gone = nil
        left.notify(2)
        left.removeAll()

        var received: [Int] = []
        for await value in values { received.append(value) }
        var calls = 0
        for await _ in changes { calls += 1 }
        expect(received, equals: [1, 2])
        expect(calls, equals: 2)
    }

    // MARK: Groups and publishers

    @Test("A group keeps its sets alive, but not the model that owns them")
    @MainActor func group() {
        let view = View()
        var group: ObserverGroup?
        weak var set: ObserverSet<Void>?
        #expect(
            isReleased { (document: Document) in
                group = ObserverGroup(document.titleChanged, document.closed)
                set = document.closed
                group?.add(view) { view in view.show("changed") }
            })

        expect(set?.count, equals: 1)
        set?.notify()
        expect(view.shown.count, equals: 1)
        group = nil
        #expect(set == nil)
    }

    @Test("A source of events does not keep its publisher alive")
    func publisher() {
        let wrong = EventPublisher().observers(of: Renamed.self)
        #expect(!wrong.addNonisolated { _ in }.isActive)

        let events = EventPublisher()
        let right = events.observers(of: Renamed.self)
        #expect(right.addNonisolated { _ in }.isActive)
        withExtendedLifetime(events) {}
    }

    // MARK: Producers

    /// Calls its closure with each measurement.
    private final class Sensor: Sendable {
        private let life = Tracked()
        private let callback = Mutex<(@Sendable (Double) -> Void)?>(nil)

        func onMeasure(_ newCallback: (@Sendable (Double) -> Void)?) { callback.withLock { $0 = newCallback } }
        func start() {}
        func stop() {}
    }

    @Test("A producer and its set keep each other alive if the producer holds the set strongly")
    func producer() {
        weak var wrong: Sensor?
        weak var right: Sensor?
        do {
            let sensor = Sensor()
            wrong = sensor
            let measured = ObserverSet<Double> { isObserved in isObserved ? sensor.start() : sensor.stop() }
            sensor.onMeasure { celsius in measured.notify(celsius) }
        }
        do {
            let sensor = Sensor()
            right = sensor
            let measured = ObserverSet<Double> { isObserved in isObserved ? sensor.start() : sensor.stop() }
            sensor.onMeasure { [weak measured] celsius in measured?.notify(celsius) }
        }

        #expect(wrong != nil)
        #expect(right == nil)
        wrong?.onMeasure(nil)
        #expect(wrong == nil)
    }

    // MARK: Sets that stay

    private static let renamedAnywhere = ObserverSet<String>()

    @Test("A set that is never released releases no closure")
    @MainActor func staticSet() {
        let set = Self.renamedAnywhere

        #expect(!isReleased { view in _ = set.add { title in view.show(title) } })
        #expect(!isReleased { view in _ = set.add { title in view.show(title) } })
        expect(set.count, equals: 2)
        set.removeAll()
        #expect(isReleased { view in set.add(view) { view, title in view.show(title) } })
        #expect(set.isEmpty)
        set.removeAll()

        let events = EventPublisher.default.observers(of: Renamed.self)
        var token: ObserverToken?
        #expect(!isReleased { view in token = events.add { _ in view.show("renamed") } })
        token?.remove()
        #expect(isReleased { view in token = events.add(view) { view, _ in view.show("renamed") } })
        token?.remove()
    }
}
