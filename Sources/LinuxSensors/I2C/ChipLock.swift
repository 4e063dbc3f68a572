internal import Glibc
internal import IMUDrivers
internal import LinuxSystem

/// The exclusive right to one chip: an address on an adapter. Given back where it goes out of scope.
///
/// i2c-dev lets any number of programs talk to a chip, and two agents that empty one FIFO ruin each other's samples.
/// Locking the device file would also keep programs off that use other chips of the bus. So the right is a listening
/// socket with an abstract name, `@jostle/i2c-1/0x68`: there is no file to be left behind or not to be writable, users do
/// not matter, the kernel gives it back however the process ends, and it tells the others who has it.
///
/// It binds those who ask for it within one network namespace: not programs that never ask, nor a container that has
/// a network of its own.
package struct ChipLock: ~Copyable {
    /// Who has a lock.
    package struct Holder: Equatable, Sendable, CustomStringConvertible {
        /// The process, nil where the kernel does not tell (too many have asked already).
        package var processIdentifier: Int32?

        /// Its name, nil where it is of another process namespace or has just ended.
        package var name: String?

        /// `jostle (process 412)`.
        package var description: String {
            guard let processIdentifier else { return "another process" }
            return "\(name ?? "another program") (process \(processIdentifier))"
        }
    }

    private let descriptor: Int32

    /// Takes the lock of a chip, without waiting for it.
    ///
    /// - Throws: `inUse` where somebody has it, also where that is this process; `cannotLock` where the system has no
    ///   socket to give.
    package init(device: String, address: UInt8) throws(LinuxSensorsError) {
        descriptor = try Self.acquire(device: device, address: address)
    }

    deinit {
        close(descriptor)
    }

    /// Who has the lock of a chip, nil where nobody has; it is not taken.
    package static func holder(device: String, address: UInt8) -> Holder? {
        switch ask(SocketAddress(abstractName: name(device: device, address: address))) {
        case .held(let holder): holder
        case .free, .unsettled: nil
        }
    }

    private static func acquire(device: String, address: UInt8) throws(LinuxSensorsError) -> Int32 {
        let place = SocketAddress(abstractName: name(device: device, address: address))
        let descriptor = stream()
        guard descriptor >= 0 else { throw cannotLock(SystemFailure(code: errno)) }
        var code = EADDRINUSE
        // A holder may be ending, or be between bind and listen: then who it is shows a moment later, or the name is
        // free.
        for _ in 0..<20 {
            if place.withPointer({ bind(descriptor, $0, $1) }) == 0, listen(descriptor, queueLength) == 0 {
                return descriptor
            }
            code = errno
            guard code == EADDRINUSE else { break }
            if case .held(let holder) = ask(place) {
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
        /// Bound, but not listening.
        case unsettled
    }

    /// Asks the kernel whose a name is: it keeps the credentials that a process had when it began to listen.
    private static func ask(_ place: SocketAddress) -> Answer {
        let descriptor = stream()
        guard descriptor >= 0 else { return .unsettled }
        defer { close(descriptor) }
        guard place.withPointer({ connect(descriptor, $0, $1) }) == 0 else {
            // The holder accepts nobody, so its queue fills with those who asked.
            if errno == EAGAIN { return .held(Holder()) }
            return errno == ECONNREFUSED ? .free : .unsettled
        }
        // struct ucred, which Glibc declares for _GNU_SOURCE only.
        var credentials: (process: pid_t, user: uid_t, group: gid_t) = (0, 0, 0)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0, credentials.process > 0
        else { return .held(Holder()) }
        let name = SystemFiles.line(of: "/proc/\(credentials.process)/comm")
        return .held(Holder(processIdentifier: credentials.process, name: name))
    }

    /// How many may ask before the kernel stops telling them who has the lock; it allows no more by default
    /// (net.core.somaxconn).
    private static let queueLength: Int32 = 4096

    private static func stream() -> Int32 {
        // Not blocking: connect would wait for room in a full queue.
        let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        return socket(AF_UNIX, Int32(type), 0)
    }

    /// One name for all paths that lead to a device file.
    static func name(device: String, address: UInt8) -> String {
        var path = Substring(SystemFiles.resolved(device) ?? device)
        if path.hasPrefix("/dev/") { path = path.dropFirst(5) }
        return "jostle/\(path)/0x\(String(address, radix: 16))"
    }
}

/// The address of a socket that has a name but no file.
private struct SocketAddress {
    private var storage = sockaddr_un()
    private let length: socklen_t

    /// Makes the address of `abstractName`; what does not fit, beyond 107 bytes, is left off at the front.
    init(abstractName: String) {
        storage.sun_family = sa_family_t(AF_UNIX)
        // The path begins with a zero byte, and the rest counts to the length that is given, not to the next zero.
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
