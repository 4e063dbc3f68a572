import BrokerTestSupport
import Foundation
import Testing

/// Where the build put the program and the fake adapter's library: beside the test program.
enum Products {
    private static let directory = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent()

    static let program = directory.appendingPathComponent("jostle")
    static let fakeAdapter = directory.appendingPathComponent("libFakeI2CAdapter.so")
    static let stallingDisk = directory.appendingPathComponent("libStallingDisk.so")

    static var hasProgram: Bool { FileManager.default.isExecutableFile(atPath: program.path) }
    static var hasStallingDisk: Bool { FileManager.default.fileExists(atPath: stallingDisk.path) }
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

/// A run of `jostle`, apart from the configuration, the state and the chips of the machine; to be ended with `kill` where
/// it does not end by itself.
final class JostleProgram: @unchecked Sendable {
    private let process: ChildProcess
    private let directory: TemporaryDirectory

    /// Starts it, with `input` as its standard input, with the fake adapter at a path where one is given, and by way of
    /// `launcher`, words of a command that executes those which follow.
    init(
        _ arguments: [String], input: String = "", environment: [String: String] = [:],
        fake: (path: String, options: String)? = nil, launcher: [String] = []
    ) throws {
        directory = try TemporaryDirectory()
        try directory.write(input, to: "input")
        var variables = [
            "JOSTLE_CONFIG": try directory.write("{}\n", to: "empty.yaml"), "STATE_DIRECTORY": directory.path("state"),
        ]
        if let fake {
            variables["LD_PRELOAD"] = Products.fakeAdapter.path
            variables["FAKE_I2C"] = fake.path
            variables["FAKE_I2C_OPTIONS"] = fake.options
        }
        variables.merge(environment) { $1 }
        // Files and not pipes: nobody has to read them for the program to go on.
        let script = "exec env -u JOURNAL_STREAM -u NOTIFY_SOCKET \"$@\" <input >output"
        process = try ChildProcess(
            ["/bin/sh", "-c", script, "jostle"] + variables.map { "\($0)=\($1)" } + launcher
                + [Products.program.path] + arguments, in: directory, errors: directory.path("errors"))
    }

    var processIdentifier: Int32 { process.identifier }
    var isRunning: Bool { process.exitStatus() == nil }

    /// What it has written to standard output so far.
    var output: String { text(of: "output") }

    /// What it has written to standard error so far.
    var errors: String { text(of: "errors") }

    private func text(of name: String) -> String {
        (try? String(contentsOfFile: directory.path(name), encoding: .utf8)) ?? ""
    }

    func signal(_ number: Int32) {
        if isRunning { Foundation.kill(process.identifier, number) }
    }

    /// Ends it without notice, and waits for it; does nothing where it has ended.
    func kill() {
        signal(SIGKILL)
        process.wait()
    }

    /// Waits for its end, and returns its exit status, 128 and more for a signal; nil where the end does not come in time.
    func exitStatus(within limit: Duration = .seconds(30)) async -> Int32? {
        _ = await eventually(within: limit) { !isRunning }
        return process.exitStatus()
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
    defer { program.kill() }
    let status = await program.exitStatus(within: .seconds(60))
    return Outcome(status: status, output: program.output, errors: program.errors)
}
