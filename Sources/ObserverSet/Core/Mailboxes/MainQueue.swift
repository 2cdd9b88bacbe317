#if canImport(Dispatch)
import Dispatch

/// Whether the caller runs on the main queue, and so on the main actor, whatever the compiler knows of it.
// Not inlined: asked once for a notification, in a function that is called for each observer.
@inline(never)
func isOnMainQueue() -> Bool { DispatchQueue.getSpecific(key: mainQueueKey) != nil }

private let mainQueueKey = {
    let key = DispatchSpecificKey<Int>()
    DispatchQueue.main.setSpecific(key: key, value: 0)
    return key
}()
#else
/// Nobody can tell without Dispatch; then the main actor's observers are called later, in order.
func isOnMainQueue() -> Bool { false }
#endif
