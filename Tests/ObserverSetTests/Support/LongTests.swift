import Foundation

extension ProcessInfo {
    /// Whether the long versions of tests are asked for, by setting `OBSERVERSET_LONG`.
    static var wantsLongTests: Bool { processInfo.environment["OBSERVERSET_LONG"] != nil }
}
