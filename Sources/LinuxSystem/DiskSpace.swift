internal import CLinuxSystem
internal import Glibc

/// The room on a file system: statvfs(3).
package struct DiskSpace: Equatable, Sendable {
    /// The bytes that an ordinary user may still write, and all bytes.
    package let free: Double
    package let total: Double
    /// The files that can still be made; `nil` if the file system has no limit.
    package let freeFiles: UInt64?
    package let isReadOnly: Bool
}

extension DiskSpace {
    /// That of the file system that contains `path`.
    ///
    /// - Throws: if there is no such file or directory.
    package init(of path: String) throws(SystemFailure) {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { throw SystemFailure(code: errno) }
        self.init(
            free: Double(status.f_bavail) * Double(status.f_frsize),
            total: Double(status.f_blocks) * Double(status.f_frsize),
            freeFiles: status.f_files > 0 ? UInt64(status.f_favail) : nil,
            isReadOnly: status.f_flag & UInt(ST_RDONLY) != 0)
    }
}
