import Foundation

/// HTTP/1.1 over a plain socket, for requests that a well-behaved client would not send.
enum RawHTTP {
    typealias Header = (name: String, value: String)

    struct Reply {
        var status: Int
        var headers: [Header]
        var body: String

        func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    enum Failure: Error {
        case connection(Int32)
        /// What arrived is no answer.
        case noReply(String)
    }

    /// Sends a GET request and waits for the whole answer.
    static func get(_ port: UInt16, _ target: String, _ headers: [Header] = []) throws -> Reply {
        try send(port, "GET", target, headers)
    }

    /// Sends a request and waits for the whole answer. `Host` is added unless it is given.
    static func send(
        _ port: UInt16, _ method: String, _ target: String, _ headers: [Header] = [], body: String = ""
    ) throws -> Reply {
        let connection = try Connection(port)
        var text = "\(method) \(target) HTTP/1.1\r\nConnection: close\r\n"
        if !headers.contains(where: { $0.name == "Host" }) { text += "Host: 127.0.0.1:\(port)\r\n" }
        if !body.isEmpty { text += "Content-Length: \(body.utf8.count)\r\n" }
        for header in headers { text += "\(header.name): \(header.value)\r\n" }
        connection.write(text + "\r\n" + body)
        return try reply(connection.readToEnd())
    }

    /// Parses an answer that ended with its connection, or a part of one that has no end.
    static func reply(_ bytes: [UInt8]) throws -> Reply {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { throw Failure.noReply(text) }
        let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count >= 2, let status = Int(words[1]) else { throw Failure.noReply(text) }
        let headers = lines.dropFirst().compactMap { line -> Header? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (String(line[..<colon]), line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
        }
        return Reply(status: status, headers: headers, body: String(text[end.upperBound...]))
    }

    /// A connection to a port of this machine. Reading waits for at most ten seconds.
    final class Connection {
        let descriptor: Int32

        init(_ port: UInt16, receiveBuffer: Int32? = nil) throws {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { throw Failure.connection(errno) }
            var timeout = timeval(tv_sec: 10, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
            setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
            if var receiveBuffer {
                setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
            }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            let code = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if code != 0 {
                let failure = errno
                close(descriptor)
                throw Failure.connection(failure)
            }
        }

        deinit { close(descriptor) }

        /// Sends text. Whether the peer takes it shows in its answer.
        func write(_ text: String) { write(Array(text.utf8)) }

        func write(_ bytes: [UInt8]) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }

        /// What has arrived, waiting for at least one byte; empty at the end of the connection or after ten seconds.
        func read() -> [UInt8] {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            return count > 0 ? Array(buffer[..<count]) : []
        }

        func readToEnd() -> [UInt8] {
            var bytes: [UInt8] = []
            while true {
                let part = read()
                if part.isEmpty { return bytes }
                bytes += part
            }
        }
    }
}
