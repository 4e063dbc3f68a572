import Foundation
import Testing

/// A run of LinuxSensorsTestHelper; killed at the end of a test that still has it.
final class HelperProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    /// Where the build put the helper and the fake's library: beside the test program.
    private static let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent()

    /// Starts it; with `fake` set, the fake adapter is loaded into it at that path.
    init(_ arguments: [String], fake: String? = nil, options: String = "") throws {
        process.executableURL = Self.products.appendingPathComponent("LinuxSensorsTestHelper")
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        if let fake {
            let library = Self.products.appendingPathComponent("libFakeI2CAdapter.so")
            try #require(FileManager.default.fileExists(atPath: library.path), "the fake's library was not built")
            var environment = ProcessInfo.processInfo.environment
            environment["LD_PRELOAD"] = library.path
            environment["FAKE_I2C"] = fake
            environment["FAKE_I2C_OPTIONS"] = options
            process.environment = environment
        }
        try process.run()
    }

    deinit {
        if process.isRunning { kill() }
    }

    var processIdentifier: Int32 { process.processIdentifier }

    /// The line it answers with; what there is of it, where it ends first.
    func answer() -> String {
        var line = Data()
        while let byte = try? output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty, byte != Data("\n".utf8) {
            line += byte
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// Ends its input and waits for its exit status.
    func finish() -> Int32 {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// Kills it without notice, and waits for its end.
    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
