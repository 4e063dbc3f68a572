internal import JostleRuntime
package import LinuxSystem

extension ExitStatus {
    /// Runs a program, reports its failure on standard error, and returns the status with which it ends.
    package static func ofProgram(_ name: String, _ run: () throws -> Void) -> ExitStatus {
        do {
            try run()
            try Output.finish()
            return .success
        } catch is ReaderIsGone {
            return .success
        } catch {
            let failure = Failure(error)
            // What was printed before the error comes before it, also in a pipe.
            Output.flush()
            // The journal takes the level from the beginning of a line: sd-daemon(3).
            let level = Journal.isStandardError ? "<3>" : ""
            let lines = ["\(name): \(failure.lines[0])"] + failure.lines.dropFirst()
            Output.errors(lines.map { level + $0 })
            return failure.status
        }
    }
}
