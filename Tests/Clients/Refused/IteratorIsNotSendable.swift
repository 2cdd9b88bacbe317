// expect: conformance of 'NotificationSequence<Parameters>.Iterator' to 'Sendable' is unavailable
// An iterator belongs to the task that uses it; the sequence may be shared.

import ObserverSet

func keep(_ value: some Sendable) {}

func keepBoth(_ sequence: NotificationSequence<Int>) {
    keep(sequence)
    keep(sequence.makeAsyncIterator())
}
