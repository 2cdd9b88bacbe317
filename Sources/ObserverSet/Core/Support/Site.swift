/// The `#fileID:#line` that registered an observer, packed into twelve bytes of a slot.
///
/// It is `package`, not internal, because layers' descriptions show it, too.
@frozen @usableFromInline
@safe package struct Site: Sendable, CustomStringConvertible {
    /// The address of a string literal in constant data, which is never freed, and ends with a zero byte; zero if there
    /// is none.
    @usableFromInline let file: UInt
    @usableFromInline let line: UInt32

    @inlinable
    init(file: UInt, line: UInt32) {
        self.file = file
        self.line = line
    }

    @usableFromInline
    package var description: String {
        let file = unsafe UnsafePointer<CChar>(bitPattern: file).map { unsafe String(cString: $0) } ?? "?"
        return "\(file):\(line)"
    }
}

extension Site {
    // It is inlined, because a client passes two constants then, and not four.
    @inlinable @inline(__always)
    package init(fileID: StaticString, line: UInt) {
        let file = unsafe fileID.hasPointerRepresentation ? UInt(bitPattern: fileID.utf8Start) : 0
        self.init(file: file, line: UInt32(clamping: line))
    }
}
