#if OBSERVERSET_TSAN
import Foundation
import Synchronization
import Testing

/// A sanitizer that reports nothing proves something only if it would have reported.
@Suite("The thread sanitizer", .againstHanging)
struct SanitizerTests {}

extension SanitizerTests {
    /// A mistake in the core would make such a race: a value is published by a relaxed store, so that nothing orders it
    /// before the reader's look.
    private final class Box: @unchecked Sendable {
        private var value = 0
        private let isPublished = Atomic<Bool>(false)

        func publish() {
            value = 42
            // Right would be: releasing.
            isPublished.store(true, ordering: .relaxed)
        }

        /// Does not depend on luck: it always waits for that store.
        func wait() -> Int {
            // Right would be: acquiring.
            while !isPublished.load(ordering: .relaxed) { sched_yield() }
            return value
        }
    }

    @Test("A race is reported")
    func race() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let box = Box()
            let writer = Thread { box.publish() }
            writer.start()
            print("read \(box.wait())")
        }

        let report = try String(decoding: #require(result).standardErrorContent, as: UTF8.self)
        #expect(report.contains("ThreadSanitizer: data race"))
    }
}
#endif
