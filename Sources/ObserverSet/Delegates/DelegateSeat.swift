import Synchronization

/// The place that one delegate takes: a weak reference to its object, and the bits of the value it was added as.
///
/// A weak reference can be formed to an object only, not to a value of a type that is merely known to hold one; and the
/// way back, a dynamic cast, costs several times what the rest of a call does. So the seat keeps the value's bits
/// without a retain, and gives them back as a value while the object is alive.
///
/// Why that is sound:
///  - The value holds a class instance, as its dynamic type says, and is therefore one of: the reference itself; an
///    existential whose first word is the reference and whose others are pointers to constant data; a boxed error, whose
///    first word is the box. The last is told from the others by comparing the first word with the object's address,
///    and is cast instead.
///  - Such a value owns nothing but one reference to the object. `borrow` lends the value that the bits are while its caller
///    holds the object, and nobody destroys it, so that nothing need be retained or released for it. Whoever copies what
///    is lent retains the object, as with any other value.
///  - The bits are written once, before the seat is published, and only read after that. They name the object that the
///    weak reference names, whose address cannot be used again while that loads.
///
/// On threads: the weak reference is loaded only by the multicast's own functions, hence where the delegate may be used.
/// Anybody's token may release the seat, which touches nothing of the delegate's.
@usableFromInline
@safe final class DelegateSeat: @unchecked Sendable {
    private weak let object: AnyObject?
    /// A copy of the value's bits; nil if they are not the object's reference.
    @usableFromInline let bits: UnsafeMutableRawPointer?
    let site: Site
    /// Whether it is the object's seat: several threads may have made one for it.
    private let isTaken = Atomic<Bool>(false)

    init<Delegate>(_ delegate: Delegate, object: AnyObject, site: Site) {
        self.object = object
        self.site = site
        unsafe bits = withUnsafeBytes(of: delegate) { bytes in
            let address = unsafe bytes.loadUnaligned(as: UInt.self)
            guard address == UInt(bitPattern: ObjectIdentifier(object)) else { return nil }
            let copy = UnsafeMutableRawPointer.allocate(
                byteCount: bytes.count, alignment: MemoryLayout<Delegate>.alignment)
            unsafe copy.copyMemory(from: bytes.baseAddress!, byteCount: bytes.count)
            return unsafe copy
        }
    }

    deinit {
        unsafe bits?.deallocate()
    }

    /// Makes it the object's seat.
    ///
    /// Relaxed: what a visit reads was published with the registration.
    func take() {
        isTaken.store(true, ordering: .relaxed)
    }

    /// Whether the object is alive, and this one.
    ///
    /// Never under a lock.
    func isOf(_ object: AnyObject) -> Bool {
        CallOut.assertNoLockIsHeld()
        return self.object === object
    }

    /// Whether the object is alive.
    ///
    /// Never under a lock.
    var isAlive: Bool {
        CallOut.assertNoLockIsHeld()
        return object != nil
    }

    /// Shows the seat to the visitor, if it is taken and the object is alive.
    @inline(__always)
    func receive(_ visit: DelegateVisit) {
        guard isTaken.load(ordering: .relaxed) else { return }
        guard let object else {
            unsafe visit.context.pointee.metDead = true
            return
        }
        unsafe visit.context.pointee.show(self, object)
    }

    /// Lends the delegate, as what it was added as.
    ///
    /// `object` is the seat's, held by the caller; `Delegate` is the type that the seat was made with.
    @inlinable @inline(__always)
    func borrow<Delegate, Failure: Error>(
        _ object: AnyObject, _ body: (Delegate) throws(Failure) -> Void
    ) throws(Failure) {
        if let bits = unsafe bits {
            try unsafe bits.assumingMemoryBound(to: LentDelegate<Delegate>.self).pointee.lend(body)
        } else {
            try body(object as! Delegate)
        }
    }
}

/// A delegate in memory that does not own it.
///
/// Not copyable, and of the same layout as what it has: so the compiler reads it where it is, without a retain. Nobody
/// makes one, nor destroys one.
@usableFromInline
struct LentDelegate<Delegate>: ~Copyable {
    @usableFromInline let delegate: Delegate

    @inlinable @inline(__always)
    borrowing func lend<Failure: Error>(_ body: (Delegate) throws(Failure) -> Void) throws(Failure) {
        try body(delegate)
    }
}

/// What the observers of a multicast are told: whom to show themselves to.
///
/// Why it may call itself `Sendable`: `DelegateSeats.visit` makes one, passes it to observers that belong to no actor, on
/// its own thread, and ends after the last of them. No other observer can be there: nobody else has the set.
@safe struct DelegateVisit: @unchecked Sendable {
    struct Context: ~Copyable {
        private let visitor: (DelegateSeat, AnyObject) -> Void
        /// Whether the object of a seat was found dead.
        var metDead = false

        init(visitor: @escaping (DelegateSeat, AnyObject) -> Void) {
            self.visitor = visitor
        }

        /// Borrowed, so that the visitor is not retained for each seat.
        @inline(__always)
        borrowing func show(_ seat: DelegateSeat, _ object: AnyObject) {
            visitor(seat, object)
        }
    }

    /// On the stack of `visit`.
    let context: UnsafeMutablePointer<Context>
}
