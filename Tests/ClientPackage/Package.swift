// swift-tools-version: 6.0
import PackageDescription

// A program outside the package, as a user writes it: it sees only what is public, and imports only MotionKit.
// `Scripts/check-client` builds and runs it.

// From 6.1 on, members also have to come from an imported module. An older compiler does not know the feature.
#if compiler(>=6.1)
    let settings: [SwiftSetting] = [.enableUpcomingFeature("MemberImportVisibility")]
#else
    let settings: [SwiftSetting] = []
#endif

let package = Package(
    name: "client",
    dependencies: [.package(name: "jostle", path: "../..")],
    targets: [
        .executableTarget(
            name: "Client", dependencies: [.product(name: "MotionKit", package: "jostle")], swiftSettings: settings)
    ],
    swiftLanguageModes: [.v6]
)
