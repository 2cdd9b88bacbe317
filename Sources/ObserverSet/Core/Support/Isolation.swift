/// Functions that remove the isolation from a function's type; no other code does that.
///
/// This is needed because a function of type `@isolated(any)` can be called synchronously only where the compiler sees
/// that the caller is on the function's actor. A registration knows that in another way: it stores the isolation beside
/// the function, and compares it with the notifier's. The standard library's `MainActor.assumeIsolated` relies on the
/// same cast.
///
/// The cast is sound, because isolation affects only who may call a synchronous function, not how it is called. The
/// functions that they return are called in exactly two ways:
///
/// - In place, by a notification, by a catch-up that a notification makes, or by `starting(with:)`, if the function has
///   no isolation, or has the notifier's. The notifier's `isolated` parameter is no proof, because the compiler is
///   sometimes wrong, so the runtime has to confirm it (`Notifier.isOn`). If the notifier has no isolation, and the
///   function is the main actor's, the runtime is asked about the main actor.
/// - By a drain, which runs on the function's actor. There are two exceptions. If the actor was the owner, it may be
///   dead, and another actor may have its address by now, so that the drain may run anywhere. But then there is no
///   owner any longer, and nothing is called. If the function has no isolation of its own, it runs on the actor that
///   added it. When that actor is gone, it may be called anywhere.
///
/// If you add a third way, show that it is sound, too.
@usableFromInline
enum Isolation {
    /// Removes the isolation of a function of one argument.
    @inlinable @inline(__always)
    static func removed<A>(
        from function: @escaping @isolated(any) @Sendable (A) -> Void
    ) -> @Sendable (A) -> Void {
        unsafe unsafeBitCast(UnaryIsolated.function(function), to: UnaryNonisolated.self).function
    }

    /// Removes the isolation of a function of an owner.
    ///
    /// This is a separate function, because one for any argument would wrap it in two more closures.
    @inlinable @inline(__always)
    static func removed<Owner: AnyObject>(
        from function: @escaping @isolated(any) @Sendable (Owner) -> Void
    ) -> @Sendable (Owner) -> Void {
        unsafe unsafeBitCast(IsolatedOwnerOnly.function(function), to: NonisolatedOwnerOnly.self).function
    }

    /// Removes the isolation of a function of an owner and another argument.
    @inlinable @inline(__always)
    static func removed<Owner: AnyObject, A>(
        from function: @escaping @isolated(any) @Sendable (Owner, A) -> Void
    ) -> @Sendable (AnyObject, A) -> Void {
        unsafe unsafeBitCast(IsolatedOwnerAndValue.function(function), to: NonisolatedOwnerAndValue.self).function
    }

    /// Removes the main actor's isolation from a function of an owner and another argument.
    ///
    /// It is separate, because in the context of an `@isolated(any)` function the optimizer no longer sees which method
    /// is called, and each call would allocate.
    @inlinable @inline(__always)
    static func removed<Owner: AnyObject, A>(
        fromMain function: @escaping @MainActor @Sendable (Owner, A) -> Void
    ) -> @Sendable (AnyObject, A) -> Void {
        unsafe unsafeBitCast(IsolatedToMain.function(function), to: NonisolatedOwnerAndValue.self).function
    }

    /// Removes the isolation to its first argument, an actor, from a function of that actor and another argument.
    @inlinable @inline(__always)
    static func removed<Owner: Actor, A>(
        from function: @escaping @Sendable (isolated Owner, A) -> Void
    ) -> @Sendable (AnyObject, A) -> Void {
        unsafe unsafeBitCast(IsolatedToOwner.function(function), to: NonisolatedOwnerAndValue.self).function
    }

    /// Forgets the class of the owner of a function that keeps its isolation.
    @inlinable @inline(__always)
    static func ownerErased<Owner: AnyObject, A>(
        _ function: @escaping @isolated(any) @Sendable (Owner, A) -> Void
    ) -> @isolated(any) @Sendable (AnyObject, A) -> Void {
        let erased = unsafe unsafeBitCast(
            IsolatedOwnerAndValue.function(function), to: IsolatedAnyOwnerAndValue<A>.self)
        return erased.function
    }

    /// Forgets the class of a function's owner, and declares the function `Sendable`.
    @inlinable @inline(__always)
    static func ownerErased<Owner: AnyObject, A>(
        _ function: @escaping (Owner, A) -> Void
    ) -> @Sendable (AnyObject, A) -> Void {
        unsafe unsafeBitCast(OwnerAndValue.function(function), to: NonisolatedOwnerAndValue.self).function
    }

    /// Removes the isolation of a function of any number of arguments.
    @inlinable @inline(__always)
    static func removed<each A>(
        fromMethod function: @escaping @isolated(any) @Sendable (repeat each A) -> Void
    ) -> @Sendable (repeat each A) -> Void {
        unsafe unsafeBitCast(IsolatedPack(function: function), to: NonisolatedPack<repeat each A>.self).function
    }

    /// A number that identifies an actor among those that are alive; zero for no actor.
    @inline(__always)
    static func address(of actor: (any Actor)?) -> UInt { actor.map { UInt(bitPattern: ObjectIdentifier($0)) } ?? 0 }

    // A function is cast as the field of a structure, or as the payload of an enumeration that has no other case,
    // because a bare function would be wrapped in one closure on its way into the cast, and in another on its way out,
    // and each call would go through both. These types are frozen, so that their sizes are known even where the library
    // is built for library evolution. (An enumeration can't have a parameter pack yet.)

    @frozen @usableFromInline
    enum UnaryIsolated<A> { case function(@isolated(any) @Sendable (A) -> Void) }

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
    enum IsolatedOwnerOnly<Owner: AnyObject> { case function(@isolated(any) @Sendable (Owner) -> Void) }

    @frozen @usableFromInline
    struct NonisolatedOwnerOnly<Owner: AnyObject> {
        @usableFromInline let function: @Sendable (Owner) -> Void
    }

    @frozen @usableFromInline
    enum IsolatedOwnerAndValue<Owner: AnyObject, A> { case function(@isolated(any) @Sendable (Owner, A) -> Void) }

    @frozen @usableFromInline
    struct IsolatedAnyOwnerAndValue<A> {
        @usableFromInline let function: @isolated(any) @Sendable (AnyObject, A) -> Void
    }

    @frozen @usableFromInline
    enum OwnerAndValue<Owner: AnyObject, A> { case function((Owner, A) -> Void) }

    @frozen @usableFromInline
    enum IsolatedToMain<Owner: AnyObject, A> { case function(@MainActor @Sendable (Owner, A) -> Void) }

    @frozen @usableFromInline
    enum IsolatedToOwner<Owner: Actor, A> { case function(@Sendable (isolated Owner, A) -> Void) }

    @frozen @usableFromInline
    struct NonisolatedOwnerAndValue<A> {
        @usableFromInline let function: @Sendable (AnyObject, A) -> Void
    }
}
