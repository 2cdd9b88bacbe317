// swift-tools-version: 6.2

import PackageDescription

// The settings are those of the library, except for strict memory safety. The baselines are unsafe on purpose, because
// they show the limits against which safe code is measured.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

// The names that the linker gives to the functions in `Heap.swift`, so that they are called for every allocation.
let counted = ["malloc", "calloc", "realloc", "aligned_alloc", "memalign", "posix_memalign", "free"]
let naming = counted.flatMap { ["-Xlinker", "--defsym=\($0)=counted_\($0)"] }

// This is a package of its own for two reasons: users of the library don't build it, and the library is a dependency
// here, as it is for its users.
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
