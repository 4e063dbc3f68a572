import Foundation

/// HTTP/1.1 over a plain socket, for requests that a well-behaved client would not send.
package enum RawHTTP {
    package typealias Header = (name: String, value: String)

    package struct Reply {
        package var status: Int
        package var headers: [Header]
        package var body: String

        package func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    package enum Failure: Error {
        case connection(Int32)
        /// What arrived is no answer.
        case noReply(String)
    }

    /// Sends a GET request and waits for the whole answer.
    package static func get(_ port: UInt16, _ target: String, _ headers: [Header] = []) throws -> Reply {
        try send(port, "GET", target, headers)
    }

    /// Sends a request and waits for the whole answer. `Host` is added unless it is given.
    package static func send(
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
    package static func reply(_ bytes: [UInt8]) throws -> Reply {
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

    /// A connection to a port of this machine. Reading waits for at most a minute.
    package final class Connection {
        package let descriptor: Int32
        /// What has arrived behind the last answer.
        private var rest: [UInt8] = []

        package init(_ port: UInt16, receiveBuffer: Int32? = nil) throws {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { throw Failure.connection(errno) }
            // Longer than anything takes on a busy machine: a page's stream has a ping every ten seconds.
            var timeout = timeval(tv_sec: 60, tv_usec: 0)
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
        package func write(_ text: String) { write(Array(text.utf8)) }

        package func write(_ bytes: [UInt8]) {
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
        package func read() -> [UInt8] {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            return count > 0 ? Array(buffer[..<count]) : []
        }

        package func readToEnd() -> [UInt8] {
            var bytes = rest
            rest = []
            while true {
                let part = read()
                if part.isEmpty { return bytes }
                bytes += part
            }
        }

        /// Reads until what has arrived contains a text, and returns it; also at the end of the connection, and after ten
        /// seconds without a byte. What lies behind the text stays for the next call.
        package func read(through text: String) -> [UInt8] {
            let pattern = Array(text.utf8)
            while true {
                if let end = RawHTTP.end(of: pattern, in: rest) {
                    defer { rest.removeFirst(end) }
                    return Array(rest[..<end])
                }
                let part = read()
                if part.isEmpty {
                    defer { rest = [] }
                    return rest
                }
                rest += part
            }
        }

        /// Reads one answer and leaves the connection open: as many bytes as its header says, or its chunks.
        package func readReply(hasBody: Bool = true) throws -> Reply {
            var reply = try RawHTTP.reply(read(through: "\r\n\r\n"))
            guard hasBody else { return reply }
            if reply.header("Transfer-Encoding")?.lowercased() == "chunked" {
                while let chunk = readChunk(), !chunk.isEmpty { reply.body += String(decoding: chunk, as: UTF8.self) }
            } else if let length = reply.header("Content-Length").flatMap({ Int($0) }) {
                reply.body = String(decoding: readBytes(length), as: UTF8.self)
            } else if reply.status >= 200, reply.status != 204 {
                reply.body = String(decoding: readToEnd(), as: UTF8.self)
            }
            return reply
        }

        /// Reads one chunk; empty for the last one, `nil` if the connection ended before.
        package func readChunk() -> [UInt8]? {
            let line = String(decoding: read(through: "\r\n"), as: UTF8.self)
            guard line.hasSuffix("\r\n"), let length = Int(line.dropLast(1).prefix { $0.isHexDigit }, radix: 16) else {
                return nil
            }
            let bytes = readBytes(length + 2)
            return bytes.count == length + 2 ? Array(bytes.dropLast(2)) : nil
        }

        private func readBytes(_ count: Int) -> [UInt8] {
            while rest.count < count {
                let part = read()
                if part.isEmpty { break }
                rest += part
            }
            defer { rest.removeFirst(min(count, rest.count)) }
            return Array(rest.prefix(count))
        }

        /// Whether the peer has ended the connection: waits for its end, at most ten seconds without a byte.
        package var hasEnded: Bool {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                if count == 0 { return true }
                if count < 0 { return errno == ECONNRESET || errno == EPIPE }
            }
        }
    }

    /// Where the first occurrence of a pattern ends.
    private static func end(of pattern: [UInt8], in bytes: [UInt8]) -> Int? {
        guard bytes.count >= pattern.count else { return nil }
        return (pattern.count...bytes.count).first { bytes[($0 - pattern.count)..<$0].elementsEqual(pattern) }
    }
}
