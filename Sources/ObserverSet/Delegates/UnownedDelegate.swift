/// A delegate as the value that it was added as, without a reference of its own.
///
/// A weak reference can be formed to an object only, not to a value of a type that is merely known to hold one; and the
/// way back, a dynamic cast, costs several times what the rest of a call does. So the value's bits are kept beside the
/// weak reference, without a retain, and are a value again while the object is alive.
///
/// Why that is sound:
///  - The value holds a class instance, as its dynamic type says, and is therefore one of: the reference itself; an
///    existential whose first word is the reference and whose others are pointers to constant data; a boxed error, whose
///    first word is the box. The last is told from the others by comparing the first word with the object's address,
///    and is cast instead.
///  - Such a value owns nothing but one reference to the object. `lend` lends the value that the bits are while its caller
///    holds the object, and nobody destroys it, so that nothing need be retained or released for it. Whoever copies what
///    is lent retains the object, as with any other value.
///  - The bits are written once, before the entry is published, and only read after that. They name the object that the
///    entry's weak reference names, whose address cannot be used again while that loads.
///
/// Not copyable, and of the same layout as what it has: so the compiler reads it where it is, without a retain. Nobody
/// makes one, nor destroys one.
@usableFromInline
struct UnownedDelegate<Delegate>: ~Copyable {
    @usableFromInline let delegate: Delegate

    /// A copy of the delegate's bits; nil if they are not the object's reference.
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

    /// Runs `body` with the delegate that has these bits, whose object the caller holds until this has returned.
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
