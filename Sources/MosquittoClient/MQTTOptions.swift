/// How a client connects, and to whom.
package struct MQTTOptions: Sendable {
    /// The brokers, tried in turn; the first one again after a connection that lasted.
    package var brokers: [BrokerAddress]

    /// The name of this client at the broker; unique there, or two clients keep throwing each other out.
    package var clientID: String

    /// User name and password. Default: none.
    package var credentials: MQTTCredentials?

    /// What the broker publishes where this client is lost. Default: nothing.
    package var will: MQTTMessage?

    /// Seconds of silence after which the broker is asked whether it lives; whole seconds, 5 … 65,535. Default 15.
    ///
    /// Smaller notices a dead broker, and the broker a dead client, earlier; larger saves traffic.
    package var keepAlive: Duration = .seconds(15)

    /// How long the broker may take to answer that question. Default 5 s.
    ///
    /// Smaller notices a frozen broker earlier, but takes a slow network for one.
    package var responseTimeout: Duration = .seconds(5)

    /// How long a connection may take from the first packet to the broker's answer. Default 10 s.
    ///
    /// A DNS query cannot be interrupted: it counts, but is only noticed when it returns.
    package var connectTimeout: Duration = .seconds(10)

    /// Whether a session that the broker kept from an earlier run is dropped. Default true.
    ///
    /// Later connections of the same run take the session up where `sessionExpiry` let it survive.
    package var cleanStart = true

    /// How long the broker keeps subscriptions and undelivered messages after the connection ends; whole seconds.
    /// Default 0: not at all. MQTT 3.1.1 knows only zero and for ever.
    package var sessionExpiry: Duration = .zero

    /// Which versions of MQTT are spoken. Default: 5, and 3.1.1 where the broker does not know 5.
    package var versions: Versions = .automatic

    /// When to try again.
    package var backoff = MQTTBackoff()

    /// Messages sent and not yet acknowledged, at most, each way. Default 20.
    ///
    /// Larger is faster over a slow network; smaller leaves fewer in doubt when the connection breaks. The broker may
    /// ask for fewer (receive maximum).
    package var maximumInFlight: UInt16 = 20

    /// The largest packet taken from a broker, and the largest payload sent, in bytes. Default 1 MiB.
    package var maximumPacketSize = 1 << 20

    /// Messages, and bytes of their payloads, that may wait for the network thread. Defaults 1,000 and 4 MiB.
    ///
    /// Larger bridges longer stalls of the network; smaller tells the publisher earlier that there is one.
    package var queueCapacity = 1000
    package var queueBytes = 4 << 20

    /// Which topics are written to at intervals. Default: none.
    package var spacing: MQTTSpacing?

    /// TLS; used for brokers with an `mqtts:` address.
    package var tls = MQTTTLSOptions()

    /// Makes the default options for some brokers.
    package init(brokers: [BrokerAddress], clientID: String) {
        self.brokers = brokers
        self.clientID = clientID
    }

    /// Which versions of MQTT are spoken.
    package enum Versions: Sendable {
        case automatic
        case only(MQTTVersion)
    }

    /// Throws for the first setting that cannot work.
    func validate() throws(MQTTError) {
        if brokers.isEmpty { throw .invalidOption("brokers", "there must be at least one") }
        if clientID.isEmpty || clientID.utf8.count > 65_535 || clientID.utf8.contains(0) {
            throw .invalidOption("clientID", "it must have 1 to 65,535 bytes, none of them zero")
        }
        // libmosquitto refuses less than 5 s.
        if keepAlive < .seconds(5) || keepAlive > .seconds(65_535) {
            throw .invalidOption("keepAlive", "it must be 5 to 65,535 s")
        }
        if responseTimeout < .seconds(1) { throw .invalidOption("responseTimeout", "it must be at least 1 s") }
        if connectTimeout <= .zero { throw .invalidOption("connectTimeout", "it must be more than zero") }
        if sessionExpiry < .zero { throw .invalidOption("sessionExpiry", "it must not be negative") }
        if maximumInFlight == 0 { throw .invalidOption("maximumInFlight", "it must be at least 1") }
        if !(128...268_435_455).contains(maximumPacketSize) {
            throw .invalidOption("maximumPacketSize", "it must be 128 to 268,435,455 bytes")
        }
        if queueCapacity < 1 || queueBytes < 1 { throw .invalidOption("queueCapacity", "it must be at least 1") }
        if backoff.base <= .zero || backoff.cap < backoff.base {
            throw .invalidOption("backoff", "the base must be more than zero, and not more than the cap")
        }
        if !(1...1000).contains(backoff.unreadableFactor) {
            throw .invalidOption("backoff", "the factor must be 1 to 1,000")
        }
        if let will { try will.validate(maximumSize: 65_535) }
        if tls.certificateFile != nil, tls.keyFile == nil {
            throw .invalidOption("tls.keyFile", "a client certificate needs its key")
        }
    }
}

