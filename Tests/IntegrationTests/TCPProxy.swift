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

    /// How the proxy makes mosquitto behave as another make of broker.
    enum Quirk {
        /// Closes the connection on a CONNECT of MQTT 5, as RabbitMQ 3.10 does.
        case closesOnVersion5
        /// Leaves it unanswered, as amqtt does.
        case ignoresVersion5
        /// Sends no retained messages for filters with a wildcard, as RabbitMQ does.
        case withholdsRetained
    }

    /// Creates a proxy for a port of this machine.
    init(to target: UInt16, _ quirk: Quirk? = nil) throws {
        let listener = Socket()
        port = try Loopback.freePort()
        guard listener.withAddress(port, bind), listen(listener.descriptor, 16) == 0 else {
            throw TestBrokerError.noPort
        }
        let shared = shared
        Thread.detachNewThread { Self.carry(from: listener, to: target, quirk, shared) }
    }

    /// Stops the proxy.
    func end() { shared.state.withLock { $0.hasEnded = true } }

    /// Cuts all connections, and refuses new ones.
    func cut() { shared.state.withLock { $0.isCut = true } }

    /// Accepts new connections again.
    func restore() { shared.state.withLock { $0.isCut = false } }

    private static func carry(from listener: Socket, to target: UInt16, _ quirk: Quirk?, _ shared: Shared) {
        var peers: [Int32: (here: Socket, there: Socket, filter: PacketFilter?)] = [:]
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
                    let filter = quirk.map { PacketFilter($0, client: client.descriptor) }
                    peers[client.descriptor] = (client, broker, filter)
                    peers[broker.descriptor] = (broker, client, filter)
                }
            }
            for entry in entries.dropFirst() where entry.revents != 0 {
                guard let pair = peers[entry.fd], !pair.there.forward(from: pair.here, pair.filter) else { continue }
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
        func forward(from other: Socket, _ filter: PacketFilter?) -> Bool {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = read(other.descriptor, &buffer, buffer.count)
            guard count > 0 else { return false }
            guard let filter else { return send(Array(buffer[..<count])) }
            guard let (onward, back) = filter.pass(buffer[..<count], isFromClient: other.descriptor == filter.client)
            else { return false }
            return send(onward) && other.send(back)
        }

        private func send(_ bytes: [UInt8]) -> Bool {
            bytes.isEmpty || Foundation.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
        }
    }

    /// The packets of one connection, as another make of broker would handle them.
    private final class PacketFilter {
        /// The descriptor of the client.
        let client: Int32
        private let quirk: Quirk
        private var fromClient: [UInt8] = []
        private var fromBroker: [UInt8] = []
        private var isVersion5 = false
        private var isIgnored = false
        /// The filters without a wildcard that were subscribed to.
        private var topics: Set<String> = []

        init(_ quirk: Quirk, client: Int32) {
            self.quirk = quirk
            self.client = client
        }

        /// What to send onward, and what back; `nil` to close the connection.
        func pass(_ bytes: ArraySlice<UInt8>, isFromClient: Bool) -> (onward: [UInt8], back: [UInt8])? {
            var (onward, back): ([UInt8], [UInt8]) = ([], [])
            if isFromClient {
                fromClient += bytes
                while let packet = HostileBroker.takePacket(from: &fromClient) {
                    guard takeFromClient(packet) else { return nil }
                    if !isIgnored { onward += packet }
                }
            } else {
                fromBroker += bytes
                while let packet = HostileBroker.takePacket(from: &fromBroker) {
                    if let acknowledgement = withheld(packet) { back += acknowledgement } else { onward += packet }
                }
            }
            return (onward, back)
        }

        private func takeFromClient(_ packet: [UInt8]) -> Bool {
            switch packet[0] >> 4 {
            case 1:
                isVersion5 = FakeBroker.level(of: packet) == 5
                isIgnored = isVersion5 && quirk == .ignoresVersion5
                return !(isVersion5 && quirk == .closesOnVersion5)
            case 8:
                // After the identifier, without properties: one filter.
                let filter = Self.text(in: packet, at: Self.body(of: packet) + (isVersion5 ? 3 : 2))
                if !filter.contains(where: { "+#".contains($0) }) { topics.insert(filter) }
                return true
            default: return true
            }
        }

        /// The acknowledgement of a message that is withheld; `nil` if the packet is passed on.
        private func withheld(_ packet: [UInt8]) -> [UInt8]? {
            guard quirk == .withholdsRetained, packet[0] >> 4 == 3, packet[0] & 1 == 1 else { return nil }
            let start = Self.body(of: packet)
            let topic = Self.text(in: packet, at: start)
            if topics.contains(topic) { return nil }
            guard packet[0] & 6 != 0 else { return [] }
            let identifier = start + 2 + topic.utf8.count
            return [0x40, 2] + packet[identifier..<identifier + 2]
        }

        /// Where the part after the remaining length begins.
        private static func body(of packet: [UInt8]) -> Int {
            (packet.dropFirst().firstIndex { $0 < 128 } ?? 1) + 1
        }

        private static func text(in packet: [UInt8], at start: Int) -> String {
            let length = Int(packet[start]) << 8 | Int(packet[start + 1])
            return String(decoding: packet[start + 2..<start + 2 + length], as: UTF8.self)
        }
    }
}
