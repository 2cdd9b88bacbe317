// swift-tools-version: 6.2

import PackageDescription

let settings: [SwiftSetting] = [
    // Every use of an unsafe construct must be marked in the source, so that a reader can find and judge each one.
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0458-strict-memory-safety.md
    .strictMemorySafety(),
    // An existential type must be written with `any`.
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    .enableUpcomingFeature("ExistentialAny"),
    // An import without an access level is internal, so it isn't part of the library's interface.
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
    .enableUpcomingFeature("InternalImportsByDefault"),
    // A member is visible only in files that import the member's module.
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    .enableUpcomingFeature("MemberImportVisibility"),
    // `ActorExecutor.swift` declares a function of the Swift runtime. This feature only silences a warning that such
    // names are reserved. A compiler that doesn't know the feature ignores it.
    // https://github.com/swiftlang/swift/pull/80322
    .enableExperimentalFeature("AllowRuntimeSymbolDeclarations"),
]

let package = Package(
    name: "ObserverSet",
    // These are the oldest systems that have the module `Synchronization`, whose atomics and mutex the library uses.
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
