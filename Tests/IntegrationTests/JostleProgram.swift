import BrokerTestSupport
import Foundation
import Testing

/// Where the build put the program and the fake adapter's library: beside the test program.
enum Products {
    private static let directory = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent()

    static let program = directory.appendingPathComponent("jostle")
    static let fakeAdapter = directory.appendingPathComponent("libFakeI2CAdapter.so")

    static var hasProgram: Bool { FileManager.default.isExecutableFile(atPath: program.path) }
    static var hasFakeAdapter: Bool { FileManager.default.fileExists(atPath: fakeAdapter.path) }
}

extension Trait where Self == ConditionTrait {
    /// Skips where the program was not built, and says so.
    static var needsProgram: Self { .enabled(if: Products.hasProgram, "the program jostle was not built") }

    /// Skips where there is no mosquitto either, and says so.
    static var needsBroker: Self {
        .enabled(if: Products.hasProgram && TestBroker.isAvailable, "jostle was not built, or there is no mosquitto")
    }

    /// Skips where the fake's library was not built either, and says so.
    static var needsFakeAdapter: Self {
        .enabled(if: Products.hasProgram && Products.hasFakeAdapter, "jostle or libFakeI2CAdapter.so was not built")
    }
}

/// A run of `jostle`, apart from the configuration, the state and the chips of the machine; killed at the end of a test
/// that still has it.
final class JostleProgram: @unchecked Sendable {
    private let process = Process()
    private let directory: TemporaryDirectory

    /// Starts it.
    ///
    /// - Parameters:
    ///   - input: what it reads from standard input.
    ///   - fake: the path at which the fake adapter is loaded into it, and the adapter's options.
    init(
        _ arguments: [String], input: String = "", environment: [String: String] = [:],
        fake: (path: String, options: String)? = nil
    ) throws {
        directory = try TemporaryDirectory()
        var variables = ProcessInfo.processInfo.environment
        variables["JOSTLE_CONFIG"] = try directory.write("{}\n", to: "empty.yaml")
        variables["STATE_DIRECTORY"] = directory.path("state")
        variables["JOURNAL_STREAM"] = nil
        variables["NOTIFY_SOCKET"] = nil
        if let fake {
            variables["LD_PRELOAD"] = Products.fakeAdapter.path
            variables["FAKE_I2C"] = fake.path
            variables["FAKE_I2C_OPTIONS"] = fake.options
        }
        variables.merge(environment) { $1 }
        process.executableURL = Products.program
        process.arguments = arguments
        process.environment = variables
        process.currentDirectoryURL = URL(fileURLWithPath: directory.path)
        // Files and not pipes: nobody has to read them for the program to go on.
        process.standardInput = try FileHandle(
            forReadingFrom: URL(fileURLWithPath: try directory.write(input, to: "input")))
        process.standardOutput = try writing(to: "output")
        process.standardError = try writing(to: "errors")
        try process.run()
    }

    deinit {
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    }

    private func writing(to name: String) throws -> FileHandle {
        try FileHandle(forWritingTo: URL(fileURLWithPath: try directory.write("", to: name)))
    }

    var processIdentifier: Int32 { process.processIdentifier }
    var isRunning: Bool { process.isRunning }

    /// What it has written to standard output so far.
    var output: String { (try? String(contentsOfFile: directory.path("output"), encoding: .utf8)) ?? "" }

    /// What it has written to standard error so far.
    var errors: String { (try? String(contentsOfFile: directory.path("errors"), encoding: .utf8)) ?? "" }

    func signal(_ number: Int32) {
        Foundation.kill(process.processIdentifier, number)
    }

    /// Waits for its end; nil where it does not come in time.
    func exitStatus(within limit: Duration = .seconds(30)) async -> Int32? {
        guard await eventually(within: limit, { !process.isRunning }) else { return nil }
        return process.terminationStatus
    }

    /// Waits until it wrote a text to standard error.
    func logs(_ text: String, within limit: Duration = .seconds(30)) async -> Bool {
        await eventually(within: limit) { errors.contains(text) || !isRunning } && errors.contains(text)
    }
}

/// What a run of `jostle` came to.
struct Outcome {
    var status: Int32?
    var output: String
    var errors: String

    /// The lines of standard output.
    var lines: [String] { output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) }
}

/// Runs `jostle` to its end.
func jostle(
    _ arguments: String..., input: String = "", environment: [String: String] = [:],
    fake: (path: String, options: String)? = nil
) async throws -> Outcome {
    let program = try JostleProgram(arguments, input: input, environment: environment, fake: fake)
    let status = await program.exitStatus(within: .seconds(60))
    return Outcome(status: status, output: program.output, errors: program.errors)
}
