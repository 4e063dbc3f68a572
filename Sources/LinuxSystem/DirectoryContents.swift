internal import Glibc

/// A path without symbolic links (realpath(3)); `nil`, with errno set, if that cannot be found out.
package func realPath(_ path: String) -> String? {
    guard let target = realpath(path, nil) else { return nil }
    defer { free(target) }
    return String(cString: target)
}

/// Lists directories.
package enum DirectoryContents {
    /// The names in a directory in order, without `.` and `..`: opendir(3), readdir(3).
    ///
    /// - Throws: why it cannot be read.
    package static func names(_ path: String) throws(SystemFailure) -> [String] {
        guard let stream = opendir(path) else { throw SystemFailure(code: errno) }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        guard errno == 0 else { throw SystemFailure(code: errno) }
        return names.sorted()
    }

    /// The same; none if the directory cannot be read, which is not an error in /proc and /sys.
    package static func names(ofOptional path: String) -> [String] {
        do { return try names(path) } catch { return [] }
    }

    /// Whether a directory is at `path`: stat(2).
    package static func exists(_ path: String) -> Bool { status(path).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false }

    /// Whether a symbolic link is at `path`: lstat(2).
    package static func isLink(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    /// When a file was last changed, nanoseconds since 1970; `nil` if there is none.
    package static func modificationTime(_ path: String) -> Int64? {
        status(path).map { Int64($0.st_mtim.tv_sec) * 1_000_000_000 + Int64($0.st_mtim.tv_nsec) }
    }

    /// The permissions of a file; `nil` if there is none.
    package static func permissions(_ path: String) -> UInt32? { status(path).map { UInt32($0.st_mode) & 0o7777 } }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        return stat(path, &status) == 0 ? status : nil
    }
}
