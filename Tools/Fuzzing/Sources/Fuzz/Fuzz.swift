import Foundation

/// Runs the bytes as a program of operations, and stops with a report if the library behaves differently from the
/// model.
@_cdecl("LLVMFuzzerTestOneInput")
@unsafe public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    if let divergence = ModelRound.firstDivergence(choosingBy: ByteChoices(bytes), operations: 4_096) {
        // Reported at once, since a broken library may crash while the program is being shortened.
        say("as found: \(divergence.report)")
        fatalError("in short: \(ProgramShrinker.shortest(divergence).report)")
    }
    return 0
}

private func say(_ text: String) {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
}
