import Foundation

extension ProcessInfo {
    /// Whether the long versions of tests are asked for, by setting `OBSERVERSET_LONG`.
    static var wantsLongTests: Bool { processInfo.environment["OBSERVERSET_LONG"] != nil }
}

/// So many, or a twentieth under a sanitizer, which sees as much in fewer and takes ten times as long.
func many(_ count: Int) -> Int { ResidentMemory.isSanitized ? count / 20 : count }
