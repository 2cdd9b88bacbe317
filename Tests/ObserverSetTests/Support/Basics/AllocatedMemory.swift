import Foundation

/// Measures how many bytes this process has allocated and not freed, on systems that can tell.
///
/// That is less than the memory that the process has from the system, because an allocator keeps a varying part of what
/// is freed. The number is meaningful only if nothing else runs in the process, so use it in an exit test.
enum AllocatedMemory {
    /// Whether a sanitizer is active.
    ///
    /// A sanitizer keeps freed memory back and enlarges stack frames, so measurements mean nothing. It is recognised by
    /// the terabytes of addresses that it reserves.
    static let isSanitized: Bool = {
        #if os(Linux)
        let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return (text?.split(separator: " ").first.flatMap { Int($0) } ?? 0) * 4_096 >= 1 << 40
        #else
        return false
        #endif
    }()

    /// The number of bytes, or nil if it is not known or a sanitizer distorts it.
    static var bytes: Int? {
        guard !isSanitized else { return nil }
        #if canImport(Darwin)
        var statistics = malloc_statistics_t()
        unsafe malloc_zone_statistics(nil, &statistics)
        return Int(statistics.size_in_use)
        #else
        guard let report, let end = report.range(of: "</heap>", options: .backwards)?.upperBound else { return nil }
        // The elements name the size of all heaps, the free parts of the heaps, and the blocks that are too large for a
        // heap.
        let totals = report[end...]
        func size(_ name: String) -> Int {
            totals.firstRange(of: "type=\"\(name)\"")
                .flatMap { totals[$0.upperBound...].firstRange(of: "size=\"") }
                .flatMap { Int(totals[$0.upperBound...].prefix { $0.isNumber }) } ?? 0
        }
        return size("current") - size("fast") - size("rest") + size("mmap")
        #endif
    }

    /// The report that the C library's `malloc_info` prints, or nil if there is no such function.
    private static var report: String? {
        #if os(Linux)
        // The function is looked up by name, because the C library's module map doesn't contain it.
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

    /// Returns how many more bytes are allocated after `body` than before.
    ///
    /// `warmUp` runs first, and should do the same work a few times. If the number of bytes is not known, `body` isn't
    /// run, and the result is zero.
    static func growth(warmUp: () async -> Void, _ body: () async -> Void) async -> Int {
        await warmUp()
        guard let before = bytes else { return 0 }
        await body()
        return (bytes ?? before) - before
    }
}
