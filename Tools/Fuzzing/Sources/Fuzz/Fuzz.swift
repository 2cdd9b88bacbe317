import Foundation

/// Runs the bytes as a program of operations; stops with a report if the library does not do what the model does.
@_cdecl("LLVMFuzzerTestOneInput")
@unsafe public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    if let divergence = ModelRound.firstDivergence(choosingBy: ByteChoices(bytes), operations: 4_096) {
        // At once: what is broken may not live to be made shorter.
        say("as found: \(divergence.report)")
        fatalError("in short: \(ProgramShrinker.shortest(divergence).report)")
    }
    return 0
}

private func say(_ text: String) {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
}
