/// An address to listen at: `HOST:PORT`, with brackets around a numeric IPv6 host.
package struct ListeningAddress: Equatable, Sendable {
    /// Why a text is no such address, phrased to follow the quoted text in a message.
    package struct Malformed: Error, Equatable, Sendable {
        package let reason: String

        init(_ reason: String) {
            self.reason = reason
        }
    }

    /// A host name or a numeric address; an IPv6 address without brackets.
    package var host: String

    /// The TCP port; 0 lets the system choose one.
    package var port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Parses `127.0.0.1:8088`, `[::1]:8088` or `name:8088`.
    package init(_ text: String) throws(Malformed) {
        guard let colon = text.lastIndex(of: ":") else { throw Malformed("has no port") }
        guard let port = UInt16(text[text.index(after: colon)...]) else {
            throw Malformed("has a port that is not a number from 0 to 65535")
        }
        var host = text[..<colon]
        let isNumeric = host.hasPrefix("[") && host.hasSuffix("]") && host.count > 2
        if isNumeric { host = host.dropFirst().dropLast() }
        guard isNumeric || !host.isEmpty && !host.contains(where: { ":[]".contains($0) || $0.isWhitespace }) else {
            throw Malformed("has no host before its port")
        }
        self.init(host: String(host), port: port)
    }

    /// The address as in a URL.
    package var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
