/// A first-in, first-out queue, in which appending an element and removing the first one take amortised O(1).
///
/// It is `package`, not internal, because layers have something to queue, too.
package struct Queue<Element> {
    // The elements are in one array, and not in a slice of it. For each type of element, the standard library's slices
    // would bring five times as much code as this type.

    /// The elements, which begin at `head`; the places before it are nil.
    private var elements: [Element?] = []
    // This is half a word, so that whatever contains the queue has room for flags.
    private var head: Int32 = 0

    /// The capacity that an empty queue keeps; what a burst needed beyond that is freed.
    private static var retainedCapacity: Int { 32 }

    package init() {}

    package var count: Int { elements.count - Int(head) }

    var first: Element? { count > 0 ? elements[Int(head)] : nil }
    var last: Element? { count > 0 ? elements[elements.count - 1] : nil }

    package mutating func append(_ element: Element) { elements.append(element) }

    mutating func replaceLast(with element: Element) { elements[elements.count - 1] = element }

    package mutating func removeFirst() -> Element {
        let element = elements[Int(head)].take()!
        head += 1
        if count == 0 {
            elements.removeAll(keepingCapacity: elements.capacity <= Self.retainedCapacity)
            head = 0
        } else if head >= Self.retainedCapacity, head >= count {
            // This moves no more elements than have been taken out since the last time.
            keep { _ in true }
        }
        return element
    }

    /// Removes and returns the elements that satisfy a condition.
    mutating func remove(where isIncluded: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        keep { element in
            guard isIncluded(element) else { return true }
            removed.append(element)
            return false
        }
        return removed
    }

    @inline(never)
    private mutating func keep(_ isKept: (Element) -> Bool) {
        var kept: [Element?] = []
        for index in Int(head)..<elements.count where isKept(elements[index]!) { kept.append(elements[index]) }
        elements = kept
        head = 0
    }
}

extension Queue: Sendable where Element: Sendable {}
