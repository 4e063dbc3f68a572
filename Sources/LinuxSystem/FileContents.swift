internal import Glibc

/// Files that are read whole: open(2), read(2), close(2).
package enum FileContents {
    /// A file's content, or its first `limit` bytes.
    ///
    /// What is not a regular file is refused, since reading it may wait for ever; files in /proc and /sys are regular ones. With
    /// `mayBePipe` a pipe or a device is read too, however long that takes: for a file that the user named, which may be
    /// /dev/stdin.
    package static func bytes(
        of path: String, limit: Int, mayBePipe: Bool = false
    ) throws(SystemFailure) -> [UInt8] {
        let file = try OpenFile(path, mayBePipe: mayBePipe)
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let chunk = try file.read(atMost: min(limit - bytes.count, 65_536))
            guard !chunk.isEmpty else { break }
            bytes += chunk
        }
        return bytes
    }

    /// The same as text; what is not UTF-8 is replaced.
    package static func text(
        of path: String, limit: Int, mayBePipe: Bool = false
    ) throws(SystemFailure) -> String {
        String(decoding: try bytes(of: path, limit: limit, mayBePipe: mayBePipe), as: UTF8.self)
    }

    /// The same, or `nil` if the file cannot be read: in /proc and /sys that is an answer and not an error.
    package static func text(ofOptional path: String, limit: Int) -> String? {
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

    init(_ path: String, mayBePipe: Bool) throws(SystemFailure) {
        // Without a writer, opening a FIFO waits unless it is opened as one that never blocks.
        let flags = O_RDONLY | O_CLOEXEC | (mayBePipe ? 0 : O_NONBLOCK)
        var opened: Int32
        repeat { opened = open(path, flags) } while opened < 0 && errno == EINTR
        guard opened >= 0 else { throw SystemFailure(code: errno) }
        if !mayBePipe, let failure = OpenFile.refusal(opened) {
            _ = close(opened)
            throw failure
        }
        descriptor = opened
    }

    /// Why a file is not to be read: fstat(2).
    private static func refusal(_ descriptor: Int32) -> SystemFailure? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return SystemFailure(code: errno) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return nil
        case S_IFDIR: return SystemFailure(code: EISDIR)
        default: return .notRegularFile
        }
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
