internal import Glibc

/// Why a system call failed: its errno.
public struct SystemFailure: Error, Hashable, Sendable, CustomStringConvertible {
    public let code: Int32

    /// Replaces the errno's message if set.
    private let detail: String?

    public init(code: Int32) {
        self.init(code: code, detail: nil)
    }

    private init(code: Int32, detail: String?) {
        self.code = code
        self.detail = detail
    }

    /// Whether there is no such file or directory (ENOENT).
    package var isMissing: Bool { code == ENOENT }

    /// Whether this process may not do it (EACCES, EPERM).
    package var isPermission: Bool { code == EACCES || code == EPERM }

    public var description: String { detail ?? systemMessage(code) }
}

extension SystemFailure {
    /// A FIFO, a socket or a device instead of a regular file.
    public static let notRegularFile = SystemFailure(code: EINVAL, detail: "Not a regular file")

    /// A named pipe into which no program writes.
    static let noWriter = SystemFailure(code: ETIMEDOUT, detail: "No program writes into this pipe")

    /// A device, or a file of the kernel, from which nothing comes.
    static let nothingComes = SystemFailure(code: ETIMEDOUT, detail: "Nothing comes from it")

    /// A timeout expired.
    public static let timedOut = SystemFailure(code: ETIMEDOUT)

    /// The system has no threads or descriptors left.
    public static let noResources = SystemFailure(code: EAGAIN)
}

/// The system's message for an errno: strerror_r(3).
public func systemMessage(_ code: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
        guard let start = buffer.baseAddress else { return "error \(code)" }
        buffer.initialize(repeating: 0)
        guard strerror_r(code, start, buffer.count) == 0 else { return "error \(code)" }
        return String(cString: start)
    }
}
