// swift-tools-version: 6.2

import PackageDescription

/// Bytes as a program of operations, on the library and on its model: for libFuzzer.
///
/// `Tools/fuzz` runs it. `Sources/Fuzz/Engine` is a link to the model's sources among the tests.
let package = Package(
    name: "Fuzzing",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "ObserverSet", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "Fuzz",
            dependencies: [.product(name: "ObserverSet", package: "ObserverSet")],
            swiftSettings: [
                .strictMemorySafety(),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .define("NotificationCenter"),
                // libFuzzer brings its own `main`.
                .unsafeFlags(["-parse-as-library"]),
            ])
    ],
    swiftLanguageModes: [.v6]
)
