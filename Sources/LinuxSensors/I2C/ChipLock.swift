internal import CLinuxI2C
internal import Glibc
internal import LinuxSystem

/// An exclusive lock on one chip, that is, on an address on an adapter.
///
/// i2c-dev lets any number of programs access a chip, and two agents that empty the same FIFO corrupt each other's
/// samples. The lock is on one byte of the device file, at the offset of the chip's address (`F_OFD_SETLK`), so that
/// programs can use other chips on the bus. Only a program that may open the device file can lock it. The lock belongs
/// to the adapter's descriptor, and the kernel releases it when that is closed, however the process ends. A descriptor of
/// its own would keep an unplugged adapter from being removed.
///
/// The kernel does not report who holds such a lock. The holder therefore has a `HolderAnnouncement` as well.
///
/// The lock is cooperative: it does not affect programs that do not use it. It belongs to the inode of the device file
/// and not to the device. Programs see it across users, network namespaces and mounts of the same /dev, but not if they
/// open another node of the device: one that mknod has made, or that of a container with its own /dev.
package enum ChipLock {
    /// The process that holds a lock.
    package struct Holder: Equatable, Sendable, CustomStringConvertible {
        /// The process; `nil` if it cannot be determined.
        package var processIdentifier: Int32?

        /// Its name; `nil` if it belongs to another process namespace, is hidden or has just ended.
        package var name: String?

        package init(processIdentifier: Int32? = nil, name: String? = nil) {
            self.processIdentifier = processIdentifier
            self.name = name
        }

        /// `jostle (process 412)`.
        package var description: String {
            guard let processIdentifier else { return "another process" }
            return "\(name ?? "another program") (process \(processIdentifier))"
        }
    }

    /// How hard to try.
    enum Attempts {
        /// Once. The error does not identify the holder.
        case one
        /// Up to 20 ms, because the holder may be exiting, or may not have announced itself yet. The error identifies it
        /// if possible.
        case several
        /// The same, and a holder that has announced itself gets the time, too.
        case patient
    }

    /// Who has locked a chip on this adapter; `nil` if it is free, or locked through this descriptor.
    static func holder(adapter descriptor: Int32, address: UInt8) -> Holder? {
        var process: Int32 = 0
        guard linux_i2c_is_locked(descriptor, address, &process) > 0 else { return nil }
        // Programs that are not ours may use a traditional lock, whose process the kernel reports.
        if process > 0 { return Holder(named: process) }
        guard let file = DeviceFile(descriptor: descriptor) else { return Holder() }
        return holder(LockSearch(file: file, offset: address))
    }

    /// Who holds a lock that another descriptor holds.
    private static func holder(_ search: LockSearch) -> Holder {
        announcedHolder(search) ?? search.holder().map { Holder(named: $0) } ?? Holder()
    }

    /// Locks a byte of an open file for as long as the file is open, and announces this process as the holder.
    ///
    /// - Returns: the announcement; `nil` if it failed. That affects only messages.
    static func acquire(
        _ descriptor: Int32, _ offset: UInt8, _ attempts: Attempts
    ) throws(FileLock.Failure) -> HolderAnnouncement? {
        let file = DeviceFile(descriptor: descriptor)
        for _ in 0..<(attempts == .one ? 1 : 20) {
            let answer = linux_i2c_lock(descriptor, offset)
            if answer == 0 {
                guard let file else { return nil }
                return HolderAnnouncement.make(file: file, address: offset)
            }
            guard answer == -EAGAIN || answer == -EACCES else { throw .system(SystemFailure(code: -answer)) }
            if attempts == .one { throw .inUse(by: Holder()) }
            if attempts == .several, let file, let holder = announcedHolder(LockSearch(file: file, offset: offset)) {
                throw .inUse(by: holder)
            }
            usleep(1000)
        }
        throw .inUse(by: holder(adapter: descriptor, address: offset) ?? Holder())
    }

    /// The process that announces itself as the holder of a lock that is held, if that can be true.
    ///
    /// Any process can make such an announcement, so it is compared with the locks that /proc lists for the process.
    /// Without permission to read those, the process is believed if its user or groups may open the device file. It then
    /// could hold the lock, and could keep others off the chip anyway.
    private static func announcedHolder(_ search: LockSearch) -> Holder? {
        guard let peer = HolderAnnouncement.peer(file: search.file, address: search.offset),
            search.isHolder(peer.process) ?? search.file.mayBeOpened(by: peer.user, in: peer.groups)
        else { return nil }
        return Holder(named: peer.process)
    }
}

extension ChipLock.Holder {
    /// A process of this process namespace.
    fileprivate init(named process: Int32) {
        processIdentifier = process
        name = SystemFiles.line(of: "/proc/\(process)/comm").map { ForeignText.oneLine($0) }
    }
}

