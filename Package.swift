// swift-tools-version: 6.0
import PackageDescription

// The Makefile sets the commit. Context.gitInformation would do so without it, but Swift 6.0.3 keeps it in its cache of
// manifests, and gives the commit of an earlier build.
let commit = Context.environment["JOSTLE_COMMIT"] ?? ""

// `Scripts/swift-build tests` sets the variable: to the test targets to build, or to nothing for all of them. Then what
// computes is optimised, because tests compute for minutes otherwise, and assertions stay; no function is inlined in another
// module, which would have to be compiled again after each change. Without the variable there are no unsafe flags, which
// would bar other packages from using MotionKit.
let testTargets = Context.environment["JOSTLE_TESTS"]
let optimised = ["-O", "-whole-module-optimization", "-num-threads", "2", "-assert-config", "Debug", "-disable-cmo"]
let computing: [SwiftSetting] = testTargets == nil ? [] : [.unsafeFlags(optimised)]

// Dependencies point one way: see "Targets" in docs/architecture.md. `make build` checks them.
let package = Package(
    name: "jostle",
    products: [
        .executable(name: "jostle", targets: ["jostle"]),
        .executable(name: "jostle-page", targets: ["jostle-page"]),
        .executable(name: "jostle-swarm", targets: ["jostle-swarm"]),
        .library(name: "MotionKit", targets: ["MotionKit"]),
        .executable(name: "jostle-bench", targets: ["JostleBench"]),
        // For tests: loaded into a program with LD_PRELOAD, it is a bus with a chip.
        .library(name: "FakeI2CAdapter", type: .dynamic, targets: ["FakeI2CAdapter"]),
        // The same for a disk that does not answer.
        .library(name: "StallingDisk", type: .dynamic, targets: ["StallingDisk"]),
        // The same for a clock that is synchronised or not.
        .library(name: "ClockState", type: .dynamic, targets: ["ClockState"]),
    ],
    targets: [
        .systemLibrary(name: "CMotionMath"),
        .systemLibrary(name: "CLinuxI2C", providers: [.apt(["libi2c-dev"])]),
        .systemLibrary(name: "CLinuxGPIO"),
        .systemLibrary(name: "CLinuxSystem"),
        .systemLibrary(name: "CMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),

        .target(name: "LinuxSystem", dependencies: ["CLinuxSystem"]),
        .target(name: "StateStorage", dependencies: ["LinuxSystem"]),
        .target(name: "MotionCore", dependencies: ["CMotionMath"], swiftSettings: computing),
        .target(name: "IMUDrivers", dependencies: ["MotionCore"], swiftSettings: computing),
        .target(
            name: "LinuxSensors",
            dependencies: ["CLinuxGPIO", "CLinuxI2C", "IMUDrivers", "LinuxSystem", "MotionCore"]),
        .target(name: "VirtualIMU", dependencies: ["IMUDrivers", "MotionCore"], swiftSettings: computing),
        .target(
            name: "MotionKit",
            dependencies: [
                "CLinuxSystem", "IMUDrivers", "LinuxSensors", "LinuxSystem", "MotionCore", "StateStorage", "VirtualIMU",
            ],
            swiftSettings: computing),
        // Defines __assert_fail, read and SSL_read: for programs, of which each has one.
        .target(
            name: "CMosquittoGuard", dependencies: ["CMosquitto"], linkerSettings: [.linkedLibrary("ssl")]),
        .target(name: "MosquittoClient", dependencies: ["CMosquitto", "CMosquittoGuard", "LinuxSystem"]),
        .target(name: "SQLiteDatabase", dependencies: ["CSQLite", "LinuxSystem"]),
        .target(name: "Cryptography", dependencies: ["CCrypto"]),
        .target(name: "JostleRuntime", dependencies: ["CLinuxSystem", "CSystemd", "LinuxSystem", "MotionCore"]),
        .target(name: "Documents", dependencies: ["CYAML", "LinuxSystem"], swiftSettings: computing),
        .target(
            name: "JostleConfiguration",
            dependencies: ["Documents", "IMUDrivers", "JostleRuntime", "LinuxSystem", "MotionCore"]),
        .target(
            name: "JostleMessages",
            dependencies: [
                "Cryptography", "Documents", "JostleConfiguration", "LinuxSystem", "MosquittoClient", "MotionCore",
            ]),
        .target(
            name: "JostleAgent",
            dependencies: [
                "CLinuxSystem", "CSystemd", "Documents", "IMUDrivers", "JostleConfiguration", "JostleMessages",
                "JostleRuntime", "LinuxSensors", "LinuxSystem", "MosquittoClient", "MotionCore", "MotionKit",
                "SQLiteDatabase", "StateStorage",
            ]),
        .target(
            name: "JostleOperator",
            dependencies: [
                "CLinuxSystem", "Cryptography", "Documents", "JostleConfiguration", "JostleMessages", "JostleRuntime",
                "LinuxSystem", "MosquittoClient", "MotionCore",
            ]),
        .target(
            name: "JostleCommandLine",
            dependencies: ["Documents", "JostleConfiguration", "JostleRuntime", "LinuxSystem"]),
        // The web page: a program of its own, so that neither an HTTP server nor its TLS is in the one that reads the sensor.
        .target(name: "HTTPServer", dependencies: ["CMicrohttpd", "LinuxSystem"]),
        .target(name: "CPageAssets", exclude: ["Assets"], cSettings: [.headerSearchPath("Assets")]),
        .target(name: "PageAssets", dependencies: ["CPageAssets"]),
        .target(
            name: "JostlePage",
            dependencies: [
                "CZlib", "Cryptography", "Documents", "HTTPServer", "JostleCommandLine", "JostleConfiguration",
                "JostleMessages", "JostleOperator", "JostleRuntime", "LinuxSystem", "MosquittoClient", "MotionCore",
                "PageAssets", "SQLiteDatabase", "StateStorage",
            ]),
        .executableTarget(
            name: "jostle-page", dependencies: ["JostleCommandLine", "JostlePage"], path: "Sources/jostle-page"),
        // Virtual boards for tests: a program of its own, because no board runs them.
        .executableTarget(
            name: "jostle-swarm",
            dependencies: [
                "CLinuxSystem", "Documents", "IMUDrivers", "JostleAgent", "JostleCommandLine", "JostleConfiguration",
                "JostleMessages", "JostleRuntime", "LinuxSystem", "MosquittoClient", "MotionCore", "StateStorage",
            ]),
        // Only `jostle` depends on it, because it is compiled again after each commit.
        .target(
            name: "CBuildInformation", cSettings: [.define("JOSTLE_COMMIT", to: "\"\(commit)\"")]),
        .executableTarget(
            name: "jostle",
            dependencies: [
                "CBuildInformation", "Cryptography", "Documents", "IMUDrivers", "JostleAgent", "JostleCommandLine",
                "JostleConfiguration", "JostleMessages", "JostleOperator", "JostleRuntime", "LinuxSensors",
                "LinuxSystem", "MosquittoClient", "MotionCore", "MotionKit", "SQLiteDatabase", "StateStorage",
                "VirtualIMU",
            ]),

        // Replaces malloc and its relatives: for a program of its own, never for a library or a test.
        .target(name: "CCounters", path: "Benchmarks/CCounters"),
        .executableTarget(
            name: "JostleBench",
            dependencies: ["CCounters", "IMUDrivers", "LinuxSensors", "MotionCore", "MotionKit", "VirtualIMU"],
            path: "Benchmarks/JostleBench"),
        // What Scripts/fit-shake fits to; not a product.
        .executableTarget(name: "shake-rows", dependencies: ["MotionCore"], path: "Benchmarks/ShakeRows"),
        // What Scripts/pack-everyday-movement runs; not a product.
        .executableTarget(
            name: "everyday-movement", dependencies: ["LinuxSystem", "MotionCore", "MotionKit"],
            path: "Benchmarks/EverydayMovement"),
        .executableTarget(name: "ShakeExample", dependencies: ["MotionKit"], path: "Examples/ShakeExample"),

        .target(name: "BrokerTestSupport", path: "Tests/BrokerTestSupport"),
        .target(
            name: "HTTPTestSupport", dependencies: ["BrokerTestSupport", "HTTPServer", "LinuxSystem"],
            path: "Tests/HTTPTestSupport"),
        .target(
            name: "MotionTestSupport", dependencies: ["IMUDrivers", "MotionCore"], path: "Tests/MotionTestSupport"),
        .testTarget(name: "MotionCoreTests", dependencies: ["MotionCore", "MotionTestSupport", "VirtualIMU"]),
        .testTarget(
            name: "IMUDriversTests", dependencies: ["IMUDrivers", "MotionCore", "MotionTestSupport", "VirtualIMU"]),
        .testTarget(
            name: "VirtualIMUTests", dependencies: ["IMUDrivers", "MotionCore", "MotionTestSupport", "VirtualIMU"]),
        // No test depends on these two: linked into the test program, they would change its own calls.
        .target(name: "StallingDisk", path: "Tests/StallingDisk"),
        .target(name: "ClockState", path: "Tests/ClockState"),
        .target(name: "FakeI2CAdapter", path: "Tests/FakeI2CAdapter", linkerSettings: [.linkedLibrary("m")]),
        .executableTarget(
            name: "LinuxSensorsTestHelper", dependencies: ["IMUDrivers", "LinuxSensors"],
            path: "Tests/LinuxSensorsTestHelper"),
        .testTarget(
            name: "LinuxSensorsTests",
            dependencies: [
                "FakeI2CAdapter", "IMUDrivers", "LinuxSensors", "LinuxSensorsTestHelper", "LinuxSystem", "MotionCore",
                "MotionTestSupport",
            ]),
        .testTarget(
            name: "MotionKitTests",
            dependencies: [
                "BrokerTestSupport", "IMUDrivers", "LinuxSensors", "LinuxSystem", "MotionCore", "MotionKit",
                "MotionTestSupport",
                "ShakeExample",
                "StateStorage", "VirtualIMU",
            ]),
        .testTarget(name: "LinuxSystemTests", dependencies: ["BrokerTestSupport", "CLinuxSystem", "LinuxSystem"]),
        .testTarget(name: "StateStorageTests", dependencies: ["BrokerTestSupport", "LinuxSystem", "StateStorage"]),
        .testTarget(
            name: "MosquittoClientTests",
            dependencies: [
                "BrokerTestSupport", "CMosquittoGuard", "LinuxSystem", "MosquittoClient",
            ]),
        .testTarget(
            name: "JostleConfigurationTests",
            dependencies: [
                "BrokerTestSupport", "Documents", "IMUDrivers", "JostleConfiguration", "JostleRuntime", "LinuxSystem",
                "MotionCore",
            ]),
        .testTarget(
            name: "JostleAgentTests",
            dependencies: [
                "BrokerTestSupport", "Documents", "IMUDrivers", "JostleAgent", "JostleConfiguration", "JostleMessages",
                "JostleRuntime", "LinuxSystem", "MosquittoClient", "MotionCore", "MotionKit", "SQLiteDatabase",
                "StateStorage",
            ]),
        .testTarget(
            name: "JostleSwarmTests",
            dependencies: ["BrokerTestSupport", "JostleMessages", "LinuxSystem", "MotionCore", "jostle-swarm"]),
        .testTarget(
            name: "JostleMessagesTests",
            dependencies: [
                "Documents", "BrokerTestSupport", "Cryptography", "JostleConfiguration", "JostleMessages",
                "LinuxSystem",
                "MosquittoClient", "MotionCore",
            ]),
        .testTarget(
            name: "JostleOperatorTests",
            dependencies: [
                "BrokerTestSupport",
                "Documents", "Cryptography", "JostleConfiguration", "JostleMessages", "JostleOperator",
                "MosquittoClient",
                "MotionCore",
            ]),
        .testTarget(
            name: "JostleTests",
            dependencies: [
                "Documents", "BrokerTestSupport", "JostleCommandLine", "JostleConfiguration", "JostleMessages",
                "JostleOperator",
                "LinuxSensors", "LinuxSystem", "MosquittoClient", "MotionCore", "jostle",
            ]),
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "Documents", "BrokerTestSupport", "JostleCommandLine", "JostleConfiguration", "jostle", "jostle-page",
            ]),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: ["BrokerTestSupport", "HTTPServer", "HTTPTestSupport", "LinuxSystem"]),
        .testTarget(
            name: "JostlePageTests",
            dependencies: [
                "BrokerTestSupport", "Documents", "HTTPServer", "JostleConfiguration", "JostleMessages",
                "JostleOperator", "JostlePage", "JostleRuntime", "LinuxSystem", "MosquittoClient", "MotionCore",
                "PageAssets", "SQLiteDatabase",
            ]),
        .testTarget(name: "SQLiteDatabaseTests", dependencies: ["SQLiteDatabase"]),
        .testTarget(name: "AllocationTests", dependencies: ["JostleBench"]),
        .testTarget(name: "RecordedDataTests", dependencies: ["MotionCore", "MotionKit"]),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "Documents", "BrokerTestSupport", "FakeI2CAdapter", "HTTPServer", "HTTPTestSupport",
                "JostleCommandLine",
                "JostleMessages",
                "LinuxSystem", "MosquittoClient", "SQLiteDatabase", "jostle", "jostle-page", "jostle-swarm",
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// Its @testable imports compile only with the flags of the tests.
if testTargets != nil {
    package.targets.append(
        .target(
            name: "Fuzzing",
            dependencies: [
                "Documents", "IMUDrivers", "JostleAgent", "JostleConfiguration", "JostleMessages", "LinuxSensors",
                "LinuxSystem", "MosquittoClient", "MotionCore", "MotionKit", "MotionTestSupport", "StateStorage",
                "VirtualIMU",
            ],
            path: "Tests/Fuzzing", exclude: ["corpus", "packets.c"]))
}
if let wanted = testTargets?.split(separator: " "), !wanted.isEmpty {
    package.targets.removeAll { $0.isTest && !wanted.contains($0.name[...]) }
}
