/// Where a broker listens.
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

    /// The address as a URL.
    public var description: String {
        let scheme = usesTLS ? "mqtts" : "mqtt"
        return host.contains(":") ? "\(scheme)://[\(host)]:\(port)" : "\(scheme)://\(host):\(port)"
    }
}
