import BrokerTestSupport
import Foundation
import Testing

/// The program beside the test program.
enum Program {
    static let path = URL(fileURLWithPath: CommandLine.arguments[0])
        .deletingLastPathComponent().appendingPathComponent("jostle").path

    static var isBuilt: Bool { FileManager.default.isExecutableFile(atPath: path) }

    /// Runs it to its end in a directory, without the configuration and the state of this machine.
    static func run(_ arguments: [String], in directory: TemporaryDirectory) throws -> (status: Int32, output: String) {
        let configuration = try directory.write("{}\n", to: "default.yaml")
        let variables = ["JOSTLE_CONFIG=\(configuration)", "STATE_DIRECTORY=\(directory.path("state"))"]
        let script = "exec env \"$@\" >\"$0\" 2>&1"
        let process = try ChildProcess(
            ["/bin/sh", "-c", script, directory.path("output")] + variables + [path] + arguments, in: directory)
        let status = process.wait()
        return (status, try String(contentsOfFile: directory.path("output"), encoding: .utf8))
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips, visibly, if the program was not built.
    static var needsProgram: Self { .enabled(if: Program.isBuilt, "the program jostle was not built") }
}
