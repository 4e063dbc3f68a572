/// The connection settings of a client.
package struct MQTTOptions: Sendable {
    /// The brokers, tried in turn. After a stable connection the client starts with the first one again.
    package var brokers: [BrokerAddress]

    /// The client id. It must be unique at the broker; otherwise two clients keep disconnecting each other.
    package var clientID: String

    /// User name and password. Default: none.
    package var credentials: MQTTCredentials?

    /// The message that the broker publishes if this client's connection is lost. Default: none.
    package var will: MQTTMessage?

    /// Takes a message as soon as it is read, on the network thread, if it returns true; then it is no event. It must not call
    /// the client. Default: none.
    package var takesMessage: (@Sendable (MQTTMessage) -> Bool)?

    /// Keep-alive time: after this long without traffic the client pings the broker. Whole seconds, 5 … 65,535. Default
    /// 15.
    ///
    /// With a smaller value, a dead broker or a dead client is noticed earlier; a larger one saves traffic.
    package var keepAlive: Duration = .seconds(15)

    /// How long the broker may take to answer a ping. Default 5 s.
    ///
    /// A smaller value detects a frozen broker earlier, but may mistake a slow network for one.
    package var responseTimeout: Duration = .seconds(5)

    /// How long establishing a connection may take, from the first packet to the broker's answer. Default 10 s.
    ///
    /// A DNS query cannot be interrupted: its time counts, but the timeout only takes effect when it returns.
    package var connectTimeout: Duration = .seconds(10)

    /// How long a broker that has not accepted MQTT 5 yet may stay silent on a CONNECT of MQTT 5, if the versions are
    /// automatic; then 3.1.1 is tried at once. Default `nil`: for `connectTimeout`, twice.
    ///
    /// For a program for which a person waits. With a value, a broker that starts or is overloaded may be taken for one
    /// without MQTT 5.
    package var trialTimeout: Duration?

    /// How long the broker may take to answer a subscription. After that the connection ends, and the next broker is
    /// tried. Default 10 s.
    ///
    /// A smaller value leaves a broker that is only partly alive earlier, but may mistake an overloaded one for it.
    package var subscribeTimeout: Duration = .seconds(10)

    /// Whether to connect at once when this host's network comes back, which `MQTTClient` learns from the kernel
    /// (rtnetlink(7)). Default true. `MQTTPolledClient` leaves it to its owner: see `networkReturned` there.
    package var watchesNetwork = true

    /// Whether to drop a session that the broker kept from an earlier run. Default true.
    ///
    /// Later connections of the same run resume the session if `sessionExpiry` has let it survive.
    package var cleanStart = true

    /// How long the broker keeps subscriptions and undelivered messages after the connection ends; whole seconds.
    /// Default 0, which keeps nothing. MQTT 3.1.1 supports only zero and unlimited.
    package var sessionExpiry: Duration = .zero

    /// The MQTT versions to use. Default: 5, falling back to 3.1.1 for a day if the broker does not support it.
    package var versions: Versions = .automatic

    /// The delays between connection attempts.
    package var backoff = MQTTBackoff()

    /// The most messages in flight (sent but not acknowledged), in each direction. Default 20.
    ///
    /// A larger value is faster over a slow network; a smaller one leaves fewer messages with an unknown outcome when
    /// the connection breaks. The broker may lower it (receive maximum).
    package var maximumInFlight: UInt16 = 20

    /// The largest packet accepted from a broker, and the largest payload sent, bytes. Default 1 MiB.
    package var maximumPacketSize = 1 << 20

    /// The most messages, and payload bytes, that may wait for the network thread. Defaults 1,000 and 4 MiB.
    ///
    /// A larger value bridges longer network stalls; with a smaller one, the publisher notices a stall earlier.
    package var queueCapacity = 1000
    package var queueBytes = 4 << 20

    /// The topics on which messages are spaced in time. Default: none.
    package var spacing: MQTTSpacing?

    /// TLS settings, used for brokers with an `mqtts:` address.
    package var tls = MQTTTLSOptions()

    /// Creates the default options for these brokers.
    package init(brokers: [BrokerAddress], clientID: String) {
        self.brokers = brokers
        self.clientID = clientID
    }

    /// The MQTT versions to use.
    package enum Versions: Sendable {
        case automatic
        case only(MQTTVersion)
    }

    /// Throws for the first invalid setting.
    func validate() throws(MQTTError) {
        if brokers.isEmpty { throw .invalidOption("brokers", "there must be at least one") }
        if clientID.isEmpty || !clientID.fitsIntoPacket {
            throw .invalidOption("clientID", "it must have 1 to 65,535 bytes, none of them zero")
        }
        // libmosquitto's minimum is 5 s.
        if keepAlive < .seconds(5) || keepAlive > .seconds(65_535) {
            throw .invalidOption("keepAlive", "it must be 5 to 65,535 s")
        }
        if responseTimeout < .seconds(1) { throw .invalidOption("responseTimeout", "it must be at least 1 s") }
        if connectTimeout <= .zero { throw .invalidOption("connectTimeout", "it must be more than zero") }
        if let trialTimeout, trialTimeout <= .zero {
            throw .invalidOption("trialTimeout", "it must be more than zero")
        }
        if subscribeTimeout <= .zero { throw .invalidOption("subscribeTimeout", "it must be more than zero") }
        if sessionExpiry < .zero { throw .invalidOption("sessionExpiry", "it must not be negative") }
        if maximumInFlight == 0 { throw .invalidOption("maximumInFlight", "it must be at least 1") }
        if !(128...268_435_455).contains(maximumPacketSize) {
            throw .invalidOption("maximumPacketSize", "it must be 128 to 268,435,455 bytes")
        }
        if queueCapacity < 1 || queueBytes < 1 { throw .invalidOption("queueCapacity", "it must be at least 1") }
        if backoff.base <= .zero || backoff.cap < backoff.base {
            throw .invalidOption("backoff", "the base must be more than zero, and not more than the cap")
        }
        if !(1...1000).contains(backoff.unreadableFactor) || !(1...1000).contains(backoff.takeoverFactor) {
            throw .invalidOption("backoff", "the factor must be 1 to 1,000")
        }
        if let will { try will.validate(maximumSize: 65_535) }
        if tls.certificateFile != nil, tls.keyFile == nil {
            throw .invalidOption("tls.keyFile", "a client certificate needs its key")
        }
    }
}

