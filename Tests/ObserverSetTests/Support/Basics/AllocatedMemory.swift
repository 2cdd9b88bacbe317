import Foundation

/// The memory that this process has allocated and not freed, where that is known.
///
/// Not what the system has given it: an allocator keeps some of what is freed, now more and now less. Meaningful only where
/// nothing else runs in the process: call it in an exit test.
enum AllocatedMemory {
    /// Whether a sanitizer is at work: it reserves terabytes of addresses, keeps freed memory back, and enlarges frames.
    static let isSanitized: Bool = {
        #if os(Linux)
        let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return (text?.split(separator: " ").first.flatMap { Int($0) } ?? 0) * 4_096 >= 1 << 40
        #else
        return false
        #endif
    }()

    /// In bytes; nil where it is not known, or not the program's own.
    static var bytes: Int? {
        guard !isSanitized else { return nil }
        #if canImport(Darwin)
        var statistics = malloc_statistics_t()
        unsafe malloc_zone_statistics(nil, &statistics)
        return Int(statistics.size_in_use)
        #else
        guard let report, let end = report.range(of: "</heap>", options: .backwards)?.upperBound else { return nil }
        // What all heaps have, what of it is free, and blocks so large that they are not in a heap.
        let totals = report[end...]
        func size(_ name: String) -> Int {
            totals.firstRange(of: "type=\"\(name)\"")
                .flatMap { totals[$0.upperBound...].firstRange(of: "size=\"") }
                .flatMap { Int(totals[$0.upperBound...].prefix { $0.isNumber }) } ?? 0
        }
        return size("current") - size("fast") - size("rest") + size("mmap")
        #endif
    }

    /// What `malloc_info` of the C library prints; nil if it has none.
    private static var report: String? {
        #if os(Linux)
        // Its module map leaves it out.
        guard let symbol = unsafe dlsym(nil, "malloc_info"), let file = unsafe tmpfile() else { return nil }
        typealias MallocInfo = @convention(c) (CInt, UnsafeMutableRawPointer) -> CInt
        let status = unsafe unsafeBitCast(symbol, to: MallocInfo.self)(0, UnsafeMutableRawPointer(file))
        defer { unsafe fclose(file) }
        guard status == 0 else { return nil }
        unsafe rewind(file)
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
        #else
        nil
        #endif
    }

    /// How much memory `body` leaves allocated beyond what it had after `warmUp`, which does the same a few times.
    ///
    /// Zero where it is not known; then `body`, which would show nothing, is left out.
    static func growth(warmUp: () async -> Void, _ body: () async -> Void) async -> Int {
        await warmUp()
        guard let before = bytes else { return 0 }
        await body()
        return (bytes ?? before) - before
    }
}
