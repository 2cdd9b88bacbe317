#if os(Linux)
/// What the leak sanitizer must not take for a leak, which it asks a program for by this name.
///
/// A weak reference to an object that is never released, as the sets of `EventPublisher.default` are, makes the runtime
/// allocate a side table. The object's header has its address shifted, which the sanitizer does not read as a pointer.
@_cdecl("__lsan_default_suppressions")
public func leakSuppressions() -> UnsafePointer<CChar> {
    let text: StaticString = "leak:formWeakReference\n"
    return unsafe UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}
#endif
