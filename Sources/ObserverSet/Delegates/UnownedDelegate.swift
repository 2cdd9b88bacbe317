/// Reads a delegate back as a value of type `Delegate`, from a stored copy of the value's bits.
///
/// The multicast knows the delegate's object by a weak reference of type `AnyObject`. To call the delegate, it needs a
/// value of type `Delegate` again, which may be a protocol. A cast from `AnyObject` to that type costs several times as
/// much as the rest of a call. So when a delegate is added, the bits of the `Delegate` value are copied, without a
/// retain, and stored beside the weak reference. While the object is alive, these bits can be used as the value.
///
/// This is sound for three reasons:
///  - The value's dynamic type is a class. So the value is the reference itself, or an existential whose first word is
///    the reference and whose other words are pointers to constant data, or an error whose first word refers to a box.
///    In the first two cases the bits stay valid as long as the object lives. The third case is recognised, because the
///    first word is not the object's address. No bits are stored then, and the object is cast.
///  - Such a value owns nothing but one reference to the object. `lend` passes the value on as borrowed, while its
///    caller holds the object, and nothing destroys the value. So nothing has to be retained or released for it. Code
///    that copies the borrowed value retains the object, as for any other value.
///  - The bits are written once, before the target is published, and are only read after that. They refer to the same
///    object as the target's weak reference, and the object's address cannot be reused while that reference loads.
///
/// The type is not copyable, and has the layout of its only field, so that the compiler reads the value in place,
/// without a retain. No instance is ever created or destroyed, because the type is only used to read the stored bits.
@usableFromInline
struct UnownedDelegate<Delegate>: ~Copyable {
    @usableFromInline let delegate: Delegate

    /// Copies the delegate's bits, or returns nil if their first word is not the object's address.
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

    /// Runs `body` with the delegate that has these bits.
    ///
    /// The caller must hold the object until this function has returned.
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
