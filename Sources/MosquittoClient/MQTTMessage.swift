/// How hard a message is tried to be delivered.
///
/// Exactly-once (QoS 2) is left out: nothing here needs it, and its handshake would have to survive restarts.
public enum MQTTQoS: UInt8, Comparable, Sendable {
    /// Sent once; lost where the connection is.
    case atMostOnce = 0
    /// Acknowledged by the broker; may arrive twice.
    case atLeastOnce = 1

    public static func < (a: MQTTQoS, b: MQTTQoS) -> Bool { a.rawValue < b.rawValue }
}

/// A message to or from a broker.
public struct MQTTMessage: Equatable, Sendable {
    public var topic: String
    public var payload: [UInt8]
    public var qos: MQTTQoS

    /// To the broker: keep it for later subscribers. From the broker: it was kept, and is not news.
    public var retain: Bool

    /// What MQTT 5 adds; left out on an MQTT 3.1.1 connection.
    public var properties: Properties

    /// Whether `MQTTOptions.spacing` holds for it. Default true.
    public var isSpaced = true

    /// Makes a message of bytes.
    public init(
        topic: String, payload: [UInt8], qos: MQTTQoS = .atMostOnce, retain: Bool = false,
        properties: Properties = Properties()
    ) {
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.properties = properties
    }

    /// Makes a message of text, sent as UTF-8.
    public init(
        topic: String, text: String, qos: MQTTQoS = .atMostOnce, retain: Bool = false,
        properties: Properties = Properties()
    ) {
        self.init(topic: topic, payload: Array(text.utf8), qos: qos, retain: retain, properties: properties)
    }

    /// The properties of MQTT 5 that this client knows (MQTT 5.0, section 3.3.2.3).
    public struct Properties: Equatable, Sendable {
        /// Seconds after which a broker drops the message undelivered.
        public var messageExpiry: UInt32?

        /// Where an answer to this message is expected.
        public var responseTopic: String?

        /// What the answer must carry so that it is recognised; up to 65,535 bytes.
        public var correlationData: [UInt8]?

        /// What the payload is, as a MIME type.
        public var contentType: String?

        /// What people and programs agree upon: names and values, of which names may occur more than once. Of a message that
        /// comes, the first eight.
        public var userProperties: [UserProperty]

        /// Makes properties; none by default.
        public init(
            messageExpiry: UInt32? = nil, responseTopic: String? = nil, correlationData: [UInt8]? = nil,
            contentType: String? = nil, userProperties: [UserProperty] = []
        ) {
            self.messageExpiry = messageExpiry
            self.responseTopic = responseTopic
            self.correlationData = correlationData
            self.contentType = contentType
            self.userProperties = userProperties
        }

        /// Whether there are none.
        public var isEmpty: Bool { self == Properties() }
    }

    /// A name and a value of somebody's own.
    public struct UserProperty: Equatable, Sendable {
        public var name: String
        public var value: String

        /// Makes a property; neither part may hold a zero.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }
}
