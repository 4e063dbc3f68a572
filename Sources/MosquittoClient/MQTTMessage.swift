/// The delivery guarantee of a message.
///
/// Exactly-once (QoS 2) is not supported: nothing here needs it, and its handshake would have to survive restarts.
package enum MQTTQoS: UInt8, Comparable, Sendable {
    /// Sent once; lost if the connection is lost.
    case atMostOnce = 0
    /// Acknowledged by the broker; may arrive twice.
    case atLeastOnce = 1

    package static func < (a: MQTTQoS, b: MQTTQoS) -> Bool { a.rawValue < b.rawValue }
}

/// A message to or from a broker.
package struct MQTTMessage: Equatable, Sendable {
    package var topic: String
    package var payload: [UInt8]
    package var qos: MQTTQoS

    /// To the broker: retain the message for later subscribers. From the broker: the message was retained, so it is not
    /// new.
    package var retain: Bool

    /// MQTT 5 properties, which are left out on an MQTT 3.1.1 connection.
    package var properties: Properties {
        get {
            guard case .properties(let properties) = stored else { return Properties() }
            return properties
        }
        set { stored = newValue.isEmpty ? nil : .properties(newValue) }
    }

    /// Outside of the message, because few have any, and all messages are passed on several times.
    private indirect enum Stored: Equatable, Sendable {
        case properties(Properties)
    }

    private var stored: Stored?

    /// Whether there are any.
    var hasProperties: Bool { stored != nil }

    /// Whether `MQTTOptions.spacing` applies to it. Default true.
    package var isSpaced = true

    /// Creates a message with a binary payload.
    package init(
        topic: String, payload: [UInt8], qos: MQTTQoS = .atMostOnce, retain: Bool = false,
        properties: Properties? = nil
    ) {
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
        if let properties { self.properties = properties }
    }

    /// Creates a message with a text payload, sent as UTF-8.
    package init(
        topic: String, text: String, qos: MQTTQoS = .atMostOnce, retain: Bool = false,
        properties: Properties? = nil
    ) {
        self.init(topic: topic, payload: Array(text.utf8), qos: qos, retain: retain, properties: properties)
    }

    /// The MQTT 5 properties that this client supports (MQTT 5.0, section 3.3.2.3).
    package struct Properties: Equatable, Sendable {
        /// Seconds after which the broker discards the message if it is still undelivered.
        package var messageExpiry: UInt32?

        /// The topic on which a response to this message is expected.
        package var responseTopic: String?

        /// Data that the response must carry, so that it can be matched to the request; up to 65,535 bytes.
        package var correlationData: [UInt8]?

        /// The MIME type of the payload.
        package var contentType: String?

        /// Application-defined pairs of names and values. Names may repeat. Of a received message, only the first eight
        /// pairs are kept.
        package var userProperties: [UserProperty]

        /// Creates a set of properties, empty by default.
        package init(
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
        package var isEmpty: Bool { self == Properties() }
    }

    /// An application-defined name and value.
    package struct UserProperty: Equatable, Sendable {
        package var name: String
        package var value: String

        /// Creates a property. Neither part may contain a zero character.
        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }
}
