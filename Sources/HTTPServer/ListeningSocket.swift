internal import Glibc
package import LinuxSystem

/// A TCP socket that accepts connections: socket(2), bind(2), listen(2).
package final class ListeningSocket {
    /// Why it could not be opened.
    package enum Failure: Error, Equatable, Sendable {
        /// The host has no address.
        case resolution(String)
        case system(SystemFailure)
    }

    private let descriptor: Int32
    private var isOwner = true

    /// The numeric address; the port that the system has chosen if 0 was asked for.
    package let address: ListeningAddress

    /// Whether only this machine can connect.
    package var isLoopback: Bool { ListeningSocket.isLoopback(address.host) }

    /// Opens a socket at the first address of the host.
    package init(_ wanted: ListeningAddress) throws(Failure) {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(wanted.host, "\(wanted.port)", &hints, &list)
        defer { freeaddrinfo(list) }
        guard code == 0, let info = list else {
            throw .resolution(gai_strerror(code).map { String(cString: $0) } ?? "no address")
        }
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(info.pointee.ai_family, type, 0)
        guard descriptor >= 0 else { throw .system(SystemFailure(code: errno)) }
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        guard bind(descriptor, info.pointee.ai_addr, info.pointee.ai_addrlen) == 0, listen(descriptor, 128) == 0 else {
            let failure = SystemFailure(code: errno)
            close(descriptor)
            throw .system(failure)
        }
        self.descriptor = descriptor
        address = ListeningSocket.localAddress(descriptor) ?? wanted
    }

    deinit { if isOwner { close(descriptor) } }

    /// Hands the descriptor over: whoever takes it closes it.
    func release() -> Int32 {
        isOwner = false
        return descriptor
    }

    /// The address of a socket: getsockname(2).
    private static func localAddress(_ descriptor: Int32) -> ListeningAddress? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                getsockname(descriptor, address, &size) == 0 ? numeric(address, size) : nil
            }
        }
    }

    /// Whether a numeric address is one of the loopback device: 127.0.0.0/8, ::1, and the former written as IPv6 (RFC 4291,
    /// section 2.5.5.2), which a socket for both families reports.
    static func isLoopback(_ numeric: String) -> Bool {
        numeric == "::1" || numeric.hasPrefix("127.") || numeric.hasPrefix("::ffff:127.")
    }

    /// An address as text: getnameinfo(3).
    static func numeric(_ address: UnsafePointer<sockaddr>, _ size: socklen_t) -> ListeningAddress? {
        var host = [CChar](repeating: 0, count: 64)
        var port = [CChar](repeating: 0, count: 16)
        guard
            getnameinfo(
                address, size, &host, socklen_t(host.count), &port, socklen_t(port.count),
                NI_NUMERICHOST | NI_NUMERICSERV) == 0,
            let name = host.withUnsafeBufferPointer({ $0.baseAddress.map { String(cString: $0) } }),
            let number = port.withUnsafeBufferPointer({ $0.baseAddress.flatMap { UInt16(String(cString: $0)) } })
        else { return nil }
        return ListeningAddress(host: name, port: number)
    }
}
