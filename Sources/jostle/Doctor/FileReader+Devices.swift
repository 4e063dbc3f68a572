internal import Glibc
internal import LinuxSystem

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
