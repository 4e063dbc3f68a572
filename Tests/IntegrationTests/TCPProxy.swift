import BrokerTestSupport
import Foundation
import Synchronization

/// A TCP proxy between a client and a broker whose connections can be cut.
///
/// Call `end` when done. It lets a test decide which client reconnects first after a restart of the broker: subscriber
/// or publisher.
final class TCPProxy: Sendable {
    private struct State {
        var isCut = false
        var hasEnded = false
    }

    private final class Shared: Sendable {
        let state = Mutex(State())
    }

    /// The port to which the client connects.
    let port: UInt16
    private let shared = Shared()

    /// Creates a proxy for a port of this machine.
    init(to target: UInt16) throws {
        let listener = Socket()
        port = try Loopback.freePort()
        guard listener.withAddress(port, bind), listen(listener.descriptor, 16) == 0 else {
            throw TestBrokerError.noPort
        }
        let shared = shared
        Thread.detachNewThread { Self.carry(from: listener, to: target, shared) }
    }

    /// Stops the proxy.
    func end() { shared.state.withLock { $0.hasEnded = true } }

    /// Cuts all connections, and refuses new ones.
    func cut() { shared.state.withLock { $0.isCut = true } }

    /// Accepts new connections again.
    func restore() { shared.state.withLock { $0.isCut = false } }

    private static func carry(from listener: Socket, to target: UInt16, _ shared: Shared) {
        var peers: [Int32: (here: Socket, there: Socket)] = [:]
        while true {
            let state = shared.state.withLock { $0 }
            if state.hasEnded { return }
            if state.isCut { peers = [:] }
            var entries = ([listener.descriptor] + peers.keys).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&entries, nfds_t(entries.count), 10) > 0 else { continue }
            if entries[0].revents != 0 {
                let client = Socket(accept(listener.descriptor, nil, nil))
                let broker = Socket()
                if !state.isCut, broker.withAddress(target, connect) {
                    peers[client.descriptor] = (client, broker)
                    peers[broker.descriptor] = (broker, client)
                }
            }
            for entry in entries.dropFirst() where entry.revents != 0 {
                guard let pair = peers[entry.fd], !pair.there.forward(from: pair.here) else { continue }
                peers[pair.here.descriptor] = nil
                peers[pair.there.descriptor] = nil
            }
        }
    }

    /// A TCP socket that is closed with its last reference.
    private final class Socket: Sendable {
        let descriptor: Int32

        init(_ descriptor: Int32 = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)) {
            self.descriptor = descriptor
        }

        deinit {
            close(descriptor)
        }

        /// Binds or connects the socket to a port of this machine.
        func withAddress(
            _ port: UInt16, _ call: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32
        ) -> Bool {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    call(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
        }

        /// Forwards the available data; returns false at the end of the connection.
        func forward(from other: Socket) -> Bool {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = read(other.descriptor, &buffer, buffer.count)
            guard count > 0 else { return false }
            return send(descriptor, buffer, count, Int32(MSG_NOSIGNAL)) == count
        }
    }
}