/// Spaces messages on the same topic in time, for a receiver that merges messages arriving together.
package struct MQTTSpacing: Equatable, Sendable {
    /// The prefix of the topics that are spaced. Each topic is spaced separately.
    package var prefix: String

    /// The shortest interval between messages on a topic. Messages behind a delayed one wait too.
    package var interval: Duration

    /// Creates a spacing.
    package init(prefix: String, interval: Duration) {
        self.prefix = prefix
        self.interval = interval
    }
}

/// The TLS settings.
package struct MQTTTLSOptions: Equatable, Sendable {
    /// The directory of the system's trusted authorities on Debian (package `ca-certificates`).
    package static let systemCADirectory = "/etc/ssl/certs"

    /// A file of certificate authorities (PEM), and a directory of them (`openssl rehash`). Default: the system's.
    package var caFile: String?
    package var caDirectory: String?

    /// This client's certificate and key (PEM, not encrypted), if the broker requires them.
    package var certificateFile: String?
    package var keyFile: String?

    /// Whether the certificate must match the host's name. Default true. With false, any certificate from the same
    /// authority is accepted.
    package var verifiesServerName = true

    /// The application protocol to offer (ALPN), with which some brokers share port 443. Default: none.
    package var applicationProtocol: String?

    /// Creates the default options.
    package init() {}
}

/// The user name and password of this client.
package struct MQTTCredentials: Equatable, Sendable {
    package var userName: String
    package var password: Secret?

    /// Creates credentials.
    package init(userName: String, password: Secret?) {
        self.userName = userName
        self.password = password
    }

    /// A text that is hidden in descriptions, dumps and mirrors.
    package struct Secret: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
    {
        let text: String

        /// Wraps a text.
        package init(_ text: String) {
            self.text = text
        }

        /// Whether it begins or ends with a blank.
        package var hasOuterBlank: Bool { text.first?.isWhitespace == true || text.last?.isWhitespace == true }

        package var description: String { "•••" }
        package var debugDescription: String { description }
        package var customMirror: Mirror { Mirror(self, children: [:]) }
    }
}

extension MQTTMessage {
    /// Throws if no broker would accept the message.
    func validate(maximumSize: Int) throws(MQTTError) {
        try MQTTTopic.validate(name: topic)
        if payload.count > maximumSize {
            throw .tooLarge("payload", size: payload.count, limit: maximumSize)
        }
        guard hasProperties else { return }
        let properties = properties
        if let responseTopic = properties.responseTopic { try MQTTTopic.validate(name: responseTopic) }
        if let size = properties.correlationData?.count, size > 65_535 {
            throw .tooLarge("correlation data", size: size, limit: 65_535)
        }
        for property in properties.userProperties {
            for text in [property.name, property.value] where !text.fitsIntoPacket {
                throw .invalidOption("userProperties", "each part must have at most 65,535 bytes, none of them zero")
            }
        }
        if let contentType = properties.contentType, !contentType.fitsIntoPacket {
            throw .invalidOption("contentType", "it must have at most 65,535 bytes, none of them zero")
        }
    }
}

extension String {
    /// Whether it has at most 65,535 bytes, none of them zero.
    fileprivate var fitsIntoPacket: Bool { utf8.count <= 65_535 && !utf8.contains(0) }
}

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
