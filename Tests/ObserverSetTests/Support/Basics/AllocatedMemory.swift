import Foundation

/// The number of bytes that this process has allocated and not freed, where that is known.
///
/// This is not the memory that the process has from the system, since an allocator keeps a varying part of what is
/// freed. It is meaningful only if nothing else runs in the process, so use it in an exit test.
enum AllocatedMemory {
    /// Whether a sanitizer is active: it reserves terabytes of addresses, holds freed memory back, and enlarges stack
    /// frames.
    static let isSanitized: Bool = {
        #if os(Linux)
        let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return (text?.split(separator: " ").first.flatMap { Int($0) } ?? 0) * 4_096 >= 1 << 40
        #else
        return false
        #endif
    }()

    /// In bytes; nil if it is not known, or if a sanitizer distorts it.
    static var bytes: Int? {
        guard !isSanitized else { return nil }
        #if canImport(Darwin)
        var statistics = malloc_statistics_t()
        unsafe malloc_zone_statistics(nil, &statistics)
        return Int(statistics.size_in_use)
        #else
        guard let report, let end = report.range(of: "</heap>", options: .backwards)?.upperBound else { return nil }
        // The size of all heaps, the free parts of these, and blocks so large that they are in no heap.
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
        // The C library's module map does not contain it.
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

    /// How many more bytes are allocated after `body` than before; `warmUp` does the same work a few times beforehand.
    ///
    /// Zero if that is not known. In that case `body` is not run, since it would show nothing.
    static func growth(warmUp: () async -> Void, _ body: () async -> Void) async -> Int {
        await warmUp()
        guard let before = bytes else { return 0 }
        await body()
        return (bytes ?? before) - before
    }
}
