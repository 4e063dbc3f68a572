/// Where a broker listens: `mqtt://host[:1883]`, or `mqtts://host[:8883]` for TLS; an IPv6 address stands in brackets.
public struct BrokerAddress: Hashable, Sendable, CustomStringConvertible {
    /// The port of MQTT over TCP (IANA).
    public static let defaultPort: UInt16 = 1883

    /// The port of MQTT over TLS (IANA).
    public static let defaultTLSPort: UInt16 = 8883

    /// A host name, an IPv4 address or an IPv6 address (without brackets).
    public var host: String

    /// The TCP port, 1 … 65535.
    public var port: UInt16

    /// Whether the connection is encrypted and the broker's certificate checked.
    public var usesTLS: Bool

    /// Makes an address from its parts; without a port, the usual one.
    public init(host: String, port: UInt16? = nil, usesTLS: Bool = false) {
        self.host = host
        self.port = port ?? (usesTLS ? Self.defaultTLSPort : Self.defaultPort)
        self.usesTLS = usesTLS
    }

    /// Reads an address from a URL.
    ///
    /// - Throws: what is wrong with the text. Neither user nor password may stand in it: they would end up in logs.
    public init(parsing text: String) throws(BrokerAddressError) {
        guard let separator = text.firstRange(of: "://") else { throw .missingScheme(text) }
        let usesTLS: Bool
        switch text[..<separator.lowerBound].lowercased() {
        case "mqtt": usesTLS = false
        case "mqtts": usesTLS = true
        case let other: throw .unknownScheme(other)
        }
        var authority = text[separator.upperBound...]
        if authority.last == "/" { authority.removeLast() }
        if authority.contains("@") { throw .containsCredentials }
        if authority.contains(where: { "/?#".contains($0) }) { throw .hasPath(String(authority)) }

        let host: Substring
        let rest: Substring
        if authority.first == "[" {
            guard let closing = authority.firstIndex(of: "]") else { throw .invalidHost(String(authority)) }
            host = authority[authority.index(after: authority.startIndex)..<closing]
            rest = authority[authority.index(after: closing)...]
            guard host.contains(":"),
                host.allSatisfy({ $0.isHexDigit || ":.%".contains($0) || $0.isASCII && $0.isLetter })
            else { throw .invalidHost(String(host)) }
        } else {
            host = authority.prefix { $0 != ":" }
            rest = authority[host.endIndex...]
            guard host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) })
            else { throw .invalidHost(String(host)) }
        }
        if host.isEmpty { throw .emptyHost }
        self.init(host: String(host), port: try Self.port(rest), usesTLS: usesTLS)
    }

    /// Reads `:1883`, or nothing.
    private static func port(_ text: Substring) throws(BrokerAddressError) -> UInt16? {
        if text.isEmpty { return nil }
        let digits = text.dropFirst()
        guard text.first == ":", digits.allSatisfy({ $0.isASCII && $0.isNumber }), let port = UInt16(digits), port > 0
        else { throw .invalidPort(String(text)) }
        return port
    }

    /// The address as a URL.
    public var description: String {
        let scheme = usesTLS ? "mqtts" : "mqtt"
        return host.contains(":") ? "\(scheme)://[\(host)]:\(port)" : "\(scheme)://\(host):\(port)"
    }
}

/// What is wrong with the text of a broker's address.
public enum BrokerAddressError: Error, Equatable, Sendable, CustomStringConvertible {
    case missingScheme(String)
    case unknownScheme(String)
    /// A user name or password before the host; the text is left out on purpose.
    case containsCredentials
    case hasPath(String)
    case emptyHost
    case invalidHost(String)
    case invalidPort(String)

    public var description: String {
        switch self {
        case .missingScheme(let text): "'\(text)' has no scheme: write mqtt://host:1883, or mqtts://host:8883 for TLS"
        case .unknownScheme(let scheme): "'\(scheme)' is not a known scheme: use mqtt or mqtts"
        case .containsCredentials: "an address holds no user name or password: there are settings of their own for them"
        case .hasPath(let text): "'\(text)' goes on after host and port: nothing may follow them"
        case .emptyHost: "the host is missing"
        case .invalidHost(let host): "'\(host)' is no host name or address (an IPv6 address stands in brackets)"
        case .invalidPort(let port): "'\(port)' is no port: use ':' and 1 to 65535"
        }
    }
}
