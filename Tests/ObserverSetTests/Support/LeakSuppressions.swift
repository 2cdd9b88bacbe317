#if os(Linux)
/// What the leak sanitizer must not report as a leak; the sanitizer calls a function of this name.
///
/// The sets of `EventPublisher.default` are never released. A weak reference to such an object makes the runtime
/// allocate a side table. The object's header stores that table's address shifted, and the sanitizer does not recognise
/// it as a pointer.
@_cdecl("__lsan_default_suppressions")
public func leakSuppressions() -> UnsafePointer<CChar> {
    let text: StaticString = "leak:formWeakReference\n"
    return unsafe UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}
#endif
