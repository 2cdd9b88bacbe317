/// The `#fileID:#line` that registered an observer, packed into the twelve bytes that a slot has room for.
///
/// `package`, not internal: the layers tell in their descriptions who registered what.
@usableFromInline
@safe package struct Site: Sendable, CustomStringConvertible {
    /// The start of a string literal in the program's constant data: never freed, and ended by a zero.
    private nonisolated(unsafe) let fileID: UnsafePointer<UInt8>?
    private let line: UInt32

    @usableFromInline
    package init(fileID: StaticString, line: UInt) {
        unsafe self.fileID = fileID.hasPointerRepresentation ? fileID.utf8Start : nil
        self.line = UInt32(clamping: line)
    }

    /// Nowhere.
    init() {
        unsafe fileID = nil
        line = 0
    }

    @usableFromInline
    package var description: String {
        let file = unsafe fileID.map { unsafe String(cString: $0) } ?? "?"
        return "\(file):\(line)"
    }
}
