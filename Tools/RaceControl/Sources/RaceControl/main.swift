// A program with one data race, for the thread sanitizer to find.
//
// A sanitizer that reports nothing proves something only if it would have reported. From the root of the repository:
//
//     swift run --sanitize=thread --package-path Tools/RaceControl --scratch-path .build-race RaceControl
//
// must fail (with the sanitizer's own exit code, 66) and print "WARNING: ThreadSanitizer: data race"; with `-c release`
// too. Without the sanitizer the program ends with 0.
//
// The race is one that a mistake in the core would make: a value is published with a relaxed store, so that nothing
// orders it before the reader's look. It does not depend on luck: the reader always waits for that store.

import Foundation
import Synchronization

final class Box: @unchecked Sendable {
    private var value = 0
    private let isPublished = Atomic<Bool>(false)

    func publish() {
        value = 42
        // Right would be: releasing.
        isPublished.store(true, ordering: .relaxed)
    }

    func wait() -> Int {
        // Right would be: acquiring.
        while !isPublished.load(ordering: .relaxed) { sched_yield() }
        return value
    }
}

let box = Box()
let writer = Thread { box.publish() }
writer.start()
print("read \(box.wait())")
