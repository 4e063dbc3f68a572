/// How hard a message is tried to be delivered.
///
/// Exactly-once (QoS 2) is left out: nothing here needs it, and its handshake would have to survive restarts.
package enum MQTTQoS: UInt8, Comparable, Sendable {
    /// Sent once; lost where the connection is.
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

    /// To the broker: keep it for later subscribers. From the broker: it was kept, and is not news.
    package var retain: Bool

    /// What MQTT 5 adds; left out on an MQTT 3.1.1 connection.
    package var properties: Properties

    /// Whether `MQTTOptions.spacing` holds for it. Default true.
    package var isSpaced = true

    /// Makes a message of bytes.
    package init(
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
    package init(
        topic: String, text: String, qos: MQTTQoS = .atMostOnce, retain: Bool = false,
        properties: Properties = Properties()
    ) {
        self.init(topic: topic, payload: Array(text.utf8), qos: qos, retain: retain, properties: properties)
    }

    /// The properties of MQTT 5 that this client knows (MQTT 5.0, section 3.3.2.3).
    package struct Properties: Equatable, Sendable {
        /// Seconds after which a broker drops the message undelivered.
        package var messageExpiry: UInt32?

        /// Where an answer to this message is expected.
        package var responseTopic: String?

        /// What the answer must carry so that it is recognised; up to 65,535 bytes.
        package var correlationData: [UInt8]?

        /// What the payload is, as a MIME type.
        package var contentType: String?

        /// What people and programs agree upon: names and values, of which names may occur more than once. Of a message that
        /// comes, the first eight.
        package var userProperties: [UserProperty]

        /// Makes properties; none by default.
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

    /// A name and a value of somebody's own.
    package struct UserProperty: Equatable, Sendable {
        package var name: String
        package var value: String

        /// Makes a property; neither part may hold a zero.
        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }
}
