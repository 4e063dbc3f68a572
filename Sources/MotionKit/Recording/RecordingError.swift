internal import Glibc
public import LinuxSystem

/// What is wrong with a recording file.
public enum RecordingError: Error, Equatable, Sendable {
    /// It cannot be opened, read or written.
    case system(path: String, SystemFailure)
    /// A line does not follow the format: its number, from 1, and why.
    case malformed(path: String, line: Int, reason: String)
}

extension RecordingError: CustomStringConvertible {
    /// The path, the line if there is one, and what is wrong.
    public var description: String {
        switch self {
        case .system(let path, let failure):
            "\(path): \(failure)"
        case .malformed(let path, let line, let reason):
            "\(path):\(line): \(reason)"
        }
    }
}

extension SystemFailure {
    /// No sensor is running, so there is nothing to record.
    static let noDevice = SystemFailure(code: ENODEV)
}
