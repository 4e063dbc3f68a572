import Foundation
import LinuxSystem
import Testing

/// Requirement: a program that runs beside another one gets nothing of it but what it is given, and ends when it should.
@Suite struct CompanionProgramTests {
    private let messages = FileManager.default.temporaryDirectory
        .appendingPathComponent("companion-\(UUID().uuidString)").path

    /// Starts a shell script; also returns the end of a pipe from which its output is read.
    private func start(_ script: String, variables: [String: String] = [:]) throws -> (CompanionProgram, FileHandle) {
        let pipe = Pipe()
        let program = try CompanionProgram(
            "/bin/sh", ["-c", script], variables: variables,
            output: pipe.fileHandleForWriting.fileDescriptor, messages: messages)
        try pipe.fileHandleForWriting.close()
        return (program, pipe.fileHandleForReading)
    }

    @Test func hasItsOwnVariablesAndOutput() throws {
        setenv("NOTIFY_SOCKET", "/nowhere", 1)
        defer {
            unsetenv("NOTIFY_SOCKET")
            unlink(messages)
        }
        let script = "echo \"$PLACE/$NOTIFY_SOCKET/${PATH:+path}\"; echo wrong >&2; exit 7"
        let (program, output) = try start(script, variables: ["PLACE": "here"])
        #expect(String(decoding: try output.readToEnd() ?? Data(), as: UTF8.self) == "here//path\n")
        #expect(program.exitStatus(within: 10) == 7)
        #expect(try String(contentsOfFile: messages, encoding: .utf8) == "wrong\n")
    }

    @Test func saysWhatKilledIt() throws {
        defer { unlink(messages) }
        let (program, _) = try start("kill -KILL $$")
        #expect(program.exitStatus(within: 10) == 137)
    }

    @Test func isKilledIfItDoesNotEndWhenAsked() throws {
        defer { unlink(messages) }
        let (program, output) = try start("trap '' TERM; echo ready; while :; do sleep 0.1; done")
        #expect(try output.read(upToCount: 6) == Data("ready\n".utf8))
        #expect(program.exitStatus(within: 0.1) == nil)
        program.stop()
        #expect(program.exitStatus == 137)
    }

    @Test func endsWithItsOwner() throws {
        defer { unlink(messages) }
        let output: FileHandle
        do {
            let (program, handle) = try start("echo ready; exec sleep 1000")
            #expect(try handle.read(upToCount: 6) == Data("ready\n".utf8))
            #expect(program.exitStatus == nil)
            output = handle
        }
        // The end of the output: no process has its other end.
        #expect(try output.readToEnd() == nil)
    }
}
