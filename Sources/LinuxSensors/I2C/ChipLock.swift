internal import Glibc
internal import IMUDrivers
internal import LinuxSystem

/// An exclusive lock on one chip, that is, on an address on an adapter. It is released at the end of the value's
/// lifetime.
///
/// i2c-dev lets any number of programs access a chip, and two agents that empty the same FIFO corrupt each other's
/// samples. Locking the device file would also block programs that use other chips on the bus. The lock is therefore a
/// listening socket with an abstract name, `@jostle/i2c-1/0x68`. It needs no file that could be left behind or be
/// read-only, works across users, is released by the kernel however the process ends, and identifies its holder to
/// other processes.
///
/// The lock is cooperative, and is limited to one network namespace: it does not affect programs that do not use it,
/// nor a container with a separate network.
package struct ChipLock: ~Copyable {
    /// The process that holds a lock.
    package struct Holder: Equatable, Sendable, CustomStringConvertible {
        /// The process; `nil` if the kernel does not report it because the queue of connections is full.
        package var processIdentifier: Int32?

        /// Its name; `nil` if it belongs to another process namespace or has just ended.
        package var name: String?

        /// `jostle (process 412)`.
        package var description: String {
            guard let processIdentifier else { return "another process" }
            return "\(name ?? "another program") (process \(processIdentifier))"
        }
    }

    private let descriptor: Int32

    /// Acquires the lock of a chip without waiting.
    ///
    /// - Throws: `inUse` if another process or this one holds the lock; `cannotLock` if the system cannot provide a
    ///   socket.
    package init(device: String, address: UInt8) throws(LinuxSensorsError) {
        descriptor = try Self.acquire(device: device, address: address)
    }

    deinit {
        close(descriptor)
    }

    /// The holder of a chip's lock; `nil` if it is free. The lock is not acquired.
    package static func holder(device: String, address: UInt8) -> Holder? {
        switch queryHolder(SocketAddress(abstractName: name(device: device, address: address))) {
        case .held(let holder): holder
        case .free, .notListening: nil
        }
    }

    private static func acquire(device: String, address: UInt8) throws(LinuxSensorsError) -> Int32 {
        let place = SocketAddress(abstractName: name(device: device, address: address))
        let descriptor = makeSocket()
        guard descriptor >= 0 else { throw cannotLock(SystemFailure(code: errno)) }
        var code = EADDRINUSE
        // The holder may be exiting, or be between bind and listen. A moment later the holder can be identified, or the
        // name is free.
        for _ in 0..<20 {
            if place.withPointer({ bind(descriptor, $0, $1) }) == 0, listen(descriptor, queueLength) == 0 {
                return descriptor
            }
            code = errno
            guard code == EADDRINUSE else { break }
            if case .held(let holder) = queryHolder(place) {
                close(descriptor)
                throw inUse(by: holder)
            }
            usleep(1000)
        }
        close(descriptor)
        throw code == EADDRINUSE ? inUse(by: Holder()) : cannotLock(SystemFailure(code: code))

        func inUse(by holder: Holder) -> LinuxSensorsError {
            LinuxSensorsError(.inUse(by: holder), device: device, address: address, BusError(.busy, code: EBUSY))
        }

        func cannotLock(_ failure: SystemFailure) -> LinuxSensorsError {
            LinuxSensorsError(.cannotLock, device: device, address: address, .opening(failure))
        }
    }

    private enum Answer {
        case held(Holder)
        case free
        /// Bound but not listening yet.
        case notListening
    }

    /// Determines the holder of a name. The kernel keeps the credentials that a process had when it called listen.
    private static func queryHolder(_ place: SocketAddress) -> Answer {
        let descriptor = makeSocket()
        guard descriptor >= 0 else { return .notListening }
        defer { close(descriptor) }
        guard place.withPointer({ connect(descriptor, $0, $1) }) == 0 else {
            // The holder never accepts connections, so its queue fills up with these queries.
            if errno == EAGAIN { return .held(Holder()) }
            return errno == ECONNREFUSED ? .free : .notListening
        }
        // struct ucred, which Glibc declares for _GNU_SOURCE only.
        var credentials: (process: pid_t, user: uid_t, group: gid_t) = (0, 0, 0)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0, credentials.process > 0
        else { return .held(Holder()) }
        let name = SystemFiles.line(of: "/proc/\(credentials.process)/comm")
        return .held(Holder(processIdentifier: credentials.process, name: name))
    }

    /// How many queries the kernel answers before the queue is full; it is also the kernel's default limit
    /// (net.core.somaxconn).
    private static let queueLength: Int32 = 4096

    private static func makeSocket() -> Int32 {
        // Non-blocking, because connect would wait for room in a full queue.
        let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        return socket(AF_UNIX, Int32(type), 0)
    }

    /// The same name for all paths that lead to a device file.
    static func name(device: String, address: UInt8) -> String {
        var path = Substring(SystemFiles.resolved(device) ?? device)
        if path.hasPrefix("/dev/") { path = path.dropFirst(5) }
        return "jostle/\(path)/0x\(String(address, radix: 16))"
    }
}

/// The address of a Unix socket with an abstract name.
private struct SocketAddress {
    private var storage = sockaddr_un()
    private let length: socklen_t

    /// Creates the address of `abstractName`. If it exceeds 107 bytes, its beginning is cut off.
    init(abstractName: String) {
        storage.sun_family = sa_family_t(AF_UNIX)
        // The path begins with a zero byte. The name then extends to the given length, not to the next zero.
        let name = abstractName.utf8.suffix(MemoryLayout.size(ofValue: storage.sun_path) - 1)
        withUnsafeMutableBytes(of: &storage.sun_path) { path in
            UnsafeMutableRawBufferPointer(rebasing: path.dropFirst()).copyBytes(from: name)
        }
        length = socklen_t(MemoryLayout<sa_family_t>.size + 1 + name.count)
    }

    func withPointer(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        withUnsafePointer(to: storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}
