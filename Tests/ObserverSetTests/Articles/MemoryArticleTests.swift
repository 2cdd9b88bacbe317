import ObserverSet
import Synchronization
import Testing

/// The five mistakes of the page "Lifetimes and leaks", and what it lists as less common.
///
/// What the page says leaks keeps something alive until the test breaks the cycle; the other form does not.
@Suite("Lifetimes and leaks", .lifetimesChecked, .againstHanging)
struct MemoryArticleTests {}

extension MemoryArticleTests {
    // MARK: Models and observers

    private final class Document: Sendable {
        let titleChanged = ObserverSet<String>()
        let closed = ObserverSet<Void>()
        let life = Tracked()
        let title = "Kind of Blue"

        /// Publishes a part of its notifications; the transform needs a property.
        var lengthsWrong: some NotificationSource<Int> { titleChanged.map { self.life.value + $0.count } }
        var lengthsRight: some NotificationSource<Int> { titleChanged.map { [life] in life.value + $0.count } }

        func removeAll() {
            titleChanged.removeAll()
            closed.removeAll()
        }
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

        func observeWrong() { _ = sizeRead.add { size in self.total += size } }
        func observeRight() { sizeRead.add(self) { statistics, size in statistics.total += size } }
    }

    /// Whether `observe` makes the document's sets keep a view that nothing else refers to; then ends its observers.
    @MainActor private func keepsView(_ observe: (View, Document) -> Void) -> Bool {
        let document = Document()
        var view: View? = View()
        weak let reference = view
        observe(view!, document)
        view = nil
        let isKept = reference != nil
        document.removeAll()
        expect(reference == nil)
        return isKept
    }

    /// Whether `observe` makes something keep a document to which a view alone may refer; then ends its observers.
    @MainActor private func keepsModel(_ observe: (View, Document) -> Void) -> Bool {
        let view = View()
        var document: Document? = Document()
        weak let reference = document
        observe(view, document!)
        document = nil
        let isKept = reference != nil
        reference?.removeAll()
        expect(reference == nil)
        return isKept
    }

    // MARK: The five mistakes

    @Test("1. A closure without an owner keeps what it captures, and one that captures it weakly is called without end")
    @MainActor func closureWithoutAnOwner() {
        expect(keepsView { view, document in _ = document.titleChanged.add { view.show($0) } }, equals: true)
        expect(
            keepsView { view, document in
                document.titleChanged.add(view) { view, title in view.show(title) }
                expect(document.titleChanged.count, equals: 1)
            }, equals: false)

        let document = Document()
        let calls = Log<Int>()
        for number in 1...3 {
            expect(
                keepsView { view, _ in
                    _ = document.titleChanged.add { [weak view] title in
                        calls.append(number)
                        view?.show(title)
                    }
                }, equals: false)
        }
        document.titleChanged.notify("Kind of Blue")
        expect(calls.entries, equals: [1, 2, 3])
    }

    @Test("2. An owner that the closure also captures is kept, also by an observer that is added in an observer")
    @MainActor func capturedOwner() {
        expect(
            keepsView { view, document in document.titleChanged.add(view) { _, title in view.show(title) } },
            equals: true)
        expect(
            keepsView { view, document in
                let titles = document.titleChanged
                document.closed.add(view) { inner in titles.add(inner) { _, title in view.show(title) } }
            }, equals: true)
        expect(
            keepsView { view, document in
                let titles = document.titleChanged
                document.closed.add(view) { view in titles.add(view) { view, title in view.show(title) } }
                document.closed.notify()
            }, equals: false)
    }

    @Test("3. An observer, or a transform, that captures the model keeps it")
    @MainActor func capturedModel() {
        expect(
            keepsModel { view, document in document.closed.add(view) { view in view.show(document.title) } },
            equals: true)
        expect(
            keepsModel { view, document in
                document.closed.add(view) { [weak document] view in view.show(document?.title ?? "") }
            }, equals: false)
        expect(keepsModel { _, document in _ = document.lengthsWrong.addNonisolated { _ in } }, equals: true)
        expect(keepsModel { _, document in _ = document.lengthsRight.addNonisolated { _ in } }, equals: false)
    }

