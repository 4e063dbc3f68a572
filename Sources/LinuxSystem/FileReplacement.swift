internal import Glibc

// Every file that must survive a power cut is written here.
extension FileContents {
    /// Replaces the file at `path` atomically: writes a temporary file beside it, syncs it, renames it and syncs the
    /// directory (open(2), write(2), fsync(2), rename(2)).
    ///
    /// The new file keeps the old one's permissions and, if this process may change it, the old one's owner, never those of
    /// the target of a link, which is replaced itself. Without an old one, or if `keepsMode` is false, it gets `mode`, whatever
    /// the umask; by default 0644 as far as the umask permits. The directory must exist.
    /// - Throws: the failure. The old file then still exists, unless only the sync of the directory failed.
    package static func replace(
        _ path: String, with contents: [UInt8], mode: UInt32? = nil, keepsMode: Bool = true
    ) throws(SystemFailure) {
        let (directory, name) = parts(of: path)
        let temporary = "\(directory)/.\(name).new"
        // Left by an interrupted write, or put there by another program. It must not be written through, and may be a
        // FIFO.
        guard unlink(temporary) == 0 || errno == ENOENT else { throw SystemFailure(code: errno) }
        do throws(SystemFailure) {
            try write(contents, to: temporary, inPlaceOf: path, mode: mode, keepsMode: keepsMode)
            guard rename(temporary, path) == 0 else { throw SystemFailure(code: errno) }
        } catch {
            _ = unlink(temporary)
            throw error
        }
        try synchronise(directory)
    }

    /// Who gets a new file.
    package struct Owner: Equatable, Sendable {
        package var user: UInt32
        package var group: UInt32

        package init(user: UInt32, group: UInt32) {
            self.user = user
            self.group = group
        }
    }

