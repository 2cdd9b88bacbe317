#if canImport(Dispatch)
import Dispatch
import Synchronization
#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

/// Whether the caller runs on the main queue, and so on the main actor, whatever the compiler knows of it.
// Not inlined: asked once for a notification, in a function that is called for each observer.
@inline(never)
func isOnMainQueue() -> Bool { DispatchQueue.getSpecific(key: mainQueueKey) != nil }

private let mainQueueKey = {
    let key = DispatchSpecificKey<Int>()
    DispatchQueue.main.setSpecific(key: key, value: 0)
    return key
}()

// The main thread works for the main queue, until it waits for ever in `dispatchMain()`, as where `main` is async on Linux;
// then other threads do.
#if canImport(Darwin)
func isOnMainThread() -> Bool { pthread_main_np() != 0 }
#elseif canImport(Glibc)
func isOnMainThread() -> Bool {
    let (thread, known) = (pthread_self(), mainThread.load(ordering: .relaxed))
    if known != 0 { return thread == known }
    // Linux makes the number of a thread's clock from that of the thread; the main thread has the number of the process.
    var clock = clockid_t()
    guard unsafe pthread_getcpuclockid(thread, &clock) == 0, clock >> 3 == ~process else { return false }
    mainThread.store(thread, ordering: .relaxed)
    return true
}

/// The main thread; zero until it has asked.
private let mainThread = Atomic<pthread_t>(0)
/// Kept, since to ask the system for it takes as long as a notification of several observers.
private let process = getpid()
#else
func isOnMainThread() -> Bool { false }
#endif
#else
// Nobody can tell without Dispatch; then the main actor's observers are called later, in order.
func isOnMainQueue() -> Bool { false }
func isOnMainThread() -> Bool { false }
#endif
