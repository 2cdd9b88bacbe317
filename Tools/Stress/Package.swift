// swift-tools-version: 6.2

import PackageDescription

/// A program whose threads use one set in every way at once, for as long as you want.
///
/// It finds most under a sanitizer.
let package = Package(
    name: "Stress",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "ObserverSet", path: "../..")],
    targets: [
        .executableTarget(
            name: "Stress",
            dependencies: [.product(name: "ObserverSet", package: "ObserverSet")],
            swiftSettings: [.strictMemorySafety(), .enableUpcomingFeature("ExistentialAny")])
    ],
    swiftLanguageModes: [.v6]
)
