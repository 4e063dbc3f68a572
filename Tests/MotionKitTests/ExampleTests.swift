import BrokerTestSupport
import Foundation
import Testing

/// The example program runs, and docs/swift.md contains it unchanged.
@Suite struct ExampleTests {
    private static let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static let begin = "<!-- example -->"
    private static let end = "<!-- /example -->"

    @Test func documentationContainsExample() throws {
        let page = Self.repository.appendingPathComponent("docs/swift.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let begin = try #require(text.range(of: Self.begin), "docs/swift.md has no \(Self.begin)")
        let end = try #require(
            text.range(of: Self.end, range: begin.upperBound..<text.endIndex), "docs/swift.md has no \(Self.end)")
        let block = text[begin.upperBound..<end.lowerBound].trimmingCharacters(in: .whitespacesAndNewlines)
        let example = try String(
            contentsOf: Self.repository.appendingPathComponent("Examples/ShakeExample/main.swift"), encoding: .utf8)
        #expect(block == "```swift\n\(example)```")
    }

    /// It prints the attitude until Ctrl-C, and then exits with status 0.
    @Test func runsUntilInterrupted() async throws {
        let process = Process()
        let output = Pipe()
        let printed = Journal<String>()
        let program = URL(fileURLWithPath: CommandLine.arguments[0])
            .deletingLastPathComponent().appendingPathComponent("ShakeExample")
        // If its output were a pipe, it would print everything at its end.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/stdbuf")
        process.arguments = ["-oL", program.path, "--virtual"]
        process.standardOutput = output
        output.fileHandleForReading.readabilityHandler = { handle in
            printed.append(String(decoding: handle.availableData, as: UTF8.self))
        }
        try ExampleTests.withoutBlockedSignals { try process.run() }
        defer {
            output.fileHandleForReading.readabilityHandler = nil
            if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        }
        #expect(await eventually { printed.entries.joined().contains("\n") })
        #expect(printed.entries.joined().prefixMatch(of: /It is turned by [0-9]+° from where it was.\n/) != nil)
        process.interrupt()
        #expect(await eventually { !process.isRunning })
        guard !process.isRunning else { return }
        #expect(process.terminationReason == .exit)
        #expect(process.terminationStatus == 0)
    }

    /// A process inherits the blocked signals of the thread that starts it, and threads of a test block all signals. With
    /// none blocked, it ends by itself if the test program crashes, because its output is then a pipe without a reader.
    private static func withoutBlockedSignals(_ body: () throws -> Void) rethrows {
        var none = sigset_t()
        var previous = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
        try body()
    }
}
