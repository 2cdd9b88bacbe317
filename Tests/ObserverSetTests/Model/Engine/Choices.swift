/// Where a run takes its choices from: a seed, or given bytes.
class Choices {
    /// Whether no choices are left; then the run ends.
    var isExhausted: Bool { false }
    /// Whether sets are kept at a certain size; then the choice of a verb depends on what came before.
    var keepsSize: Bool { true }

    /// A number from zero up to the bound, which is at most 256.
    func below(_ bound: Int) -> Int { fatalError("abstract") }
}

/// Choices from bytes, one byte for each choice; zero when the bytes are exhausted.
///
/// A changed byte changes the choice at its place, and little else. The fuzzer depends on that.
final class ByteChoices: Choices {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    override var isExhausted: Bool { position >= bytes.count }
    override var keepsSize: Bool { false }

    override func below(_ bound: Int) -> Int {
        guard position < bytes.count else { return 0 }
        defer { position += 1 }
        return Int(bytes[position]) % bound
    }
}
