internal import Glibc

extension FileContents {
    /// Puts a file with this text in the place of the one at `path`, whole or not at all: written beside it under
    /// `temporary`, synchronised, then renamed (open(2), write(2), fsync(2), rename(2)).
    ///
    /// A file that was there passes its permissions on and, where this process may, its owner; else they are 0644.
    /// - Throws: what failed; the old file is then still there.
    public static func replace(_ path: String, with text: String, temporary: String) throws(SystemFailure) {
        var old = stat()
        let hasOld = stat(path, &old) == 0
        let file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw SystemFailure(code: errno) }
        if hasOld {
            // Only root can give a file away: who may not keeps it, with the group's rights as they were.
            _ = fchown(file, old.st_uid, old.st_gid)
            _ = fchmod(file, old.st_mode & 0o7777)
        }
        defer { _ = close(file) }
        do throws(SystemFailure) {
            try write(text, to: file)
            guard fsync(file) == 0, rename(temporary, path) == 0 else { throw SystemFailure(code: errno) }
        } catch {
            _ = unlink(temporary)
            throw error
        }
    }

    /// Writes everything.
    private static func write(_ text: String, to file: Int32) throws(SystemFailure) {
        var text = text
        let failure: SystemFailure? = text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Glibc.write(file, rest.baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return SystemFailure(code: count < 0 ? errno : EIO) }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            }
            return nil
        }
        if let failure { throw failure }
    }
}