/// Keeps messages of one topic apart, for a listener that takes those that come together for one.
package struct MQTTSpacing: Equatable, Sendable {
    /// What the topics begin with that it is about, each for itself.
    package var prefix: String

    /// From one message to the next of the same topic, at least. Messages behind one that has to wait wait with it.
    package var interval: Duration

    /// Makes a spacing.
    package init(prefix: String, interval: Duration) {
        self.prefix = prefix
        self.interval = interval
    }
}

/// When to try again: a random time between zero and a bound that doubles with every round of failures (full jitter), so
/// that a thousand boards do not come back in the same second.
package struct MQTTBackoff: Equatable, Sendable {
    /// The first bound. Default 1 s. Larger spreads a herd wider; smaller is back earlier.
    package var base: Duration = .seconds(1)

    /// The largest bound. Default 60 s.
    package var cap: Duration = .seconds(60)

    /// How many times the cap a client waits at most after `MQTTFailure.unreadable`. Default 60: an hour.
    ///
    /// Each such failure costs memory for good, some kilobytes and with TLS about 170; a larger number spares it, a smaller
    /// one is back earlier with a broker that was mended.
    package var unreadableFactor = 60

    /// How long a connection must last to begin again with the first bound. Default 10 s.
    package var stableAfter: Duration = .seconds(10)

    /// Makes the default back-off.
    package init() {}

    /// The wait after `rounds` rounds of failures before this one.
    func delay(
        afterRounds rounds: Int, capFactor: Int = 1, using generator: inout some RandomNumberGenerator
    ) -> Duration {
        // 2^30 s are 34 years: any cap is reached, and nothing overflows.
        let bound = min(cap * capFactor, base * (1 << min(max(rounds, 0), 30)))
        // The upper 53 bits, as a fraction in [0, 1).
        return bound * (Double(generator.next() >> 11) * 0x1p-53)
    }
}

/// Where TLS finds its keys.
package struct MQTTTLSOptions: Equatable, Sendable {
    /// Where Debian's `ca-certificates` puts the authorities that the system trusts.
    package static let systemCADirectory = "/etc/ssl/certs"

    /// A file of certificate authorities (PEM), and a directory of them (`openssl rehash`). Default: the system's.
    package var caFile: String?
    package var caDirectory: String?

    /// This client's certificate and its key (PEM, not encrypted), where the broker asks for one.
    package var certificateFile: String?
    package var keyFile: String?

    /// Whether the certificate must be for the host's name. Default true; false leaves the door open to anybody with a
    /// certificate from the same authority.
    package var verifiesServerName = true

    /// The application protocol offered (ALPN): some brokers share port 443 by it. Default: none.
    package var applicationProtocol: String?

    /// Makes the default options.
    package init() {}
}

/// Who this client is.
package struct MQTTCredentials: Equatable, Sendable {
    package var userName: String
    package var password: Secret?

    /// Makes credentials.
    package init(userName: String, password: Secret?) {
        self.userName = userName
        self.password = password
    }

    /// A text that does not show in descriptions, dumps and mirrors.
    package struct Secret: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
    {
        let text: String

        /// Hides a text.
        package init(_ text: String) {
            self.text = text
        }

        package var description: String { "•••" }
        package var debugDescription: String { description }
        package var customMirror: Mirror { Mirror(self, children: [:]) }
    }
}

extension MQTTMessage {
    /// Throws where no broker would take the message.
    func validate(maximumSize: Int) throws(MQTTError) {
        try MQTTTopic.validate(name: topic)
        if payload.count > maximumSize {
            throw .tooLarge("payload", size: payload.count, limit: maximumSize)
        }
        if let responseTopic = properties.responseTopic { try MQTTTopic.validate(name: responseTopic) }
        if let size = properties.correlationData?.count, size > 65_535 {
            throw .tooLarge("correlation data", size: size, limit: 65_535)
        }
        for property in properties.userProperties {
            for text in [property.name, property.value] where text.utf8.count > 65_535 || text.utf8.contains(0) {
                throw .invalidOption("userProperties", "each part must have at most 65,535 bytes, none of them zero")
            }
        }
        if let contentType = properties.contentType {
            if contentType.utf8.count > 65_535 || contentType.utf8.contains(0) {
                throw .invalidOption("contentType", "it must have at most 65,535 bytes, none of them zero")
            }
        }
    }
}
