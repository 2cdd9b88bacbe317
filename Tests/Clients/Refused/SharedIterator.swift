// expect: data race
// An iterator has one position: two tasks need an iterator each.

import ObserverSet

func share(_ sequence: NotificationSequence<Int>) async -> Int? {
    var iterator = sequence.makeAsyncIterator()
    Task.detached { [iterator] in
        var iterator = iterator
        _ = await iterator.next()
    }
    return await iterator.next()
}
