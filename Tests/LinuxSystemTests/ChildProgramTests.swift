import Glibc
import LinuxSystem
import Testing

/// Requirement: another program cannot hold up or fill the one that runs it.
@Suite struct ChildProgramTests {
    private func run(
        _ script: String, within seconds: Double = 20, limit: Int = 1 << 16, isInterrupted: () -> Bool = { false }
    ) throws -> ChildProgram.Outcome {
        try ChildProgram("sh", ["-c", script]).run(within: seconds, limit: limit, isInterrupted: isInterrupted)
    }

    @Test func takesBothOutputsAndStatus() throws {
        let outcome = try run("echo out; echo err >&2; echo \"$LC_ALL\"; read x || echo none; exit 3")
        #expect(outcome.output == "out\nC.UTF-8\nnone\n" && outcome.errors == "err\n")
        #expect(outcome.end == .exited(3) && !outcome.isCut)
        #expect(try run("kill -TERM $$").end == .killed(signal: SIGTERM))
    }

    @Test func missingProgramIsAnError() {
        #expect(throws: SystemFailure(code: ENOENT)) { try ChildProgram("no-such-program", []).run(within: 5) }
    }

    @Test func keepsTheBeginningOfALongOutput() throws {
        let outcome = try run("i=0; while [ $i -lt 50000 ]; do echo 0123456789; i=$((i+1)); done", limit: 100)
        #expect(outcome.output.utf8.count == 100 && outcome.isCut && outcome.end == .exited(0))
    }

    @Test func killsWhatDoesNotEnd() throws {
        let outcome = try run("echo $$; sleep 1000 & sleep 1000", within: 0.3)
        #expect(outcome.end == .stopped)
        let group = try #require(pid_t(outcome.output.dropLast()))
        // The shell is reaped, and what it started belongs to nobody who reaps it slowly.
        for _ in 0..<500 where kill(-group, 0) == 0 { usleep(10_000) }
        #expect(kill(-group, 0) != 0)
    }

    @Test func endsWhenInterrupted() throws {
        #expect(try run("sleep 1000", within: 100, isInterrupted: { true }).end == .stopped)
    }

    /// A daemon that inherited the output does not keep the caller waiting.
    @Test func doesNotWaitForWhatTheProgramLeaves() throws {
        let outcome = try run("sleep 5 & echo started", within: 100)
        #expect(outcome.output == "started\n" && outcome.end == .exited(0))
    }
}
