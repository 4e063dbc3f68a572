internal import JostleMessages

/// The exit statuses, from sysexits.h.
package enum ExitStatus: Int32, CaseIterable {
    case success = 0
    /// The command line is wrong (EX_USAGE).
    case usage = 64
    /// An input file is malformed (EX_DATAERR).
    case badData = 65
    /// An input file does not exist or cannot be read (EX_NOINPUT).
    case noInput = 66
    /// A device or a service is not available (EX_UNAVAILABLE).
    case unavailable = 69
    /// A system resource is exhausted (EX_OSERR).
    case system = 71
    /// An output file cannot be written (EX_CANTCREAT).
    case cannotCreate = 73
    /// The command was interrupted and may be repeated (EX_TEMPFAIL).
    case temporary = 75
    /// Permission denied (EX_NOPERM).
    case permission = 77
    /// The configuration is invalid (EX_CONFIG).
    case configuration = 78

    /// What it means, for the manual.
    package var meaning: String {
        switch self {
        case .success: "success"
        case .usage: "the command line is wrong"
        case .badData: "an input file is malformed"
        case .noInput: "an input file does not exist or cannot be read"
        case .unavailable: "a device or the broker is not available"
        case .system: "a resource of the system is exhausted"
        case .cannotCreate: "a file cannot be written"
        case .temporary: "the command was interrupted, and can be repeated"
        case .permission: "permission denied"
        case .configuration: "the configuration is invalid"
        }
    }
}

/// Why a command failed.
package struct CommandFailure: Error {
    package let status: ExitStatus
    /// The lines for standard error, at least one; a line break within a line is escaped.
    package let lines: [String]

    package init(_ status: ExitStatus, _ message: String) {
        self.init(status, lines: [message])
    }

    package init(_ status: ExitStatus, lines: [String]) {
        self.status = status
        self.lines = lines.isEmpty ? [""] : lines
    }
}

extension ExitStatus {
    /// Runs a program, reports its failure on standard error, and returns the status with which it ends.
    package static func ofProgram(_ name: String, _ run: () throws(CommandFailure) -> Void) -> ExitStatus {
        do throws(CommandFailure) {
            try run()
            guard Output.finish() else { throw CommandFailure(.cannotCreate, "standard output cannot be written") }
            return .success
        } catch {
            // What was printed before the error comes before it, also in a pipe.
            Output.flush()
            // The journal takes the level from the beginning of a line: sd-daemon(3).
            let level = Journal.isStandardError ? "<3>" : ""
            let lines = ["\(name): \(error.lines[0])"] + error.lines.dropFirst()
            Output.errors(lines.map { level + $0 })
            return error.status
        }
    }
}
