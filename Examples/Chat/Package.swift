// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "Chat",
    platforms: [.macOS(.v15)],
    dependencies: [
        // Without the default trait, the library and so the server don't link Foundation.
        .package(name: "ObserverSet", path: "../..", traits: [])
    ],
    targets: [
        .executableTarget(
            name: "Chat",
            dependencies: [.product(name: "ObserverSet", package: "ObserverSet")])
    ],
    swiftLanguageModes: [.v6]
)
