#if canImport(Dispatch)
import Dispatch
import Synchronization
#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Whether the caller runs on the main queue, and therefore on the main actor, whatever the compiler knows of it.
// Not inlined, because it is seldom called, and would make a function larger that is called for each observer.
@inline(never)
func isOnMainQueue() -> Bool { DispatchQueue.getSpecific(key: mainQueueKey) != nil }

private let mainQueueKey = {
    let key = DispatchSpecificKey<Int>()
    DispatchQueue.main.setSpecific(key: key, value: 0)
    return key
}()

// The main thread runs the main queue's work, and so the main actor's, unless it is parked in `dispatchMain()`. On
// Linux an async `main` parks it there, too. Then other threads run the main queue's work, and only `isOnMainQueue()`
// knows it.
#if canImport(Darwin)
func isOnMainThread() -> Bool { pthread_main_np() != 0 }
#elseif canImport(Glibc) || canImport(Musl)
/// Whether the caller is the main thread.
///
/// The usual way to find this out compares the thread's id with the process's. It needs a system call (`gettid`), which
/// takes forty times as long as this function. The question is asked in each notification that is sent from outside
/// tasks to an observer on the main actor.
///
/// So this function remembers the main thread's handle, and compares the caller's handle with it. As long as the main
/// thread hasn't asked, its handle isn't known. Then the caller's id is read from the number of its processor clock,
/// which the C library computes from that id. (Linux defines that number as the complement of the id, shifted by three
/// bits, which say what kind of clock it is.) The C libraries on Linux keep the id beside the handle, so this needs no
/// system call, either.
func isOnMainThread() -> Bool {
    #if canImport(Glibc)
    let thread = pthread_self()
    #else
    let thread = unsafe UInt(bitPattern: pthread_self())
    #endif
    // This load and the store below are relaxed, because the handle is only compared, and no other memory is read
    // because of it.
    let known = mainThread.load(ordering: .relaxed)
    if known != 0 { return thread == known }
    var clock = clockid_t()
    guard unsafe pthread_getcpuclockid(pthread_self(), &clock) == 0, clock >> 3 == ~process else { return false }
    mainThread.store(thread, ordering: .relaxed)
    return true
}

/// The main thread's handle; zero until the main thread has asked.
private let mainThread = Atomic<UInt>(0)
/// The id of the process, which is the main thread's, too; kept, because asking for it is a system call.
private let process = getpid()
#else
func isOnMainThread() -> Bool { false }
#endif
#else
// Without Dispatch nobody can tell, so the main actor's observers are called later, in order.
func isOnMainQueue() -> Bool { false }
func isOnMainThread() -> Bool { false }
#endif
