internal import Glibc
internal import LinuxSystem

extension FileReader {
    /// The user of this name, with its groups (getpwnam(3), getgrouplist(3)) and those that the service gives it in
    /// addition; `nil` if there is no such user, or if this process runs as that user.
    static func of(user: String, groups added: [String]) -> FileReader? {
        guard let entry = getpwnam(user), entry.pointee.pw_uid != geteuid() else { return nil }
        let (identifier, group) = (entry.pointee.pw_uid, entry.pointee.pw_gid)
        var count: Int32 = 64
        var groups = [gid_t](repeating: 0, count: Int(count))
        let isWhole = getgrouplist(user, group, &groups, &count) >= 0
        let own = isWhole ? Array(groups.prefix(Int(count))) : [group]
        let others = added.compactMap { name in getgrnam(name).map { $0.pointee.gr_gid } }
        return FileReader(name: user, user: identifier, groups: Set(own + others))
    }

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