    @Test("4. A bag in a local variable ends its observers at once, and a bag that its observer keeps never does")
    @MainActor func bags() {
        let document = Document()
        do {
            let bag = ObserverBag()
            document.titleChanged.add { _ in }.store(in: bag)
        }
        #expect(document.titleChanged.isEmpty)

        expect(
            keepsView { view, document in document.titleChanged.add { view.show($0) }.store(in: view.bag) },
            equals: true)
        expect(
            keepsView { view, _ in
                document.titleChanged.add { [weak view] title in view?.show(title) }.store(in: view.bag)
                document.titleChanged.add(view) { view, title in view.show(title) }.store(in: view.bag)
                expect(document.titleChanged.count, equals: 2)
            }, equals: false)
        #expect(document.titleChanged.isEmpty)
    }

    @Test("5. A loop in a task keeps alive what the task captures, including the model")
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

        expect(wrongReference != nil && documentReference != nil)
        task.cancel()
        await task.value
        await eventually { wrongReference == nil && documentReference == nil }
        expect(wrongReference == nil && documentReference == nil)
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
        expect(viewReference == nil)
        document = nil
        expect(documentReference == nil)
        // The set is gone, and so the loop ends.
        await task.value
    }

    // MARK: Less common

    @Test("An actor that observes itself is kept alive by a closure that captures it, and not as an owner")
    func actorsOwnSet() async {
        var wrong: Statistics? = Statistics()
        var right: Statistics? = Statistics()
        weak let wrongReference = wrong
        weak let rightReference = right
        await wrong!.observeWrong()
        await right!.observeRight()
        wrong = nil
        right = nil
        await eventually { rightReference == nil }

        expect(wrongReference != nil && rightReference == nil)
        wrongReference?.sizeRead.removeAll()
        await eventually { wrongReference == nil }
        expect(wrongReference == nil)
    }

    @Test("A call that never returns keeps its owner alive; with a weak capture and a bag, both end")
    @MainActor func endlessCall() async {
        let document = Document()
        let opened = ObserverSet<Void>()
        let calls = Log<String>()

        var wrong: View? = View()
        weak let wrongReference = wrong
        document.titleChanged.addAsync(wrong!) { view, title in
            _ = await opened.first()
            view.show(title)
            calls.append("ends")
        }
        document.titleChanged.notify("one")
        await eventually { opened.count == 1 }
        wrong = nil
        expect(wrongReference != nil)
        opened.notify()
        await eventually { wrongReference == nil }
        expect(wrongReference == nil)

        var right: View? = View()
        weak let rightReference = right
        document.titleChanged.addAsync { [weak right] title in
            _ = await opened.first()
            right?.show(title)
            calls.append(Task.isCancelled ? "is cancelled" : "ends")
        }.store(in: right!.bag)
        document.titleChanged.notify("two")
        await eventually { opened.count == 1 }
        right = nil
        expect(rightReference == nil)
        await eventually { calls.count == 2 }
        expect(calls.entries, equals: ["ends", "is cancelled"])
        // A set that dies does not cancel its observers' calls.
        withExtendedLifetime(document) {}
    }

    /// Calls its closure with each measurement.
    private final class Sensor: Sendable {
        private let life = Tracked()
        private let callback = Mutex<(@Sendable (Double) -> Void)?>(nil)

        func onMeasure(_ newCallback: (@Sendable (Double) -> Void)?) { callback.withLock { $0 = newCallback } }
        func start() {}
        func stop() {}
    }

    @Test("A producer and its set keep each other alive, unless it holds the set weakly", arguments: [false, true])
    func producer(isWeak: Bool) {
        weak var reference: Sensor?
        do {
            let sensor = Sensor()
            reference = sensor
            let measured = ObserverSet<Double> { isObserved in isObserved ? sensor.start() : sensor.stop() }
            if isWeak {
                sensor.onMeasure { [weak measured] celsius in measured?.notify(celsius) }
            } else {
                sensor.onMeasure { celsius in measured.notify(celsius) }
            }
        }

        expect(reference == nil, equals: isWeak)
        reference?.onMeasure(nil)
        expect(reference == nil)
    }
}
