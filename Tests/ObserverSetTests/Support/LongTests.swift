import Foundation

extension ProcessInfo {
    /// Whether the long versions of tests are asked for, by setting `OBSERVERSET_LONG`.
    static var wantsLongTests: Bool { processInfo.environment["OBSERVERSET_LONG"] != nil }
    /// Whether short versions are asked for, by setting `OBSERVERSET_SHORT`.
    static var wantsShortTests: Bool { processInfo.environment["OBSERVERSET_SHORT"] != nil }
}

/// So many, or a twentieth under a sanitizer, which sees as much in fewer and takes ten times as long, and where
/// `OBSERVERSET_SHORT` is set.
func many(_ count: Int) -> Int { ResidentMemory.isSanitized ? count / 20 : meetings(count) }

/// So many meetings of threads, which are what a sanitizer is to see; or a twentieth where `OBSERVERSET_SHORT` is set.
func meetings(_ count: Int) -> Int { ProcessInfo.wantsShortTests ? count / 20 : count }
