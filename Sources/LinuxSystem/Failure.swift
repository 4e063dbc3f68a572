/// The exit statuses, from sysexits.h.
package enum ExitStatus: Int32, CaseIterable, Sendable {
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

/// Why something cannot be done: what, why and what to do, and the exit status of a program that ends for it.
package struct Failure: Error, Equatable, Sendable, CustomStringConvertible {
    package let status: ExitStatus

    /// The lines for people, at least one; a line break within a line is escaped where it is shown.
    package let lines: [String]

    package init(_ status: ExitStatus, _ message: String) {
        self.init(status, lines: [message])
    }

    package init(_ status: ExitStatus, lines: [String]) {
        self.status = status
        self.lines = lines.isEmpty ? [""] : lines
    }

    /// The failure that an error stands for. One that says nothing about itself is a fault of the system.
    package init(_ error: any Error) {
        self = error as? Failure ?? (error as? any FailureConvertible)?.failure ?? Failure(.system, "\(error)")
    }

    /// The same failure with one more line.
    package func adding(_ line: String) -> Failure { Failure(status, lines: lines + [line]) }

    package var description: String { lines.joined(separator: "\n") }

    /// Runs `body`; an error becomes a failure with this status.
    package static func with<Value>(_ status: ExitStatus, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            throw Failure(status, "\(error)")
        }
    }

    /// Runs `body`; an error becomes a failure with this status, after what it is about: `NAME: error`.
    package static func about<Value>(
        _ name: String, _ status: ExitStatus, _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try body()
        } catch {
            throw Failure(status, "\(name): \(error)")
        }
    }
}

/// An error with the failure of a program that ends for it.
package protocol FailureConvertible: Error {
    var failure: Failure { get }
}
