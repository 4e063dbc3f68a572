/// The address of a broker.
package struct BrokerAddress: Hashable, Sendable, CustomStringConvertible {
    /// The port of MQTT over TCP (IANA).
    package static let defaultPort: UInt16 = 1883

    /// The port of MQTT over TLS (IANA).
    package static let defaultTLSPort: UInt16 = 8883

    /// A host name, an IPv4 address or an IPv6 address (without brackets).
    package var host: String

    /// The TCP port, 1 … 65535.
    package var port: UInt16

    /// Whether the connection is encrypted and the broker's certificate checked.
    package var usesTLS: Bool

    /// Creates an address from its parts. Without a port, it uses the default one.
    package init(host: String, port: UInt16? = nil, usesTLS: Bool = false) {
        self.host = host
        self.port = port ?? (usesTLS ? Self.defaultTLSPort : Self.defaultPort)
        self.usesTLS = usesTLS
    }

    /// The address as a URL.
    package var description: String {
        let scheme = usesTLS ? "mqtts" : "mqtt"
        return host.contains(":") ? "\(scheme)://[\(host)]:\(port)" : "\(scheme)://\(host):\(port)"
    }
}
