// Asynchronous sequences, used on the main actor, on another one and on none.

import ObserverSet

/// A custom source that is a value.
struct Doubled: NotificationSource {
    let numbers: any NotificationSource<Int>

    func register(_ observer: Observer<Int>) -> ObserverToken {
        numbers.register(observer.adapted { number in 2 * number })
    }

    func settled() async { await numbers.settled() }
}

actor Collector {
    private(set) var numbers: [Int] = []

    func collect(_ sequence: AsyncStream<Int>) async {
        for await number in sequence { numbers.append(number) }
    }
}

@MainActor final class Title {
    private(set) var texts: [String] = []

    func follow(_ renamed: AsyncStream<String>) async {
        for await text in renamed { texts.append(text) }
    }

    /// A task that does not keep the source alive.
    func begin(_ renamed: some NotificationSource<String>) -> Task<Void, Never> {
        Task { [weak self, values = renamed.values(buffering: .newest(1))] in
            for await text in values { self?.texts.append(text) }
        }
    }
}

func sum(_ sequence: AsyncStream<Int>) async -> Int {
    var sum = 0
    var iterator = sequence.makeAsyncIterator()
    while let number = await iterator.next() { sum += number }
    return sum
}

/// Generic over any sequence that does not throw.
func count<Sequence: AsyncSequence>(_ sequence: Sequence) async -> Int where Sequence.Failure == Never {
    var count = 0
    for await _ in sequence { count += 1 }
    return count
}

@MainActor func useSequences() async {
    let title = Title()
    let collector = Collector()
    var renamed: ObserverSet<String>? = ObserverSet()
    var counted: ObserverSet<Int>? = ObserverSet()
    let texts = renamed!.values()
    let following = title.begin(renamed!)
    let numbers = counted!.values()
    let latest = counted!.values(buffering: .newest(2))
    let earliest = counted!.values(buffering: .oldest(1))
    var iterator = Doubled(numbers: counted!).values().makeAsyncIterator()

    renamed?.notify("Kind of Blue")
    for number in 1...4 { counted?.notify(number) }
    let first = await iterator.next()
    let second = await iterator.next()
    precondition(first == 2 && second == 4)
    let waiting = Task { [counted] in await counted?.first() }
    while counted?.count == 4 { await Task.yield() }
    counted?.notify(5)
    let next = await waiting.value
    precondition(next == 5)
    renamed = nil
    counted = nil

    await title.follow(texts)
    await following.value
    precondition(title.texts == ["Kind of Blue", "Kind of Blue"], "\(title.texts)")
    await collector.collect(numbers)
    let collected = await collector.numbers
    precondition(collected == [1, 2, 3, 4, 5], "\(collected)")
    let sumOfLatest = await sum(latest)
    let countOfEarliest = await count(earliest)
    precondition(sumOfLatest == 9 && countOfEarliest == 1)
}
