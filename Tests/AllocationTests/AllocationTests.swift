import Foundation
import Testing

/// Requirement: from the FIFO's bytes to the event, nothing is allocated after set-up.
///
/// Counting allocations requires replacing malloc, which a test program should not do, so `jostle-bench
/// --check-allocations` does it in a separate process. This test runs the build of the tests; `make test-all` also runs
/// the release build, which boards use.
struct AllocationTests {
    /// The benchmark, which the build puts beside the test program.
    private static let bench = URL(fileURLWithPath: CommandLine.arguments[0])
        .deletingLastPathComponent().appendingPathComponent("jostle-bench")

    @Test("The hot path does not allocate at rest, while shaken, when clipping, or when the bus fails")
    func hotPath() throws {
        let result = try Self.run(["--check-allocations"])
        #expect(result.status == 0, "\(result.output)")
        // Without this, a counter that does not count would pass.
        #expect(result.output.contains("counted 100 of 100 deliberate allocations"), "\(result.output)")
        // Without this, a check that runs no stage would pass.
        let stages = [
            "pipeline-rest", "pipeline-motion", "pipeline-learned", "fifo-to-event", "fifo-to-event-worst",
            "kernel-to-sample",
            "magnetometer",
        ]
        for stage in stages {
            let line = result.output.split(separator: "\n").first { $0.hasPrefix(stage + " ") }
            #expect(line?.hasSuffix("no allocation") == true, "\(stage): \(line ?? "not checked")")
        }
    }

    /// Requirement: exit status 64 on a wrong command line (sysexits.h).
    @Test(
        "A wrong command line exits with status 64",
        arguments: [
            ["--jsn"], ["driver"], ["--once"], ["--once", "nothing"], ["--samples", "10"], ["--json", "--json"],
            ["--once", "ring", "--samples", "0"], ["--once", "ring", "--samples", "1e3"],
            ["--json", "--check-allocations"], ["--once", "ring", "--json"], ["--once", "ring", "--samples"],
            ["--check-allocations", "--samples", "10"], ["--rounds", "1"], ["--faults", "--rounds", "0"],
        ])
    func wrongUsage(words: [String]) throws {
        let result = try Self.run(words)
        #expect(result.status == 64)
        #expect(result.output.isEmpty)
    }

    /// Runs the benchmark until it exits.
    private static func run(_ words: [String]) throws -> (status: Int32, output: String) {
        try #require(FileManager.default.isExecutableFile(atPath: bench.path), "jostle-bench was not built")
        let process = Process()
        let output = Pipe()
        process.executableURL = bench
        process.arguments = words
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }
}
