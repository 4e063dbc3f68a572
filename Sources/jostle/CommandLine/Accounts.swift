internal import Glibc

/// The users and groups of this machine.
enum Accounts {
    /// A name for a user: getpwuid(3).
    static func user(_ id: uid_t) -> String {
        getpwuid(id).flatMap { $0.pointee.pw_name }.map { String(cString: $0) } ?? "\(id)"
    }

    /// A name for a group: getgrgid(3).
    static func group(_ id: gid_t) -> String {
        getgrgid(id).flatMap { $0.pointee.gr_name }.map { String(cString: $0) } ?? "\(id)"
    }

    /// The groups of a user, with the primary one: getgrouplist(3); `nil` if there are more than 256.
    static func groups(of user: String, primary: gid_t) -> [gid_t]? {
        var ids = [gid_t](repeating: 0, count: 256)
        var count = Int32(ids.count)
        return getgrouplist(user, primary, &ids, &count) >= 0 ? Array(ids.prefix(Int(count))) : nil
    }
}
