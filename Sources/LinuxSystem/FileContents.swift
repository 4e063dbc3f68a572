internal import Glibc

/// Why a system call failed: its errno.
public struct SystemFailure: Error, Equatable, Sendable, CustomStringConvertible {
    public let code: Int32

    /// Makes a failure of an errno.
    public init(code: Int32) {
        self.code = code
    }

    public var description: String { systemMessage(code) }
}

/// Files that are read whole: open(2), read(2), close(2).
public enum FileContents {
    /// A file's content, or its first `limit` bytes.
    public static func bytes(of path: String, limit: Int) throws(SystemFailure) -> [UInt8] {
        let file = try OpenFile(path)
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let chunk = try file.read(atMost: min(limit - bytes.count, 65_536))
            guard !chunk.isEmpty else { break }
            bytes += chunk
        }
        return bytes
    }

    /// The same as text; what is not UTF-8 is replaced.
    public static func text(of path: String, limit: Int) throws(SystemFailure) -> String {
        String(decoding: try bytes(of: path, limit: limit), as: UTF8.self)
    }

    /// The same where a file that cannot be read is an answer that is not there and never an error: in /proc and /sys.
    public static func text(ofOptional path: String, limit: Int) -> String? {
        do throws(SystemFailure) {
            return try text(of: path, limit: limit)
        } catch {
            return nil
        }
    }
}

/// A file open for reading.
private struct OpenFile: ~Copyable {
    private let descriptor: Int32

    init(_ path: String) throws(SystemFailure) {
        var descriptor: Int32
        repeat { descriptor = open(path, O_RDONLY | O_CLOEXEC) } while descriptor < 0 && errno == EINTR
        guard descriptor >= 0 else { throw SystemFailure(code: errno) }
        self.descriptor = descriptor
    }

    deinit { _ = close(descriptor) }

    /// The next bytes; none at the end of the file.
    func read(atMost count: Int) throws(SystemFailure) -> [UInt8] {
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var result: Int
            repeat { result = Glibc.read(descriptor, buffer.baseAddress, count) } while result < 0 && errno == EINTR
            code = result < 0 ? errno : 0
            initialized = max(0, result)
        }
        guard code == 0 else { throw SystemFailure(code: code) }
        return bytes
    }
}
