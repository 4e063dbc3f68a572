import BrokerTestSupport
import Foundation

/// A server that answers the first bytes of every client with the same text and waits for the client to leave, or that
/// resets every connection.
final class AnsweringServer: Sendable {
    /// The port that it listens on.
    let port: UInt16

    private let listener: Int32

    /// Starts to listen, on a thread that ends with the object.
    ///
    /// Without an answer, it resets the connection when the first bytes have arrived.
    init(_ answer: String?) throws {
        (listener, port) = try Loopback.listening()
        let listener = listener
        let thread = Thread {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                Self.serve(connection, answer.map { Array($0.utf8) })
                close(connection)
            }
        }
        thread.start()
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func serve(_ connection: Int32, _ answer: [UInt8]?) {
        var limit = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var buffer = [UInt8](repeating: 0, count: 4096)
        guard recv(connection, &buffer, buffer.count, 0) > 0 else { return }
        guard let answer else {
            var reset = linger(l_onoff: 1, l_linger: 0)
            setsockopt(connection, SOL_SOCKET, SO_LINGER, &reset, socklen_t(MemoryLayout<linger>.size))
            return
        }
        send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
        shutdown(connection, Int32(SHUT_WR))
        while recv(connection, &buffer, buffer.count, 0) > 0 {}
    }
}
