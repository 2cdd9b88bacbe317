import Foundation

/// The memory that this process really occupies, on systems that tell it in a file.
///
/// Meaningful only where nothing else runs in the process: call it in an exit test.
enum ResidentMemory {
    private static let pageSize = 4_096

    /// The occupied memory in bytes; nil where it is not known, or not the program's own.
    static var bytes: Int? {
        #if os(Linux)
            let fields = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
            guard let fields, let size = Int(fields[0]), let resident = Int(fields[1]) else { return nil }
            // A sanitizer reserves terabytes of addresses, and keeps released memory back: nothing to be learned there.
            guard size * pageSize < 1 << 40 else { return nil }
            return resident * pageSize
        #else
            return nil
        #endif
    }

    /// How much memory `body` leaves occupied beyond what it had after `warmUp`; zero where it is not known.
    static func growth(warmUp: () async -> Void, _ body: () async -> Void) async -> Int {
        await warmUp()
        guard let before = bytes else {
            await body()
            return 0
        }
        await body()
        return (bytes ?? before) - before
    }
}
