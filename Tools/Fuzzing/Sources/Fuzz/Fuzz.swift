/// Runs the bytes as a program of operations; stops with a report if the library does not do what the model does.
@_cdecl("LLVMFuzzerTestOneInput")
@unsafe public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    if let divergence = ModelRound.firstDivergence(choosingBy: ByteChoices(bytes), operations: 4_096) {
        fatalError("\n" + ProgramShrinker.shortest(divergence).report)
    }
    return 0
}
