internal import Glibc
internal import LinuxSystem

/// What is wrong with a recording file.
public enum RecordingError: Error, Equatable, Sendable {
    /// It cannot be opened, read or written: the system's errno.
    case system(path: String, code: Int32)
    /// A line is not what the format says: its number from 1, and why.
    case malformed(path: String, line: Int, reason: String)
}

extension RecordingError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .system(let path, let code):
            "\(path): \(systemMessage(code))"
        case .malformed(let path, let line, let reason):
            "\(path):\(line): \(reason)"
        }
    }
}

extension RecordingError {
    /// Nothing is measured that could be recorded, and nothing is left to do it with.
    static let noDevice = ENODEV
    static let noResources = EAGAIN
}
