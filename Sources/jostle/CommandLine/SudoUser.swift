internal import Glibc
internal import JostleCommandLine
internal import LinuxSystem

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
