/// Takes the isolation off a function.
///
/// The one place that does.
///
/// A function of type `@isolated(any)` can be called synchronously only where the compiler sees that the caller is on
/// its actor. A registration knows that in another way: it keeps the isolation beside the function, and compares. The
/// standard library's `MainActor.assumeIsolated` rests on the same cast.
///
/// Why it is sound: isolation is no part of how a synchronous function is called, only of who may call it. The results
/// are called in two ways: at once, if the function has no isolation, or if it is the notifier's own, which the notifier
/// proves by an `isolated` parameter (`Place.mayCall`); and from a drain, which runs on the function's actor. Where the
/// actor is the owner it may have died, its address may even have been used again, and the drain run anywhere; then there
/// is no owner, and nothing is called. Where a function says nothing of an isolation, it runs on the actor that added it,
/// and may be called anywhere when that is gone. A third way would have to show the same.
@usableFromInline
enum Isolation {
    /// A function of one argument, without the actor that it is isolated to.
    @inlinable @inline(__always)
    static func removed<A>(
        from function: @escaping @isolated(any) @Sendable (A) -> Void
    ) -> @Sendable (A) -> Void {
        unsafe unsafeBitCast(Isolated1(function: function), to: Nonisolated1.self).function
    }

    /// A function of an owner and another argument, without the actor that it is isolated to.
    @inlinable @inline(__always)
    static func removed<Owner: AnyObject, A>(
        from function: @escaping @isolated(any) @Sendable (Owner, A) -> Void
    ) -> @Sendable (Owner, A) -> Void {
        unsafe unsafeBitCast(Isolated2(function: function), to: Nonisolated2.self).function
    }

    /// A function of an actor and another argument, without its isolation to that actor.
    @inlinable @inline(__always)
    static func removed<Owner: Actor, A>(
        from function: @escaping @Sendable (isolated Owner, A) -> Void
    ) -> @Sendable (Owner, A) -> Void {
        unsafe unsafeBitCast(IsolatedToOwner(function: function), to: Nonisolated2.self).function
    }

    /// A function of any number of arguments, without the actor that it is isolated to.
    @inlinable @inline(__always)
    static func removed<each A>(
        fromMethod function: @escaping @isolated(any) @Sendable (repeat each A) -> Void
    ) -> @Sendable (repeat each A) -> Void {
        unsafe unsafeBitCast(IsolatedN(function: function), to: NonisolatedN.self).function
    }

    /// An owner's method, without the actor that it is isolated to, which must be the one with which it was added.
    ///
    /// Most are, since a method's isolation is part of its declaration; a function that returns one may return another.
    @inlinable @inline(__always)
    static func removed<A>(
        from method: @escaping @isolated(any) @Sendable (A) -> Void, on actor: UInt
    ) -> @Sendable (A) -> Void {
        check(method.isolation, is: actor)
        return removed(from: method)
    }

    /// The same of a method of any number of arguments.
    @inlinable @inline(__always)
    static func removed<each A>(
        fromMethod method: @escaping @isolated(any) @Sendable (repeat each A) -> Void, on actor: UInt
    ) -> @Sendable (repeat each A) -> Void {
        check(method.isolation, is: actor)
        return removed(fromMethod: method)
    }

    @inlinable @inline(__always)
    static func check(_ isolation: (any Actor)?, is actor: UInt) {
        precondition(
            identity(of: isolation) == actor,
            "A method's isolation has changed since it was added; `method` must return the owner's own method, as Owner.method does"
        )
    }

    /// What identifies an actor among those that live; zero for none.
    @inlinable @inline(__always)
    static func identity(of actor: (any Actor)?) -> UInt {
        guard let actor else { return 0 }
        return UInt(bitPattern: ObjectIdentifier(actor))
    }

    // A function is cast as part of a structure: by itself it would be wrapped in a closure on its way into the cast, and in
    // another on its way out, to be called through both each time (and one of a parameter pack is not cast at all). Frozen,
    // so that the sizes are known where the library is built for evolution.

    @frozen @usableFromInline
    struct Isolated1<A> {
        @usableFromInline let function: @isolated(any) @Sendable (A) -> Void
        @inlinable init(function: @escaping @isolated(any) @Sendable (A) -> Void) { self.function = function }
    }

    @frozen @usableFromInline
    struct Nonisolated1<A> {
        @usableFromInline let function: @Sendable (A) -> Void
    }

    @frozen @usableFromInline
    struct Isolated2<Owner: AnyObject, A> {
        @usableFromInline let function: @isolated(any) @Sendable (Owner, A) -> Void
        @inlinable init(function: @escaping @isolated(any) @Sendable (Owner, A) -> Void) { self.function = function }
    }

    @frozen @usableFromInline
    struct IsolatedToOwner<Owner: Actor, A> {
        @usableFromInline let function: @Sendable (isolated Owner, A) -> Void
        @inlinable init(function: @escaping @Sendable (isolated Owner, A) -> Void) { self.function = function }
    }

    @frozen @usableFromInline
    struct Nonisolated2<Owner: AnyObject, A> {
        @usableFromInline let function: @Sendable (Owner, A) -> Void
    }

    @frozen @usableFromInline
    struct IsolatedN<each A> {
        @usableFromInline let function: @isolated(any) @Sendable (repeat each A) -> Void
        @inlinable init(function: @escaping @isolated(any) @Sendable (repeat each A) -> Void) {
            self.function = function
        }
    }

    @frozen @usableFromInline
    struct NonisolatedN<each A> {
        @usableFromInline let function: @Sendable (repeat each A) -> Void
    }
}