/// A listening socket by which other processes can determine the process that has locked a chip.
///
/// Its name is abstract: `@jostle/6-337/0x68` for the chip at 0x68 on the device file with this device and inode. It
/// therefore leaves no file behind, and identifies a process to other users too, but only in the same network namespace.
///
/// Any process can use the name first, or ask so often that the queue is full. Then the lock is as good as before, and
/// only its holder cannot be identified in this way.
package struct HolderAnnouncement: ~Copyable {
    private let descriptor: Int32

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Announces this process as the holder; `nil` if the name is in use or the system cannot provide a socket.
    ///
    /// The kernel closes the descriptors of a process that ends in their order, so that the lock of the last holder may be
    /// released before its name. So this tries for about 50 ms, and calls `pause` in between, which waits for 1 ms.
    package static func make(
        file: DeviceFile, address: UInt8, pause: () -> Void = { usleep(1000) }
    ) -> HolderAnnouncement? {
        guard let name = name(file, address), case let descriptor = makeSocket(), descriptor >= 0 else { return nil }
        for attempt in 0...50 {
            if attempt > 0 { pause() }
            if name.bind(descriptor) == 0 {
                guard listen(descriptor, queueLength) == 0 else { break }
                return HolderAnnouncement(descriptor)
            }
            guard errno == EADDRINUSE else { break }
        }
        close(descriptor)
        return nil
    }

    /// A process that announces itself as the holder, with its credentials when it called listen.
    struct Peer {
        var process: Int32
        var user: UInt32
        /// With the main group.
        var groups: [UInt32]
    }

    /// The process that announces itself; `nil` if there is none, or if it cannot be determined: it belongs to another
    /// process namespace, or the queue is full.
    static func peer(file: DeviceFile, address: UInt8) -> Peer? {
        guard let name = name(file, address), case let descriptor = makeSocket(), descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // The holder never accepts connections. The kernel answers, until the queue is full.
        guard name.connect(descriptor) == 0 else { return nil }
        // struct ucred, which Glibc declares for _GNU_SOURCE only.
        var credentials: (process: pid_t, user: uid_t, group: gid_t) = (0, 0, 0)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0, credentials.process > 0
        else { return nil }
        return Peer(
            process: credentials.process, user: credentials.user,
            groups: [credentials.group] + supplementaryGroups(descriptor))
    }

    /// The other groups of a peer (`SO_PEERGROUPS`).
    private static func supplementaryGroups(_ descriptor: Int32) -> [gid_t] {
        // NGROUPS_MAX is 65536; a process rarely has more than some dozens.
        var groups = [gid_t](repeating: 0, count: 1024)
        var length = socklen_t(groups.count * MemoryLayout<gid_t>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, &groups, &length) == 0 else { return [] }
        return Array(groups.prefix(Int(length) / MemoryLayout<gid_t>.size))
    }

    /// How many queries the kernel answers before the queue is full; it is also the kernel's default limit
    /// (net.core.somaxconn).
    private static let queueLength: Int32 = 4096

    /// The name for a chip, the same for all paths to the device file of its bus.
    private static func name(_ file: DeviceFile, _ address: UInt8) -> UnixSocketAddress? {
        UnixSocketAddress("@jostle/\(file.device)-\(file.inode)/0x\(String(address, radix: 16))")
    }

    private static func makeSocket() -> Int32 {
        // Non-blocking, because connect would wait for room in a full queue.
        let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        return socket(AF_UNIX, Int32(type), 0)
    }
}

/// Finds the process that holds a lock on one byte of a file, by the locks that /proc lists for each open file
/// (proc_pid_fdinfo(5)).
///
/// Only root can read those of other users' processes.
struct LockSearch {
    let file: DeviceFile
    let offset: UInt8

    /// The first process that holds the lock; `nil` if none is found.
    func holder() -> Int32? {
        DirectoryContents.names(ofOptional: "/proc").compactMap { Int32($0) }.sorted().first { isHolder($0) == true }
    }

    /// Whether a process holds the lock; `nil` if that cannot be determined.
    func isHolder(_ process: Int32) -> Bool? {
        let names = DirectoryContents.names(ofOptional: "/proc/\(process)/fdinfo").filter { Int32($0) != nil }
        // It cannot be read, or there is no such process.
        guard !names.isEmpty else { return nil }
        var isKnown = true
        for name in names {
            let description: String
            do {
                description = try FileContents.text(of: "/proc/\(process)/fdinfo/\(name)", limit: 4096)
            } catch {
                // It may have been closed meanwhile.
                if error.code != ENOENT { isKnown = false }
                continue
            }
            let isListed = Self.locks(in: description).contains {
                $0.inode == file.inode && $0.range.contains(UInt64(offset))
            }
            guard isListed else { continue }
            // The same inode number may exist on another file system. Other files are not accessed, because a file of
            // a server that has gone might block.
            if DeviceFile(path: "/proc/\(process)/fd/\(name)")?.isSame(as: file) == true { return true }
        }
        return isKnown ? false : nil
    }

    /// A lock on a range of a file.
    struct Lock: Equatable {
        var inode: UInt64
        var range: ClosedRange<UInt64>
    }

    /// The locks in the description of an open file, that is, in lines such as
    /// `lock:  1: OFDLCK ADVISORY  WRITE -1 00:06:337 104 104`. Those of flock(2) are left out, which are independent.
    static func locks(in description: String) -> [Lock] {
        description.split(separator: "\n").compactMap { line in
            let words = line.split { $0 == " " || $0 == "\t" }
            guard words.count == 9, words[0] == "lock:", words[2] == "OFDLCK" || words[2] == "POSIX",
                let inode = words[6].split(separator: ":").last.flatMap({ UInt64($0) }),
                let first = UInt64(words[7]),
                let last = words[8] == "EOF" ? UInt64.max : UInt64(words[8]), first <= last
            else { return nil }
            return Lock(inode: inode, range: first...last)
        }
    }
}

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
