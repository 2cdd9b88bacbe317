import Foundation
import Testing

@testable import ObserverSet

@Suite("A lock", .lifetimesChecked, .againstHanging)
struct LockTests {
    private let holder = Holder()
}

extension LockTests {
    /// Like the state of a registry or a mailbox: a value with references, which a critical section replaces.
    private struct State: ~Copyable, Sendable {
        var count = 0
        var numbers: [Int] = []
        var object: Tracked?
    }

    private final class Holder: Sendable {
        let lock: Lock<State>

        init(_ object: Tracked? = nil) { lock = Lock(State(object: object)) }
    }

    @Test(
        "One thread at a time is in a critical section, also of those that only try, and sees what was written before",
        arguments: [2, 8])
    func exclusion(threads: Int) async {
        let entered = Counter()

        await onThreads(threads) { thread in
            for number in 0..<many(200_000) / threads {
                let change: @Sendable (inout State) -> Int = { state in
                    state.count += 1
                    state.numbers.append(thread)
                    if number % 100 == 0 { state.numbers = [] }
                    state.object = nil
                    return state.count
                }
                // Every third thread tries.
                let count = thread % 3 == 1 ? holder.lock.withLockIfAvailable(change) : holder.lock.withLock(change)
                if count != nil { entered.increment() }
            }
        }

        #expect(entered.value >= many(200_000) / threads)
        expect(holder.lock.withLock { $0.count }, equals: entered.value)
    }

    @Test("A try fails while another thread holds the lock, and succeeds when that has let go")
    func heldElsewhere() {
        let holder = holder
        let isFree: @Sendable () -> Bool = { holder.lock.withLockIfAvailable { _ in true } ?? false }

        holder.lock.withLock { _ in join { #expect(!isFree()) } }
        join { #expect(isFree()) }
        _ = holder.lock.withLockIfAvailable { _ in join { #expect(!isFree()) } }
        join { #expect(isFree()) }
    }

    @Test("Its state is released once: what it holds in the end, not what it was made with")
    func release() {
        let lifetimes = Lifetimes.current
        do {
            let holder = Holder(Tracked())
            expect(lifetimes.count, equals: 1)
            let first = holder.lock.withLock { state in
                let first = state.object
                state.object = Tracked(2)
                return first
            }
            expect(first?.isIntact, equals: true)
            withExtendedLifetime(first) { expect(lifetimes.count, equals: 2) }
        }
        expect(lifetimes.count, equals: 0)
    }

    @Test("It guards state of any size and alignment")
    func layouts() {
        expect(Lock(()).withLock { _ in 1 }, equals: 1)
        expect(Lock(UInt8.max).withLock { $0 }, equals: .max)
        expect(Lock(SIMD8<Int64>(repeating: 7)).withLock { $0.wrappedSum() }, equals: 56)
        let isAligned = Lock(SIMD8<Int64>(repeating: 7)).withLock { state in
            unsafe withUnsafePointer(to: &state) {
                UInt(bitPattern: $0) % UInt(MemoryLayout<SIMD8<Int64>>.alignment) == 0
            }
        }
        #expect(isAligned)
    }

    #if compiler(<6.4) && canImport(Glibc)
    @Test("With Glibc it is the C library's adaptive mutex, and in debug builds the one that reports errors")
    func mutex() {
        let kind = unsafe withUnsafePointer(to: holder.lock) { lock in
            unsafe UnsafeRawPointer(lock).load(as: UnsafePointer<pthread_mutex_t>.self).pointee.__data.__kind
        }

        #if DEBUG
        expect(kind, equals: Int32(PTHREAD_MUTEX_ERRORCHECK))
        #else
        expect(kind, equals: Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
        #endif
    }

    @Test(
        "In a debug build, a thread that takes a lock that it holds is stopped, and does not hang",
        .enabled(if: LockCheck.isEnabled))
    func takenTwice() async {
        await #expect(processExitsWith: .failure) {
            let lock = Lock(1)
            lock.withLock { _ in lock.withLock { $0 = 2 } }
        }
    }
    #endif
}
