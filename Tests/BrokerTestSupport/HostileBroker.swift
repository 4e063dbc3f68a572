import Foundation

/// A broker without a thread that behaves correctly up to a point chosen by the test, then sends other bytes instead of
/// the expected packet, and closes. It handles one connection at a time, on a free loopback port.
package final class HostileBroker {
    /// The point at which a session goes wrong.
    package enum Place: CaseIterable, Sendable {
        /// Instead of the CONNACK, the SUBACK, the PUBACK.
        case connack, suback, puback
        /// After all of them, together with the PUBACK.
        case afterwards
        /// After the client's DISCONNECT.
        case goodbye
    }

    /// A session that goes wrong.
    package struct Attack: Sendable {
        package var place: Place
        package var bytes: [UInt8]

        package init(_ place: Place, _ bytes: [UInt8]) {
            self.place = place
            self.bytes = bytes
        }
    }

    /// The port that it listens on.
    package let port: UInt16

    /// The attack on the next connection; `nil` for a correct one that ends after the PUBACK.
    package var next: Attack?

    /// Accepted connections.
    package private(set) var accepted = 0

    private let listener: Int32
    private var connection: Int32 = -1
    private var attack: Attack?
    private var isOver = false
    private var isVersion5 = false
    private var heard: [UInt8] = []

    /// Starts to listen.
    ///
    /// - Throws: `TestBrokerError.noPort`.
    package init() throws {
        (listener, port) = try Loopback.bound()
        guard listen(listener, 16) == 0 else { throw TestBrokerError.noPort }
        _ = fcntl(listener, F_SETFL, O_NONBLOCK)
    }

    deinit {
        close(listener)
        if connection >= 0 { close(connection) }
    }

    /// The descriptor to poll for POLLIN.
    package var descriptor: Int32 { connection >= 0 ? connection : listener }

    /// Performs the due work when `descriptor` is readable.
    package func advance() {
        guard connection >= 0 else { return begin() }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(connection, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        if count > 0 {
            heard += buffer[..<count]
            while let packet = Self.takePacket(from: &heard) { answer(packet) }
        } else if count == 0 || errno != EAGAIN {
            close(connection)
            connection = -1
        }
    }

    private func begin() {
        connection = accept(listener, nil, nil)
        guard connection >= 0 else { return }
        accepted += 1
        attack = next
        isOver = false
        heard = []
    }

    private func answer(_ packet: [UInt8]) {
        if isOver { return }
        switch packet[0] >> 4 {
        case 1:
            isVersion5 = FakeBroker.level(of: packet) == 5
            reply(.connack, isVersion5 ? [0x20, 3, 0, 0, 0] : [0x20, 2, 0, 0])
        case 8:
            let id = Array(packet[2..<4])
            reply(.suback, isVersion5 ? [0x90, 4] + id + [0, 1] : [0x90, 3] + id + [1])
        case 3:
            // A topic of one character, and a remaining length of one byte.
            reply(.puback, [0x40, 2] + packet[5..<7])
            if attack?.place == .afterwards || attack == nil { finish(attack?.bytes ?? []) }
        case 14:
            finish(attack?.bytes ?? [])
        default:
            break
        }
    }

    private func reply(_ place: Place, _ bytes: [UInt8]) {
        if let attack, attack.place == place { finish(attack.bytes) } else { send(bytes) }
    }

    private func finish(_ bytes: [UInt8]) {
        if isOver { return }
        send(bytes)
        // The client closes first, so that its port is free again at once.
        shutdown(connection, Int32(SHUT_WR))
        isOver = true
    }

    private func send(_ bytes: [UInt8]) {
        // The packets are small. Bytes that the system does not accept at once do not matter.
        _ = Foundation.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }

    /// The first complete packet of well-formed ones.
    package static func takePacket(from bytes: inout [UInt8]) -> [UInt8]? {
        var length = 0
        var place = 1
        while true {
            guard place < bytes.count, place < 5 else { return nil }
            length += Int(bytes[place] & 127) << (7 * (place - 1))
            place += 1
            if bytes[place - 1] < 128 { break }
        }
        guard bytes.count >= place + length else { return nil }
        defer { bytes.removeFirst(place + length) }
        return Array(bytes[..<(place + length)])
    }
}
