internal import Glibc
internal import JostleCommandLine
internal import LinuxSystem

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

/// Who called sudo.
enum SudoUser {
    /// The owner of a file that is for that user to attach; `nil` without sudo.
    static var owner: FileContents.Owner? {
        guard geteuid() == 0, let user = Configuration.variable("SUDO_UID").flatMap({ UInt32($0) }),
            let group = Configuration.variable("SUDO_GID").flatMap({ UInt32($0) })
        else { return nil }
        return FileContents.Owner(user: user, group: group)
    }
}

/// The services that `make install` and the package install: jostle.service, and an instance for each further file.
enum InstalledService {
    /// The name of the service that reads a file: jostle for /etc/jostle/jostle.yaml, and the instance left for
    /// /etc/jostle/left.yaml; `nil` for a file that no service reads.
    static func name(reading file: String) -> String? {
        let directory = "/etc/jostle/"
        guard file.hasPrefix(directory), file.hasSuffix(".yaml") else { return nil }
        let name = file.dropFirst(directory.count).dropLast(".yaml".count)
        return name.isEmpty || name.contains("/") ? nil : String(name)
    }

    /// Its state directory: /var/lib/jostle, and /var/lib/jostle/left for the instance left.
    static func stateDirectory(_ name: String) -> String {
        name == "jostle" ? "/var/lib/jostle" : "/var/lib/jostle/\(name)"
    }

    /// Its unit: jostle.service, and jostle@left.service for the instance left.
    static func unit(_ name: String) -> String { name == "jostle" ? "jostle.service" : "jostle@\(name).service" }

    /// The files of which one is there if a unit is installed: jostle@.service for jostle@left.service.
    static func unitFiles(_ unit: String) -> [String] {
        let file = unit.split(separator: "@").count == 2 ? "\(unit.prefix { $0 != "@" })@.service" : unit
        return ["/etc", "/usr/local/lib", "/usr/lib", "/lib"].map { "\($0)/systemd/system/\(file)" }
    }
}
