import Foundation
import Testing

/// A run of LinuxSensorsTestHelper. It is killed when the test releases it.
final class HelperProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    /// The build directory of the helper and the fake's library: that of the test program.
    private static let products = URL(fileURLWithPath: CommandLine.arguments[0])
        .deletingLastPathComponent()

    /// Starts the helper, optionally through `launcher`, a command that executes the arguments that follow it. With
    /// `fake`, the fake adapter is loaded into it at that path.
    init(_ arguments: [String], fake: String? = nil, options: String = "", launcher: [String] = []) throws {
        let helper = Self.products.appendingPathComponent("LinuxSensorsTestHelper")
        // A sanitizer's library cannot be loaded into a launcher.
        var command = launcher + (launcher.isEmpty ? [] : ["env"])
        process.standardInput = input
        process.standardOutput = output
        if let fake {
            let library = Self.products.appendingPathComponent("libFakeI2CAdapter.so")
            try #require(FileManager.default.fileExists(atPath: library.path), "the fake's library was not built")
            var environment = ProcessInfo.processInfo.environment
            command.append("LD_PRELOAD=\(library.path)")
            environment["FAKE_I2C"] = fake
            environment["FAKE_I2C_OPTIONS"] = options
            process.environment = environment
        }
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command + [helper.path] + arguments
        try process.run()
    }

    deinit {
        if process.isRunning { kill() }
    }

    var processIdentifier: Int32 { process.processIdentifier }

    /// The line that the helper prints; an incomplete one if the helper ends first.
    func answer() -> String {
        var line = Data()
        while let byte = try? output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty, byte != Data("\n".utf8) {
            line += byte
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// Closes its input and waits for its exit status.
    func finish() -> Int32 {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// Kills it and waits for its end.
    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
