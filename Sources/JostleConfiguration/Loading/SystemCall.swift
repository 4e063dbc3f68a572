internal import Glibc

/// The few system calls that loading a configuration takes.
enum SystemCall {
    /// Why a call failed: `errno`.
    struct Failure: Error {
        var code: CInt
    }

    /// The file's content, or its first `limit` bytes; stands for open(2), read(2) and close(2).
    static func contents(of path: String, limit: Int) throws(Failure) -> [UInt8] {
        let file = try OpenFile(path)
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let chunk = try file.read(atMost: min(limit - bytes.count, 65_536))
            guard !chunk.isEmpty else { break }
            bytes += chunk
        }
        return bytes
    }

    /// Whether something stands at `path`, readable or not; stands for access(2).
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// A variable of the environment; stands for getenv(3).
    static func environmentVariable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// What an `errno` means; stands for strerror_r(3).
    static func message(for code: CInt) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// A file open for reading.
private struct OpenFile: ~Copyable {
    private let descriptor: CInt

    init(_ path: String) throws(SystemCall.Failure) {
        var descriptor: CInt
        repeat { descriptor = open(path, O_RDONLY | O_CLOEXEC) } while descriptor < 0 && errno == EINTR
        guard descriptor >= 0 else { throw SystemCall.Failure(code: errno) }
        self.descriptor = descriptor
    }

    deinit { _ = close(descriptor) }

    /// The next bytes; none at the end of the file.
    func read(atMost count: Int) throws(SystemCall.Failure) -> [UInt8] {
        var code: CInt = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var result: Int
            repeat { result = Glibc.read(descriptor, buffer.baseAddress, count) } while result < 0 && errno == EINTR
            code = result < 0 ? errno : 0
            initialized = max(0, result)
        }
        guard code == 0 else { throw SystemCall.Failure(code: code) }
        return bytes
    }
}
