internal import Documents
internal import Glibc
internal import LinuxSystem

/// A broker's host and port, and whether it uses TLS: the parts of a `mqtt://` or `mqtts://` URL.
package struct BrokerAddress: Equatable, Sendable, CustomStringConvertible {
    /// Whether the connection is encrypted (`mqtts`).
    package var usesTLS: Bool

    /// A host name or a numeric address; an IPv6 address without brackets.
    package var host: String

    /// The TCP port.
    package var port: UInt16

    /// `port` defaults to MQTT's registered port: 1883, or 8883 with TLS.
    package init(host: String, port: UInt16? = nil, usesTLS: Bool = false) {
        self.usesTLS = usesTLS
        self.host = host
        self.port = port ?? (usesTLS ? 8883 : 1883)
    }

    /// The URL, always with a port.
    package var description: String {
        let scheme = usesTLS ? "mqtts" : "mqtt"
        return host.contains(":") ? "\(scheme)://[\(host)]:\(port)" : "\(scheme)://\(host):\(port)"
    }
}

extension BrokerAddress {
    /// Parses `mqtt://host[:port]` or `mqtts://host[:port]`; one trailing slash is ignored.
    init(url: String) throws(ValueRefusal) {
        guard let separator = url.firstRange(of: "://") else {
            throw ValueRefusal("is not a broker's URL: it has no scheme")
        }
        let usesTLS: Bool
        switch url[..<separator.lowerBound].lowercased() {
        case "mqtt": usesTLS = false
        case "mqtts": usesTLS = true
        case "ws", "wss":
            throw ValueRefusal(
                "is MQTT over WebSockets, for which libmosquitto 2.1 is needed; use the broker's TCP port: "
                    + "mqtt://host:1883, or mqtts://host:8883 for TLS")
        default: throw ValueRefusal("has a scheme that is not supported")
        }
        var rest = url[separator.upperBound...]
        if rest.contains("@") {
            throw ValueRefusal("contains credentials; set mqtt.username and mqtt.password_file instead")
        }
        if rest.hasSuffix("/") { rest.removeLast() }
        guard !rest.contains(where: { "/?#".contains($0) }) else {
            throw ValueRefusal("has a path, query or fragment; only host and port are used")
        }
        let (host, portText) = try Self.split(rest)
        self.init(host: host, port: try portText.map(Self.port), usesTLS: usesTLS)
    }

    /// Divides `host:port` or `[address]:port`, and checks the host.
    private static func split(_ authority: Substring) throws(ValueRefusal) -> (host: String, port: Substring?) {
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { throw ValueRefusal("has no closing bracket") }
            let host = String(authority[authority.index(after: authority.startIndex)..<end])
            guard isIPv6(host) else { throw ValueRefusal("has brackets without an IPv6 address in them") }
            let after = authority[authority.index(after: end)...]
            guard !after.isEmpty else { return (host, nil) }
            guard after.hasPrefix(":") else { throw ValueRefusal("continues after the closing bracket") }
            return (host, after.dropFirst())
        }
        let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2 else { throw ValueRefusal("has too many colons; put an IPv6 address in brackets") }
        let host = String(parts[0])
        guard isHostName(host) else {
            throw ValueRefusal(host.isEmpty ? "has no host" : "has a host that is neither a name nor an address")
        }
        return (host, parts.count == 2 ? parts[1] : nil)
    }

    private static func port(_ text: Substring) throws(ValueRefusal) -> UInt16 {
        guard text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let port = UInt16(text), port > 0 else {
            throw ValueRefusal("has a port outside 1 … 65535")
        }
        return port
    }

    /// Whether inet_pton(3) accepts the text as IPv6; a zone (`%eth0`) is allowed, because link-local addresses need
    /// it.
    private static func isIPv6(_ text: String) -> Bool {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2 {
            guard !parts[1].isEmpty, parts[1].utf8.allSatisfy(isNameByte) else { return false }
        }
        var address = in6_addr()
        return inet_pton(AF_INET6, String(parts[0]), &address) == 1
    }

    /// Letters, digits, hyphens and underscores in labels of 1 to 63, 253 in all (RFC 1123 2.1; underscores as in
    /// mDNS).
    private static func isHostName(_ text: String) -> Bool {
        guard text.utf8.count <= 253 else { return false }
        let name = text.hasSuffix(".") ? text.dropLast() : text[...]
        return name.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.utf8.allSatisfy { $0 != 0x2E && isNameByte($0) }
        }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
        default: false
        }
    }
}
