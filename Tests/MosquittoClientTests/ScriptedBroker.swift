import BrokerTestSupport
import Foundation
import Synchronization

/// A broker for MQTT 3.1.1 that answers CONNECT and SUBSCRIBE, except for some filters: for those it closes the
/// connection, or stays silent. It serves one connection at a time.
final class ScriptedBroker: Sendable {
    enum Answer {
        case granted, closed, none
    }

    /// The port that it listens on.
    let port: UInt16

    private let listener: Int32
    private let requests = Mutex<[[String]]>([])
    private let answer: @Sendable (String) -> Answer

    /// Starts to listen, on a thread that ends with the object.
    init(answer: @escaping @Sendable (String) -> Answer) throws {
        self.answer = answer
        (listener, port) = try Loopback.listening()
        let listener = listener
        let thread = Thread { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                defer { close(connection) }
                guard let broker = self else { return }
                broker.serve(connection)
            }
        }
        thread.start()
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// The filters that were requested on each connection so far, in order.
    var connections: [[String]] { requests.withLock { $0 } }

    private func serve(_ connection: Int32) {
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        requests.withLock { $0.append([]) }
        while let (type, body) = packet(from: connection) {
            switch type {
            case 0x10: send([0x20, 2, 0, 0], to: connection)
            case 0xC0: send([0xD0, 0], to: connection)
            case 0x80 where body.count > 5:
                let filter = String(decoding: body[4..<(body.count - 1)], as: UTF8.self)
                requests.withLock { $0[$0.count - 1].append(filter) }
                switch answer(filter) {
                case .granted: send([0x90, 3, body[0], body[1], 1], to: connection)
                case .closed: return
                case .none: break
                }
            case 0xE0: return
            default: break
            }
        }
    }

    private func send(_ bytes: [UInt8], to connection: Int32) {
        _ = Foundation.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// The next packet: its type, and what follows the length. Only short ones are expected.
    private func packet(from connection: Int32) -> (type: UInt8, body: [UInt8])? {
        guard let header = bytes(2, from: connection), header[1] < 128,
            let body = bytes(Int(header[1]), from: connection)
        else { return nil }
        return (header[0] & 0xF0, body)
    }

    private func bytes(_ count: Int, from connection: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: count)
        guard count > 0 else { return buffer }
        return recv(connection, &buffer, count, Int32(MSG_WAITALL)) == count ? buffer : nil
    }
}
