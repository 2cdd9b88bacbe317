// swift-tools-version: 6.2

import PackageDescription

/// Threads that do everything to one set at once, for as long as wanted: most telling under a sanitizer.
let package = Package(
    name: "Stress",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "ObserverSet", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "Stress",
            dependencies: [.product(name: "ObserverSet", package: "ObserverSet")],
            swiftSettings: [.strictMemorySafety(), .enableUpcomingFeature("ExistentialAny")])
    ],
    swiftLanguageModes: [.v6]
)
