import BrokerTestSupport
import Foundation
import Testing

/// The build directory, which contains the program and the fake adapter's library beside the test program.
enum Products {
    private static let directory = URL(fileURLWithPath: CommandLine.arguments[0])
        .deletingLastPathComponent()

    static let program = directory.appendingPathComponent("jostle")
    static let pageProgram = directory.appendingPathComponent("jostle-page")
    static let swarmProgram = directory.appendingPathComponent("jostle-swarm")
    static let fakeAdapter = directory.appendingPathComponent("libFakeI2CAdapter.so")
    static let stallingDisk = directory.appendingPathComponent("libStallingDisk.so")
    static let clockState = directory.appendingPathComponent("libClockState.so")

    static var hasProgram: Bool { FileManager.default.isExecutableFile(atPath: program.path) }
    static var hasStallingDisk: Bool { FileManager.default.fileExists(atPath: stallingDisk.path) }
    static var hasClockState: Bool { FileManager.default.fileExists(atPath: clockState.path) }
    static var hasFakeAdapter: Bool { FileManager.default.fileExists(atPath: fakeAdapter.path) }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test if the program was not built.
    static var needsProgram: Self { .enabled(if: Products.hasProgram, "the program jostle was not built") }

    /// Also skips the test if mosquitto is not installed.
    static var needsBroker: Self {
        .enabled(if: Products.hasProgram && TestBroker.isAvailable, "jostle was not built, or there is no mosquitto")
    }

    /// Also skips the test if the fake adapter was not built.
    static var needsFakeAdapter: Self {
        .enabled(if: Products.hasProgram && Products.hasFakeAdapter, "jostle or libFakeI2CAdapter.so was not built")
    }
}

/// A run of `jostle` or another of its programs, isolated from the machine's configuration, state and chips. Call `kill` if it does not end by
/// itself.
final class JostleProgram: @unchecked Sendable {
    private let process: ChildProcess
    private let directory: TemporaryDirectory

    /// Starts the program with `input` as standard input, optionally with the fake adapter at a path, and optionally
    /// through `launcher`, a command that executes the arguments that follow it.
    init(
        _ arguments: [String], input: String = "", environment: [String: String] = [:],
        fake: (path: String, options: String)? = nil, launcher: [String] = [], program: URL = Products.program
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
        // Files instead of pipes, so that the program does not block on unread output.
        let script = "exec env -u JOURNAL_STREAM -u NOTIFY_SOCKET \"$@\" <input >output"
        process = try ChildProcess(
            ["/bin/sh", "-c", script, "jostle"] + variables.map { "\($0)=\($1)" } + launcher
                + [program.path] + arguments, in: directory, errors: directory.path("errors"))
    }

    var processIdentifier: Int32 { process.identifier }
    var isRunning: Bool { process.exitStatus() == nil }

    /// The text on standard output so far.
    var output: String { text(of: "output") }

    /// The text on standard error so far.
    var errors: String { text(of: "errors") }

    private func text(of name: String) -> String {
        (try? String(contentsOfFile: directory.path(name), encoding: .utf8)) ?? ""
    }

    func signal(_ number: Int32) {
        if isRunning { Foundation.kill(process.identifier, number) }
    }

    /// Kills the program and waits for it. Has no effect if it has ended.
    func kill() {
        signal(SIGKILL)
        process.wait()
    }

    /// Waits for the exit status, 128 or more for a signal; `nil` if the program does not end in time.
    func exitStatus(within limit: Duration = patience) async -> Int32? {
        _ = await eventually(within: limit) { !isRunning }
        return process.exitStatus()
    }

    /// Stops the agent as systemd does, and waits. Whatever the broker does, this takes little more than a second on an
    /// idle machine.
    func terminate() async -> Int32? {
        signal(SIGTERM)
        return await exitStatus()
    }

    /// Waits for its end, or kills it in the end, and returns what it left.
    func outcome(within limit: Duration = patience) async -> Outcome {
        defer { kill() }
        return Outcome(status: await exitStatus(within: limit), output: output, errors: errors)
    }

    /// Waits until a text appears on standard error, so often.
    func logs(_ text: String, times: Int = 1, within limit: Duration = patience) async -> Bool {
        let hasLogged = { self.errors.components(separatedBy: text).count > times }
        return await eventually(within: limit) { hasLogged() || !isRunning } && hasLogged()
    }
}

/// The result of a run of `jostle`.
struct Outcome {
    var status: Int32?
    var output: String
    var errors: String

    /// Checks the exit status, and that each text is in the errors, in the output, or not in the output. A failure shows
    /// what the program wrote.
    @discardableResult
    func expect(
        status: Int32, errors: String..., output: String..., without: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> Outcome {
        let wrote = Comment("\(self.output)\(self.errors)")
        #expect(self.status == status, wrote, sourceLocation: sourceLocation)
        for text in errors { #expect(self.errors.contains(text), wrote, sourceLocation: sourceLocation) }
        for text in output { #expect(self.output.contains(text), wrote, sourceLocation: sourceLocation) }
        for text in without { #expect(!self.output.contains(text), wrote, sourceLocation: sourceLocation) }
        return self
    }

    /// The lines of standard output.
    var lines: [String] { output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) }
}

/// Runs `jostle` to its end.
func jostle(
    _ arguments: String..., input: String = "", environment: [String: String] = [:],
    fake: (path: String, options: String)? = nil
) async throws -> Outcome {
    try await JostleProgram(arguments, input: input, environment: environment, fake: fake).outcome()
}
