internal import Glibc

/// What identifies a device file, and who may open it: fstat(2).
package struct DeviceFile {
    let device: UInt64
    let inode: UInt64
    private let mode: UInt32
    private let user: UInt32
    private let group: UInt32

    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// The file at a path, without opening it.
    package init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        mode = UInt32(status.st_mode)
        user = status.st_uid
        group = status.st_gid
    }

    func isSame(as other: DeviceFile) -> Bool { device == other.device && inode == other.inode }

    /// Whether the file's permissions let a process with these credentials read or write it. Access control lists are not
    /// considered.
    func mayBeOpened(by user: UInt32, in groups: [UInt32]) -> Bool {
        if user == 0 { return true }
        if user == self.user { return mode & 0o600 != 0 }
        return mode & (groups.contains(group) ? 0o060 : 0o006) != 0
    }
}
