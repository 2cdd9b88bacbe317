// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "Chat",
    platforms: [.macOS(.v15)],
    dependencies: [
        // SwiftPM identifies a local package by its folder, so the checkout may have any name but that of this folder.
        .package(name: "ObserverSet", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "Chat",
            dependencies: [.product(name: "ObserverSet", package: "ObserverSet")])
    ],
    swiftLanguageModes: [.v6]
)
