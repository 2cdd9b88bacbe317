/// A queue: first in, first out, in amortised O(1).
///
/// `package`, not internal: the layers have something to queue, too.
package struct Queue<Element> {
    /// The first elements begin at `head`; the places before it are nil.
    private var front: [Element?] = []
    private var head = 0
    /// The elements behind them.
    private var back: [Element?] = []

    /// The capacity that an empty queue keeps; what a burst needed beyond that is freed.
    private static var retainedCapacity: Int { 32 }

    package init() {}

    package var count: Int { front.count - head + back.count }

    var first: Element? { head < front.count ? front[head] : back.first ?? nil }

    package mutating func append(_ element: Element) { back.append(element) }

    package mutating func removeFirst() -> Element {
        if head == front.count {
            front.removeAll(keepingCapacity: front.capacity <= Self.retainedCapacity)
            head = 0
            swap(&front, &back)
        }
        let element = front[head].take()!
        head += 1
        if count == 0 {
            front.removeAll(keepingCapacity: front.capacity <= Self.retainedCapacity)
            head = 0
        }
        return element
    }

    /// Removes and returns the elements that satisfy a condition.
    mutating func remove(where isIncluded: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        front = (front[head...] + back).filter { element in
            guard isIncluded(element!) else { return true }
            removed.append(element!)
            return false
        }
        head = 0
        back = []
        return removed
    }
}

extension Queue: Sendable where Element: Sendable {}
