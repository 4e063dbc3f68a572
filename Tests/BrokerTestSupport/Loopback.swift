import Foundation
import Synchronization

/// TCP on 127.0.0.1 for tests.
package enum Loopback {
    /// A port that no process listens on now, and that no other test is given: tests in other processes look for ports
    /// at the same time. It is none that the system gives to connections.
    package static func freePort() throws -> UInt16 {
        for _ in 0..<1000 {
            let port = UInt16.random(in: 10_240..<32_768)
            guard let lease = lease(of: port) else { continue }
            if let descriptor = try? bound(to: port).descriptor {
                close(descriptor)
                return port
            }
            close(lease)
        }
        throw TestBrokerError.noPort
    }

    /// Takes a port for this process until its end: a Unix socket with the name of the port, which only one can have.
    private static func lease(of port: UInt16) -> Int32? {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // In the abstract namespace, whose names begin with a zero: unix(7).
        let name = [0] + Array("jostle-test-port-\(port)".utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let size = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        if code == 0 { return descriptor }
        close(descriptor)
        return nil
    }

    /// Whether a process accepts connections on a port.
    package static func accepts(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return withAddress(port) { connect(descriptor, $0, $1) } == 0
    }

    /// This process's connections to a port.
    package static func connections(to port: UInt16) -> [Int32] {
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return descriptors.compactMap { Int32($0) }.filter { descriptor in
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let code = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) }
            }
            let isIPv4 = code == 0 && address.sin_family == sa_family_t(AF_INET)
            return isIPv4 && UInt16(bigEndian: address.sin_port) == port
        }
    }

    /// Cuts them without an MQTT DISCONNECT, as a network failure would.
    ///
    /// - Returns: the number of connections.
    package static func cutConnections(to port: UInt16) -> Int {
        let descriptors = connections(to: port)
        for descriptor in descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
        return descriptors.count
    }

    /// A socket that listens on a free port.
    package static func listening() throws -> (descriptor: Int32, port: UInt16) {
        let (descriptor, port) = try bound()
        guard listen(descriptor, 16) == 0 else { throw TestBrokerError.noPort }
        return (descriptor, port)
    }

    /// A socket that is bound to a port, by default a free one.
    static func bound(to wanted: UInt16 = 0) throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw TestBrokerError.noPort }
        guard withAddress(wanted, { bind(descriptor, $0, $1) }) == 0 else {
            close(descriptor)
            throw TestBrokerError.noPort
        }
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        guard code == 0 else { throw TestBrokerError.noPort }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    private static func withAddress(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

/// A server that sends a test's answer to the first packet of every connection, for behaviour that no real broker
/// shows.
package final class FakeBroker: Sendable {
    /// The port that it listens on.
    package let port: UInt16
    private let descriptor: Int32
    private let recorder = Recorder()

    private final class Recorder: Sendable {
        let bytes = Mutex<[UInt8]>([])

        /// Records received data until the connection ends.
        func listen(to connection: Int32) {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(connection, &buffer, buffer.count)
                guard count > 0 else { return }
                bytes.withLock { $0 += buffer[..<count] }
            }
        }
    }

    /// The bytes that clients sent after its answer.
    package var heard: [UInt8] { recorder.bytes.withLock { $0 } }

    /// Starts a server; end it with `end`.
    ///
    /// - Parameter answer: the bytes to send for a CONNECT packet; `nil` to close the connection. After the answer the
    ///   connection stays open, and nothing more is sent.
    /// - Throws: `noPort`.
    package init(answer: @escaping @Sendable (_ connect: [UInt8]) -> [UInt8]?) throws {
        (descriptor, port) = try Loopback.bound()
        guard listen(descriptor, 16) == 0 else { throw TestBrokerError.noPort }
        let descriptor = descriptor
        let recorder = recorder
        Thread.detachNewThread {
            var open: [Int32] = []
            while true {
                let connection = accept(descriptor, nil, nil)
                if connection < 0 { break }
                var buffer = [UInt8](repeating: 0, count: 1024)
                let count = read(connection, &buffer, buffer.count)
                guard count > 0, let bytes = answer(Array(buffer[..<count])) else {
                    close(connection)
                    continue
                }
                // The client may have closed the connection already.
                _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
                open.append(connection)
                Thread.detachNewThread { recorder.listen(to: connection) }
            }
            for connection in open {
                shutdown(connection, Int32(SHUT_RDWR))
                close(connection)
            }
            close(descriptor)
        }
    }

    /// Ends it. Its thread closes all its connections.
    package func end() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// The protocol level in a CONNECT packet: 4 is MQTT 3.1.1, 5 is MQTT 5; `nil` if it is not a CONNECT.
    package static func level(of connect: [UInt8]) -> UInt8? {
        guard connect.first == 0x10, let name = connect.firstIndex(of: UInt8(ascii: "M")), connect.count > name + 4
        else { return nil }
        return connect[name + 4]
    }
}