    /// Creates a file with these permissions, whatever the umask, and syncs it and its directory (open(2), write(2),
    /// fsync(2)). Only root may give it to another owner (fchown(2)).
    ///
    /// - Throws: the failure: `EEXIST` if there is a file already.
    package static func create(
        _ path: String, with contents: [UInt8], mode: UInt32, owner: Owner? = nil
    ) throws(SystemFailure) {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_t(mode) & 0o600)
        guard file >= 0 else { throw SystemFailure(code: errno) }
        do throws(SystemFailure) {
            defer { _ = close(file) }
            if let owner, fchown(file, owner.user, owner.group) != 0 { throw SystemFailure(code: errno) }
            guard fchmod(file, mode_t(mode)) == 0 else { throw SystemFailure(code: errno) }
            try write(contents, to: file)
        } catch {
            _ = unlink(path)
            throw error
        }
        try synchronise(parts(of: path).directory)
    }

    /// Removes a file and syncs the directory: unlink(2), fsync(2). A missing file is not an error.
    package static func remove(_ path: String) throws(SystemFailure) {
        guard unlink(path) == 0 else {
            if errno == ENOENT { return }
            throw SystemFailure(code: errno)
        }
        try synchronise(parts(of: path).directory)
    }

    /// Creates a directory and its missing parents, and syncs each: mkdir(2), fsync(2).
    ///
    /// A failure is not reported here: writing a file into the directory will fail.
    package static func makeDirectories(_ path: String) {
        var isMade = mkdir(path, 0o755) == 0
        if !isMade, errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            makeDirectories(String(path[..<slash]))
            isMade = mkdir(path, 0o755) == 0
        }
        // If this fails, the sync of the file's own directory may still succeed, and that is the one that matters.
        if isMade { do { try synchronise(parts(of: path).directory) } catch {} }
    }

    /// Creates a directory that only this user can enter, and its missing parents: mkdir(2). One that exists stays as it is.
    package static func makePrivateDirectory(_ path: String) throws(SystemFailure) {
        makeDirectories(parts(of: path).directory)
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SystemFailure(code: errno) }
    }

    /// What lets others take a secret that is written into a directory, or lead it elsewhere.
    package struct Danger {
        package var part: String
        package var reason: String
        /// Whether it is the permissions, which this user can change.
        package var isMode = false
    }

    /// Which part of a directory's path is a danger, and why (lstat(2)); `nil` if none is. It looks at every part, from the
    /// root on, and at the parts of the path to which a link of root or of this user leads. A missing one is no danger: this
    /// process will create it.
    package static func danger(ofDirectory path: String) -> Danger? { danger(ofDirectory: path, links: 40) }

    private static func danger(ofDirectory path: String, links: Int) -> Danger? {
        var start = ""
        if !path.hasPrefix("/") {
            guard let working = realPath(".") else { return Danger(part: ".", reason: systemMessage(errno)) }
            start = "\(working)/"
        }
        let names = "\(start)\(path)".split(separator: "/")
        for count in 0...names.count {
            let part = "/" + names.prefix(count).joined(separator: "/")
            var status = stat()
            guard lstat(part, &status) == 0 else {
                return errno == ENOENT ? nil : Danger(part: part, reason: systemMessage(errno))
            }
            let isLast = count == names.count
            if status.st_mode & S_IFMT == S_IFLNK, !isLast, [0, geteuid()].contains(status.st_uid) {
                guard links > 0 else { return Danger(part: part, reason: systemMessage(ELOOP)) }
                guard let target = linkTarget(part) else { return Danger(part: part, reason: systemMessage(errno)) }
                let folder = target.hasPrefix("/") ? "" : "\(parts(of: part).directory)/"
                let rest = names.dropFirst(count).joined(separator: "/")
                return danger(ofDirectory: "\(folder)\(target)/\(rest)", links: links - 1)
            }
            if let danger = danger(part, status, isLast: isLast) { return danger }
        }
        return nil
    }

    private static func danger(_ part: String, _ status: stat, isLast: Bool) -> Danger? {
        switch status.st_mode & S_IFMT {
        case S_IFLNK: return Danger(part: part, reason: "is a symbolic link")
        case S_IFDIR: break
        default: return Danger(part: part, reason: systemMessage(ENOTDIR))
        }
        if status.st_uid != geteuid(), status.st_uid != 0 {
            let name = getpwuid(status.st_uid).flatMap { $0.pointee.pw_name }.map { String(cString: $0) }
            return Danger(part: part, reason: "belongs to \(name ?? "the user with the number \(status.st_uid)")")
        }
        let mode = status.st_mode & 0o7777
        let others: mode_t = mode & 0o020 != 0 && isPrivateGroup(status) ? 0o002 : 0o022
        // In a sticky directory, such as /tmp, others can neither rename nor remove the next part, which is not theirs.
        guard mode & others != 0, isLast || mode & S_ISVTX == 0 else { return nil }
        let reason = "others may write to it (mode \(String(mode, radix: 8)))"
        return Danger(part: part, reason: reason, isMode: mode & S_ISVTX == 0)
    }

    /// Whether the group of a file is that of its owner alone (getgrgid(3)), as Debian makes one for every user.
    private static func isPrivateGroup(_ status: stat) -> Bool {
        guard let owner = getpwuid(status.st_uid)?.pointee, owner.pw_gid == status.st_gid, let name = owner.pw_name,
            let group = getgrgid(status.st_gid)?.pointee, strcmp(group.gr_name, name) == 0
        else { return false }
        var member = group.gr_mem
        while let other = member?.pointee {
            guard strcmp(other, name) == 0 else { return false }
            member = member?.advanced(by: 1)
        }
        return true
    }

    /// Where a link leads: readlink(2).
    private static func linkTarget(_ path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &bytes, bytes.count)
        return count < 0 ? nil : String(decoding: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The directory part of a path, and its last component.
    package static func parts(of path: String) -> (directory: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        let name = String(path[path.index(after: slash)...])
        return (slash == path.startIndex ? "/" : String(path[..<slash]), name)
    }

    /// Writes a new file and synchronises it.
    private static func write(
        _ contents: [UInt8], to temporary: String, inPlaceOf path: String, mode: UInt32?, keepsMode: Bool
    ) throws(SystemFailure) {
        var old = stat()
        // Not stat(2): whoever can put a link here would choose the owner and the permissions of what root writes.
        let kind = lstat(path, &old) == 0 ? old.st_mode & S_IFMT : 0
        let hasOld = kind == S_IFREG && keepsMode
        // Until the file has the old one's permissions, other users must not read it.
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, hasOld || mode != nil ? 0o600 : 0o644)
        guard file >= 0 else { throw SystemFailure(code: errno) }
        defer { _ = close(file) }
        // Only root may change the owner. Otherwise the file belongs to this process's user; the mode stays.
        if hasOld || kind == S_IFLNK && mode == nil { _ = fchown(file, old.st_uid, old.st_gid) }
        if hasOld {
            _ = fchmod(file, old.st_mode & 0o777)
        } else if let mode, fchmod(file, mode_t(mode)) != 0 {
            throw SystemFailure(code: errno)
        }
        try write(contents, to: file)
    }

    /// Writes to an open file and synchronises it.
    private static func write(_ contents: [UInt8], to file: Int32) throws(SystemFailure) {
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

    /// Syncs a directory, without which a rename may be lost.
    private static func synchronise(_ directory: String) throws(SystemFailure) {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // A writable directory need not be readable.
        guard descriptor >= 0 else {
            if errno == EACCES { return }
            throw SystemFailure(code: errno)
        }
        defer { _ = close(descriptor) }
        // EINVAL: the file system does not support it.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw SystemFailure(code: errno) }
    }
}
