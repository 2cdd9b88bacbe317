/// The `#fileID:#line` that registered an observer, packed into twelve bytes of a slot.
///
/// `package`, not internal: the layers' descriptions show it, too.
@usableFromInline
@safe package struct Site: Sendable, CustomStringConvertible {
    /// The start of a string literal in constant data: never freed, and terminated by a zero byte.
    private nonisolated(unsafe) let fileID: UnsafePointer<UInt8>?
    private let line: UInt32

    @usableFromInline
    package init(fileID: StaticString, line: UInt) {
        unsafe self.fileID = fileID.hasPointerRepresentation ? fileID.utf8Start : nil
        self.line = UInt32(clamping: line)
    }

    init(_ words: (file: UInt, line: UInt32)) {
        unsafe fileID = unsafe UnsafePointer(bitPattern: words.file)
        line = words.line
    }

    var words: (file: UInt, line: UInt32) { unsafe (UInt(bitPattern: fileID), line) }

    @usableFromInline
    package var description: String {
        let file = unsafe fileID.map { unsafe String(cString: $0) } ?? "?"
        return "\(file):\(line)"
    }
}
