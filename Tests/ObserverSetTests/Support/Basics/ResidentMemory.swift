import Foundation

/// The memory that this process really occupies, where that is known.
///
/// Meaningful only where nothing else runs in the process: call it in an exit test.
enum ResidentMemory {
    private static let pageSize = 4_096

    /// Whether a sanitizer is at work: it reserves terabytes of addresses, keeps released memory back, and enlarges frames.
    static var isSanitized: Bool { (fields?[0] ?? 0) * pageSize >= 1 << 40 }

    /// The occupied memory in bytes; nil where it is not known, or not the program's own.
    static var bytes: Int? {
        guard !isSanitized else { return nil }
        #if canImport(Darwin)
        var info = mach_task_basic_info()
        var count = mach_msg_type_number_t(MemoryLayout<mach_task_basic_info>.size / MemoryLayout<natural_t>.size)
        let result = unsafe withUnsafeMutablePointer(to: &info) { pointer in
            unsafe pointer.withMemoryRebound(to: integer_t.self, capacity: Int(count)) {
                unsafe task_info(mach_task_self_, task_flavor_t(MACH_TASK_BASIC_INFO), $0, &count)
            }
        }
        return result == KERN_SUCCESS ? Int(info.resident_size) : nil
        #else
        giveBack()
        return fields.map { $0[1] * pageSize }
        #endif
    }

    /// Has the allocator give back what is free: a peak that has passed is no leak.
    private static func giveBack() {
        #if os(Linux)
        // glibc's `malloc_trim`, which its module map leaves out; other C libraries do without.
        guard let symbol = unsafe dlsym(nil, "malloc_trim") else { return }
        _ = unsafe unsafeBitCast(symbol, to: (@convention(c) (Int) -> Int32).self)(0)
        #endif
    }

    /// The size of the address space, and of what is occupied of it, in pages.
    private static var fields: [Int]? {
        #if os(Linux)
        try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ").prefix(2).compactMap {
            Int($0)
        }
        #else
        nil
        #endif
    }

    /// How much memory `body` leaves occupied beyond what it had after `warmUp`, which does the same a few times.
    ///
    /// Zero where it is not known; then `body`, which would show nothing, is left out.
    static func growth(warmUp: () async -> Void, _ body: () async -> Void) async -> Int {
        await warmUp()
        guard let before = bytes else { return 0 }
        await body()
        return (bytes ?? before) - before
    }
}
