// swift-tools-version: 6.2

import PackageDescription

/// Proves that the thread sanitizer, set up as it is for the tests, reports a data race when there is one.
let package = Package(
    name: "RaceControl",
    platforms: [.macOS(.v15)],
    targets: [
        .executableTarget(name: "RaceControl", swiftSettings: [.strictMemorySafety()])
    ],
    swiftLanguageModes: [.v6]
)
