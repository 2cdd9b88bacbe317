import Foundation

extension ProcessInfo {
    /// Whether the long versions of tests are asked for, by setting `OBSERVERSET_LONG`.
    static var wantsLongTests: Bool { processInfo.environment["OBSERVERSET_LONG"] != nil }
    /// Whether short versions are asked for, by setting `OBSERVERSET_SHORT`.
    static var wantsShortTests: Bool { processInfo.environment["OBSERVERSET_SHORT"] != nil }
}

/// So many, or a twentieth under a sanitizer, which sees as much in fewer and takes ten times as long, and where
/// `OBSERVERSET_SHORT` is set.
func many(_ count: Int) -> Int { ResidentMemory.isSanitized || ProcessInfo.wantsShortTests ? count / 20 : count }
