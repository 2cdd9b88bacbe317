#if os(Linux)
/// Tells the leak sanitizer, which calls a function of this name, what it must not report as a leak.
///
/// The sets of `EventPublisher.default` are never released, but that is no leak. A weak reference to such an object
/// makes the runtime allocate a side table. The object's header stores the table's address in a shifted form, which the
/// sanitizer doesn't recognise as a pointer, so it would report the table.
@_cdecl("__lsan_default_suppressions")
public func leakSuppressions() -> UnsafePointer<CChar> {
    let text: StaticString = "leak:formWeakReference\n"
    return unsafe UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}
#endif
