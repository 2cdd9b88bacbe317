// swift-tools-version: 6.2

import PackageDescription

// Those of the library, but for strict memory safety: the baselines are unsafe on purpose, since they mark the limits that
// safe code is measured against.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

// The names that the linker gives to the functions in `Heap.swift`, so that they are called for every allocation.
let counted = ["malloc", "calloc", "realloc", "aligned_alloc", "memalign", "posix_memalign", "free"]
let naming = counted.flatMap { ["-Xlinker", "--defsym=\($0)=counted_\($0)"] }

// A package of its own, so that nobody who uses the library builds it, and so that the library is a separate module here
// as it is for its users.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "ObserverSetBenchmarks", targets: ["ObserverSetBenchmarks"])
    ],
    dependencies: [
        .package(name: "ObserverSet", path: "..")
    ],
    targets: [
        .executableTarget(
            name: "ObserverSetBenchmarks",
            dependencies: [.product(name: "ObserverSet", package: "ObserverSet")],
            swiftSettings: settings,
            linkerSettings: [.unsafeFlags(naming, .when(platforms: [.linux]))])
    ],
    swiftLanguageModes: [.v6]
)
