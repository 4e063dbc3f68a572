internal import CLinuxSystem
internal import Glibc

/// Reads whole files: open(2), read(2), close(2). Writes files of /sys.
package enum FileContents {
    /// A file's content, or its first `limit` bytes.
    ///
    /// Anything but a regular file is refused, because reading it may block for ever; files in /proc and /sys are
    /// regular. With `mayBePipe`, pipes and devices are read too, however long that takes. It is meant for a file named
    /// by the user, which may be /dev/stdin.
    package static func bytes(
        of path: String, limit: Int, mayBePipe: Bool = false
    ) throws(SystemFailure) -> [UInt8] {
        let descriptor = mayBePipe ? try open(path) : try openRegular(path)
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let chunk = try read(descriptor, atMost: min(limit - bytes.count, 65_536))
            guard !chunk.isEmpty else { break }
            bytes += chunk
        }
        return bytes
    }

    /// The content as text. Invalid UTF-8 is replaced.
    package static func text(
        of path: String, limit: Int, mayBePipe: Bool = false
    ) throws(SystemFailure) -> String {
        String(decoding: try bytes(of: path, limit: limit, mayBePipe: mayBePipe), as: UTF8.self)
    }

    /// The content as text; `nil` if the file cannot be read, which is not an error in /proc and /sys.
    package static func text(ofOptional path: String, limit: Int) -> String? {
        do {
            return try text(of: path, limit: limit)
        } catch {
            return nil
        }
    }
}

extension FileContents {
    /// Opens a regular file for reading, without waiting for the other end of a pipe: open(2), fstat(2).
    ///
    /// - Returns: the descriptor, which the caller closes.
    package static func openRegular(_ path: String) throws(SystemFailure) -> Int32 {
        // Without O_NONBLOCK, opening a FIFO that has no writer would block.
        let descriptor = try open(path, O_NONBLOCK)
        var status = stat()
        let code = fstat(descriptor, &status) == 0 ? 0 : errno
        let failure: SystemFailure? =
            switch status.st_mode & S_IFMT {
            case _ where code != 0: SystemFailure(code: code)
            case S_IFREG: nil
            case S_IFDIR: SystemFailure(code: EISDIR)
            default: .notRegularFile
            }
        guard let failure else { return descriptor }
        close(descriptor)
        throw failure
    }

    /// The next bytes of an open file; empty at its end.
    private static func read(_ descriptor: Int32, atMost count: Int) throws(SystemFailure) -> [UInt8] {
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

    /// Opens anything for reading.
    private static func open(_ path: String, _ flags: Int32 = 0) throws(SystemFailure) -> Int32 {
        var descriptor: Int32
        repeat { descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | flags) } while descriptor < 0 && errno == EINTR
        guard descriptor >= 0 else { throw SystemFailure(code: errno) }
        return descriptor
    }
}

extension FileContents {
    /// Deletes a directory with everything in it, as far as that is possible: opendir(3), unlink(2), rmdir(2). A
    /// symbolic link is deleted and not followed.
    package static func removeDirectory(_ path: String) {
        for name in DirectoryContents.names(ofOptional: path) {
            let entry = "\(path)/\(name)"
            let isDirectory = DirectoryContents.exists(entry) && !DirectoryContents.isLink(entry)
            if isDirectory { removeDirectory(entry) } else { unlink(entry) }
        }
        rmdir(path)
    }
}

extension FileContents {
    /// Writes a file of sysfs with the single write(2) that the kernel expects. `text` is not empty: without a byte the kernel
    /// is not called.
    package static func write(_ text: String, toAttribute path: String) throws(SystemFailure) {
        let file = Glibc.open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)
        guard file >= 0 else { throw SystemFailure(code: errno) }
        defer { close(file) }
        var text = text
        let (written, code) = text.withUTF8 { bytes in
            let written = Glibc.write(file, bytes.baseAddress, bytes.count)
            return (written, errno)
        }
        guard written > 0 else { throw SystemFailure(code: written < 0 ? code : EIO) }
    }
}

/// Access control lists of files: acl(5).
package enum AccessList {
    /// Whether a file or directory has a list, which may permit more than its owner, group and mode: getxattr(2).
    package static func exists(at path: String) -> Bool {
        getxattr(path, "system.posix_acl_access", nil, 0) > 0
    }
}
