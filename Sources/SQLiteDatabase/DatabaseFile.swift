internal import Glibc
package import LinuxSystem

/// Moves the file of a database and its log, while no connection has it open.
package enum DatabaseFile {
    /// Why a path is not a readable file; `nil` if it is one, or if nothing exists there. SQLite would block on a FIFO until
    /// the other end is opened.
    package static func refusal(of path: String) -> SystemFailure? {
        do {
            _ = try FileContents.bytes(of: path, limit: 0)
            return nil
        } catch {
            return error.code == ENOENT ? nil : error
        }
    }

    /// Moves a file and its log. The log goes first: without its file it would be lost.
    ///
    /// - Returns: why the file cannot be moved; then it is where it was.
    package static func move(_ path: String, to aside: String) -> SystemFailure? {
        unlink(path + "-shm")
        let hasLog = access(path + "-wal", F_OK) == 0
        if hasLog, rename(path + "-wal", aside + "-wal") != 0 { return SystemFailure(code: errno) }
        guard rename(path, aside) != 0 else { return nil }
        let failure = SystemFailure(code: errno)
        if hasLog { rename(aside + "-wal", path + "-wal") }
        return failure
    }

    /// Moves a damaged file to where the last one is, which it replaces. Returns whether that succeeded; otherwise the
    /// file is deleted.
    package static func setAside(_ path: String, as aside: String) -> Bool {
        if move(path, to: aside) == nil { return true }
        delete(path)
        return false
    }

    /// Deletes a file and its log.
    package static func delete(_ path: String) {
        // A log without its file would be read into the next file of this name.
        for suffix in ["-wal", "-shm", ""] { unlink(path + suffix) }
    }
}
