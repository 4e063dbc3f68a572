internal import CLinuxSystem
internal import Glibc

/// Reads whole files. Writes files of /sys.
package enum FileContents {
    /// A file's content, or its first `limit` bytes.
    ///
    /// Anything but a regular file is refused, because it may deliver nothing, or never end. With `mayBePipe`, pipes and
    /// devices are read too: see `InputFile`. It is meant for a file named by the user, which may be /dev/stdin.
    package static func bytes(
        of path: String, limit: Int, mayBePipe: Bool = false
    ) throws(SystemFailure) -> [UInt8] {
        var file = try InputFile(path: path, mustBeRegular: !mayBePipe)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: min(max(limit, 1), 65_536), alignment: 1)
        defer { buffer.deallocate() }
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let room = min(limit - bytes.count, buffer.count)
            let count = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<room]))
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return bytes
    }

    /// At most `count` bytes of a regular file from a byte on, and its size: fstat(2), pread(2).
    package static func part(of path: String, from offset: Int, count: Int) throws(SystemFailure) -> ([UInt8], Int) {
        let file = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard file >= 0 else { throw SystemFailure(code: errno) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw SystemFailure(code: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegularFile }
        var bytes = [UInt8](repeating: 0, count: count)
        let done = pread(file, &bytes, count, off_t(offset))
        guard done >= 0 else { throw SystemFailure(code: errno) }
        return (Array(bytes.prefix(done)), Int(status.st_size))
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
    /// Where temporary files are: TMPDIR, or else /tmp.
    package static var temporaryPlace: String {
        let place = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        return place.isEmpty ? "/tmp" : place
    }

    /// Creates a directory there that only this user can enter, with a name that begins with `name`: mkdtemp(3).
    package static func makeTemporaryDirectory(_ name: String) throws(SystemFailure) -> String {
        var template = Array("\(temporaryPlace)/\(name)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemFailure(code: errno) }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

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
