internal import Glibc
internal import LinuxSystem

/// The user that will read the files of a configuration: this process, or the service's user.
struct FileReader {
    /// The name of the user; `nil` for this process.
    let name: String?
    private let user: uid_t
    private let groups: Set<gid_t>
    /// Directories that it does not see.
    private let hidden: [String]

    /// This process.
    static let ownProcess = FileReader(name: nil, user: 0, groups: [])

    init(name: String?, user: uid_t, groups: Set<gid_t>, hidden: [String] = []) {
        self.name = name
        self.user = user
        self.groups = groups
        self.hidden = hidden
    }

    /// The user of the service, `jostle`; `nil` if there is none, or if this process runs as that user.
    static func ofService() -> FileReader? {
        // ProtectHome= and PrivateTmp= in the unit.
        of(user: "jostle", hidden: ["/home", "/root", "/run/user", "/tmp", "/var/tmp"])
    }

    /// The user of this name (getpwnam(3)), with its groups and those that the service gives it in addition; `nil` if there
    /// is no such user, or if this process runs as that user.
    static func of(user: String, groups added: [String] = [], hidden: [String] = []) -> FileReader? {
        guard let entry = getpwnam(user), entry.pointee.pw_uid != geteuid() else { return nil }
        let (identifier, primary) = (entry.pointee.pw_uid, entry.pointee.pw_gid)
        let own = Accounts.groups(of: user, primary: primary) ?? [primary]
        let others = added.compactMap { name in getgrnam(name).map { $0.pointee.gr_gid } }
        return FileReader(name: user, user: identifier, groups: Set(own + others), hidden: hidden)
    }

    /// Why a file cannot be read.
    enum Obstacle: Equatable {
        /// What is in the way: a clause that follows the path.
        case refused(String)
        /// This process cannot find out.
        case unknown(String)
    }

    /// What keeps the user from reading the file at an absolute path; `nil` if nothing does.
    ///
    /// For another user this follows from owner, group and mode of the file and of the directories above it, and of those
    /// to which a symbolic link leads.
    func obstacle(to path: String, isDirectory: Bool = false) -> Obstacle? {
        guard let name else {
            guard access(path, isDirectory ? R_OK | X_OK : R_OK) != 0 else { return nil }
            return .refused(String(cString: strerror(errno)))
        }
        guard let target = realPath(path) else {
            let reason = String(cString: strerror(errno))
            return errno == EACCES ? .unknown("\(reason); use sudo to check it") : .refused(reason)
        }
        for directory in hidden where target.hasPrefix("\(directory)/") {
            return .refused("the service does not see \(directory); move it to /etc/jostle")
        }
        for directory in FileReader.directories(above: path) + FileReader.directories(above: target) {
            if let obstacle = obstacle(
                at: directory, needs: 0o1, otherwise: "the user \(name) may not enter \(directory)")
            {
                return obstacle
            }
        }
        return obstacle(
            at: target, needs: isDirectory ? 0o5 : 0o4, otherwise: "the user \(name) may not read it",
            remedy: "run sudo chgrp \(name) \(target) && sudo chmod g+\(isDirectory ? "rx" : "r") \(target)")
    }

    private func obstacle(
        at path: String, needs bits: mode_t, otherwise reason: String, remedy: String? = nil
    ) -> Obstacle? {
        var found = stat()
        guard stat(path, &found) == 0 else { return .unknown(String(cString: strerror(errno))) }
        guard !allows(found, bits) else { return nil }
        // A list may permit it to this user.
        if AccessList.exists(at: path) { return .unknown("\(path) has an access control list") }
        return .refused("\(reason), \(description(of: found))" + (remedy.map { "; \($0)" } ?? ""))
    }

    /// The directories that lead to an absolute path, from the root.
    private static func directories(above path: String) -> [String] {
        let names = path.split(separator: "/")
        return (0..<names.count).map { "/" + names.prefix($0).joined(separator: "/") }
    }

    /// Whether the mode bits of a file grant all of `bits`: 4 reads, 1 enters a directory. As in the kernel, only the
    /// first class that fits counts: owner, group, others.
    func allows(_ status: stat, _ bits: mode_t) -> Bool {
        let shift: mode_t = status.st_uid == user ? 6 : groups.contains(status.st_gid) ? 3 : 0
        return status.st_mode >> shift & bits == bits
    }

    /// Owner, group and mode: a clause.
    func description(of status: stat) -> String {
        let mode = String(status.st_mode & 0o777, radix: 8)
        return "which belongs to \(Accounts.user(status.st_uid)):\(Accounts.group(status.st_gid)), mode \(mode)"
    }
}

extension FileReader {
    static func exists(user: String) -> Bool { getpwnam(user) != nil }

    /// What keeps the user from reading and writing a device file, or from creating files in a directory; `nil` if nothing
    /// does.
    func obstacle(toOpening path: String, isDirectory: Bool = false) -> Obstacle? {
        obstacle(to: path, bits: isDirectory ? 0o7 : 0o6)
    }

    /// The same for a device file that is only read, of a kernel driver.
    func obstacle(toReading path: String) -> Obstacle? { obstacle(to: path, bits: 0o4) }

    private func obstacle(to path: String, bits: mode_t) -> Obstacle? {
        guard name != nil else {
            guard access(path, Int32(bits)) != 0 else { return nil }
            return .refused(String(cString: strerror(errno)))
        }
        var found = stat()
        guard stat(path, &found) == 0 else {
            let reason = String(cString: strerror(errno))
            return errno == EACCES ? .unknown(reason) : .refused(reason)
        }
        guard !allows(found, bits) else { return nil }
        // A list may permit it to this user.
        if AccessList.exists(at: path) { return .unknown("it has an access control list") }
        return .refused("the user \(name ?? "") may not open it, \(description(of: found))")
    }
}
