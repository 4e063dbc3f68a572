internal import Glibc
internal import LinuxSystem

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

        /// Whether it may open a file.
        func mayOpen(_ file: DeviceFile) -> Bool {
            file.mayBeOpened(by: user, in: groups)
        }
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
