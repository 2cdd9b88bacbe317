/// A delegate as the value that it was added as, without a retain of its own.
///
/// A weak reference can refer to an object, but not to a value of a type that is only known to hold one. Casting the
/// object back to that type costs several times as much as the rest of a call. So a copy of the value's bits is stored
/// beside the weak reference, not retained. While the object is alive, the bits can be used as the value again.
///
/// Why that is sound:
///  - The value holds a class instance, as its dynamic type says. So it is one of three things: the reference itself;
///    an existential whose first word is the reference and whose other words are pointers to constant data; or a boxed
///    error, whose first word is the box. An error is recognised by comparing the first word with the object's address,
///    and is cast instead.
///  - Such a value owns nothing but one reference to the object. `lend` passes the value on as a borrowed one, while
///    its caller holds the object, and nothing destroys it. So nothing has to be retained or released for it. Code that
///    copies the borrowed value retains the object, as with any other value.
///  - The bits are written once, before the target is published, and only read after that. They refer to the same object
///    as the target's weak reference. The object's address cannot be reused as long as that reference loads.
///
/// Not copyable, and of the same layout as its only field, so that the compiler reads the value in place, without a
/// retain. No instance is ever created or destroyed: the type is only used to read the stored bits.
@usableFromInline
struct UnownedDelegate<Delegate>: ~Copyable {
    @usableFromInline let delegate: Delegate

    /// A copy of the delegate's bits; nil if their first word is not the object's reference.
    static func bits(of delegate: Delegate, _ object: AnyObject) -> UnsafeMutableRawPointer? {
        unsafe withUnsafeBytes(of: delegate) { bytes in
            let address = unsafe bytes.loadUnaligned(as: UInt.self)
            guard address == UInt(bitPattern: ObjectIdentifier(object)) else { return nil }
            let copy = UnsafeMutableRawPointer.allocate(
                byteCount: bytes.count, alignment: MemoryLayout<Delegate>.alignment)
            unsafe copy.copyMemory(from: bytes.baseAddress!, byteCount: bytes.count)
            return unsafe copy
        }
    }

    /// Runs `body` with the delegate that has these bits; the caller holds the object until this has returned.
    @inlinable @inline(__always)
    static func lend<Failure: Error>(
        _ object: AnyObject, _ bits: UnsafeMutableRawPointer?, _ body: (Delegate) throws(Failure) -> Void
    ) throws(Failure) {
        if let bits = unsafe bits {
            try unsafe bits.assumingMemoryBound(to: UnownedDelegate.self).pointee.lend(body)
        } else {
            try body(object as! Delegate)
        }
    }

    @inlinable @inline(__always)
    borrowing func lend<Failure: Error>(_ body: (Delegate) throws(Failure) -> Void) throws(Failure) {
        try body(delegate)
    }
}
