/// Removes the isolation from a function's type; no other code does.
///
/// A function of type `@isolated(any)` can be called synchronously only where the compiler sees that the caller is on
/// its actor. A registration knows that in another way: it stores the isolation beside the function, and compares it
/// with the notifier's. The standard library's `MainActor.assumeIsolated` relies on the same cast.
///
/// Why it is sound: isolation does not affect how a synchronous function is called, only who may call it. The results
/// are called in exactly two ways:
///
/// - By a notification, a catch-up that it makes, or `starting(with:)`, in place, if the function has no isolation, or the
///   notifier's own. That the notifier has an `isolated` parameter is no proof, since the compiler is wrong now and then:
///   the runtime has to confirm it (`Notifier.isOn`). If the notifier has none, and the function is the main actor's,
///   the same is asked about the main actor.
/// - By a drain, which runs on the function's actor. There are two exceptions. If the actor was the owner, it may be
///   dead, another actor may have its address by now, and the drain may run anywhere; then there is no owner, and
///   nothing is called. If the function has no isolation of its own, it runs on the actor that added it, and may be
///   called anywhere when that actor is gone.
///
/// A third way would have to be shown to be sound, too.
@usableFromInline
enum Isolation {
    /// A function of one argument, without its isolation.
    @inlinable @inline(__always)
    static func removed<A>(
        from function: @escaping @isolated(any) @Sendable (A) -> Void
    ) -> @Sendable (A) -> Void {
        unsafe unsafeBitCast(UnaryIsolated(function: function), to: UnaryNonisolated.self).function
    }

    /// A function of an owner, without its isolation.
    ///
    /// As a function of any argument, it would be wrapped in two more closures.
    @inlinable @inline(__always)
    static func removed<Owner: AnyObject>(
        from function: @escaping @isolated(any) @Sendable (Owner) -> Void
    ) -> @Sendable (Owner) -> Void {
        unsafe unsafeBitCast(IsolatedOwner(function: function), to: NonisolatedOwner.self).function
    }

    /// A function of an owner and another argument, without its isolation.
    @inlinable @inline(__always)
    static func removed<Owner: AnyObject, A>(
        from function: @escaping @isolated(any) @Sendable (Owner, A) -> Void
    ) -> @Sendable (Owner, A) -> Void {
        unsafe unsafeBitCast(OwnedIsolated(function: function), to: OwnedNonisolated.self).function
    }

    /// A function of an actor and another argument, without its isolation to that actor.
    @inlinable @inline(__always)
    static func removed<Owner: Actor, A>(
        from function: @escaping @Sendable (isolated Owner, A) -> Void
    ) -> @Sendable (Owner, A) -> Void {
        unsafe unsafeBitCast(IsolatedToOwner(function: function), to: OwnedNonisolated.self).function
    }

    /// A function of any number of arguments, without its isolation.
    @inlinable @inline(__always)
    static func removed<each A>(
        fromMethod function: @escaping @isolated(any) @Sendable (repeat each A) -> Void
    ) -> @Sendable (repeat each A) -> Void {
        unsafe unsafeBitCast(IsolatedPack(function: function), to: NonisolatedPack<repeat each A>.self).function
    }

    /// A number that identifies an actor among those that are alive; zero for none.
    @inline(__always)
    static func identity(of actor: (any Actor)?) -> UInt { actor.map { UInt(bitPattern: ObjectIdentifier($0)) } ?? 0 }

    // A function is cast as the field of a structure. A bare function would be wrapped in a closure on its way into the
    // cast, and in another on its way out, and each call would go through both. Frozen, so that the sizes are known where
    // the library is built for library evolution.

    @frozen @usableFromInline
    struct UnaryIsolated<A> {
        @usableFromInline let function: @isolated(any) @Sendable (A) -> Void
        @inlinable init(function: @escaping @isolated(any) @Sendable (A) -> Void) { self.function = function }
    }

    @frozen @usableFromInline
    struct UnaryNonisolated<A> {
        @usableFromInline let function: @Sendable (A) -> Void
    }

    @frozen @usableFromInline
    struct IsolatedPack<each A> {
        @usableFromInline let function: @isolated(any) @Sendable (repeat each A) -> Void
        @inlinable init(function: @escaping @isolated(any) @Sendable (repeat each A) -> Void) {
            self.function = function
        }
    }

    @frozen @usableFromInline
    struct NonisolatedPack<each A> {
        @usableFromInline let function: @Sendable (repeat each A) -> Void
    }

    @frozen @usableFromInline
    struct IsolatedOwner<Owner: AnyObject> {
        @usableFromInline let function: @isolated(any) @Sendable (Owner) -> Void
        @inlinable init(function: @escaping @isolated(any) @Sendable (Owner) -> Void) { self.function = function }
    }

    @frozen @usableFromInline
    struct NonisolatedOwner<Owner: AnyObject> {
        @usableFromInline let function: @Sendable (Owner) -> Void
    }

    @frozen @usableFromInline
    struct OwnedIsolated<Owner: AnyObject, A> {
        @usableFromInline let function: @isolated(any) @Sendable (Owner, A) -> Void
        @inlinable init(function: @escaping @isolated(any) @Sendable (Owner, A) -> Void) { self.function = function }
    }

    @frozen @usableFromInline
    struct IsolatedToOwner<Owner: Actor, A> {
        @usableFromInline let function: @Sendable (isolated Owner, A) -> Void
        @inlinable init(function: @escaping @Sendable (isolated Owner, A) -> Void) { self.function = function }
    }

    @frozen @usableFromInline
    struct OwnedNonisolated<Owner: AnyObject, A> {
        @usableFromInline let function: @Sendable (Owner, A) -> Void
    }
}
