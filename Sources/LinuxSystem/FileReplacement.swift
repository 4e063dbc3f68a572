internal import Glibc

// Every file that must outlive a power cut is written here.
extension FileContents {
    /// Puts a file with these contents in the place of the one at `path`, whole or not at all: written beside it,
    /// synchronised, renamed, and the directory synchronised (open(2), write(2), fsync(2), rename(2)).
    ///
    /// A file that was there passes its permissions on and, if this process may give files away, its owner; else they
    /// are 0644. The directory must exist.
    /// - Throws: what failed; the old file is then still there, unless it was the directory that could not be synchronised.
    package static func replace(_ path: String, with contents: [UInt8]) throws(SystemFailure) {
        let (directory, name) = parts(of: path)
        let temporary = "\(directory)/.\(name).new"
        // What an interrupted write left there, or somebody put there: it is not to be written through or waited for.
        guard unlink(temporary) == 0 || errno == ENOENT else { throw SystemFailure(code: errno) }
        do throws(SystemFailure) {
            try write(contents, to: temporary, inPlaceOf: path)
            guard rename(temporary, path) == 0 else { throw SystemFailure(code: errno) }
        } catch {
            _ = unlink(temporary)
            throw error
        }
        try synchronise(directory)
    }

    /// Removes a file for good; one that is not there is no failure: unlink(2), fsync(2).
    package static func remove(_ path: String) throws(SystemFailure) {
        guard unlink(path) == 0 else {
            if errno == ENOENT { return }
            throw SystemFailure(code: errno)
        }
        try synchronise(parts(of: path).directory)
    }

    /// Makes a directory and those above it, each for good; what exists already is left alone: mkdir(2), fsync(2).
    ///
    /// What cannot be made is no error here: it is one when a file is written there.
    package static func makeDirectories(_ path: String) {
        var isMade = mkdir(path, 0o755) == 0
        if !isMade, errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            makeDirectories(String(path[..<slash]))
            isMade = mkdir(path, 0o755) == 0
        }
        // If it fails, the file's own directory may still be synchronised: it is the one that counts.
        if isMade { do throws(SystemFailure) { try synchronise(parts(of: path).directory) } catch {} }
    }

    /// The directory that a path's last part lies in, and that part.
    package static func parts(of path: String) -> (directory: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        let name = String(path[path.index(after: slash)...])
        return (slash == path.startIndex ? "/" : String(path[..<slash]), name)
    }

    /// Writes a new file and synchronises it.
    private static func write(
        _ contents: [UInt8], to temporary: String, inPlaceOf path: String
    ) throws(SystemFailure) {
        var old = stat()
        let hasOld = stat(path, &old) == 0 && old.st_mode & S_IFMT == S_IFREG
        // Until it has the old one's permissions, nobody else may read it.
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, hasOld ? 0o600 : 0o644)
        guard file >= 0 else { throw SystemFailure(code: errno) }
        defer { _ = close(file) }
        if hasOld {
            // Only root can give a file away: who may not keeps it, with the group's rights as they were.
            _ = fchown(file, old.st_uid, old.st_gid)
            _ = fchmod(file, old.st_mode & 0o7777)
        }
        var done = 0
        while done < contents.count {
            let count = contents.withUnsafeBytes { bytes in
                Glibc.write(file, bytes.baseAddress.map { $0 + done }, bytes.count - done)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemFailure(code: count < 0 ? errno : EIO) }
            done += count
        }
        guard fsync(file) == 0 else { throw SystemFailure(code: errno) }
    }

    /// Makes sure that a directory's entries are on the disk: a rename is not before.
    private static func synchronise(_ directory: String) throws(SystemFailure) {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // Who may write into a directory need not be allowed to read it.
        guard descriptor >= 0 else {
            if errno == EACCES { return }
            throw SystemFailure(code: errno)
        }
        defer { _ = close(descriptor) }
        // EINVAL: a file system that has no such thing.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw SystemFailure(code: errno) }
    }
}
