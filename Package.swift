// swift-tools-version: 6.2

import PackageDescription

let settings: [SwiftSetting] = [
    // Every use of an unsafe construct is marked where it stands, so that a reader can find and judge each one.
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0458-strict-memory-safety.md
    .strictMemorySafety(),
    // An existential is written as what it is.
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    .enableUpcomingFeature("ExistentialAny"),
    // What a file imports is its own business unless it says otherwise.
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
    .enableUpcomingFeature("InternalImportsByDefault"),
    // A member is visible only where its module is imported.
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    .enableUpcomingFeature("MemberImportVisibility"),
    // `ActorExecutor.swift` declares a function of the runtime. This only silences a warning that such names are reserved;
    // a compiler that does not know the feature, or no longer knows it, ignores it.
    // https://github.com/swiftlang/swift/pull/80322
    .enableExperimentalFeature("AllowRuntimeSymbolDeclarations"),
]

let package = Package(
    name: "ObserverSet",
    // `Synchronization` (Mutex, Atomic) sets the oldest systems.
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "ObserverSet", targets: ["ObserverSet"])
    ],
    traits: [
        .default(enabledTraits: ["NotificationCenter"]),
        .trait(
            name: "NotificationCenter",
            description:
                "Typed notifications through Foundation's NotificationCenter; without it nothing imports Foundation."
        ),
    ],
    targets: [
        .target(name: "ObserverSet", swiftSettings: settings),
        .testTarget(name: "ObserverSetTests", dependencies: ["ObserverSet"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
