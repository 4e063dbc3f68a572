/// What a client reports, in the order in which it happened, on the client's network thread (`MQTTClient`) or from
/// `advance` (`MQTTPolledClient`).
///
/// `Token` is the publisher's own mark of a message, by which its fate is reported; `Never` for one without.
package enum MQTTEvent<Token: Hashable & Sendable>: Sendable {
    case connecting(BrokerAddress, MQTTVersion)
    case connected(MQTTConnection)
    /// The broker granted a subscription, at most with this quality of service.
    case subscribed(filter: String, qos: MQTTQoS)
    /// The broker refused a subscription; it is asked again on the next connection.
    case subscriptionRefused(filter: String, MQTTReason)
    case message(MQTTMessage)
    /// The broker has the message (QoS 1), or the system's socket has (QoS 0).
    case acknowledged(Token)
    /// The broker, or libmosquitto on its behalf, will not take this message: trying again is of no use.
    case rejected(Token?, topic: String, MQTTFailure)
    /// The broker answered and refused.
    case refused(MQTTDisconnection<Token>)
    /// A connection ended, or could not be made.
    case disconnected(MQTTDisconnection<Token>)
    /// The client ended; nothing follows. The messages are those whose fate is unknown.
    case stopped(undelivered: [Token])
}

/// A version of MQTT.
package enum MQTTVersion: Sendable, CustomStringConvertible {
    case v311
    case v5

    package var description: String {
        switch self {
        case .v311: "3.1.1"
        case .v5: "5"
        }
    }
}

/// A connection that was made.
package struct MQTTConnection: Equatable, Sendable {
    package var broker: BrokerAddress
    package var version: MQTTVersion

    /// Whether the broker still knew this client and its subscriptions.
    package var sessionPresent: Bool
}

/// A connection that ended, or was not made.
package struct MQTTDisconnection<Token: Hashable & Sendable>: Equatable, Sendable {
    package var broker: BrokerAddress
    package var failure: MQTTFailure

    /// Whether there had been a connection.
    package var wasConnected: Bool

    /// The tokens of messages that were taken but not acknowledged, in order; the client forgets them.
    package var undelivered: [Token]

    /// How long the client waits before it tries again; nil where it does not, being stopped.
    package var retryAfter: Duration?

    /// What the reader can do about it; nil where waiting is all.
    package var advice: String? {
        // Some brokers hang up without a word on a client whose id another one comes with (mosquitto 2.0.11).
        guard wasConnected, failure == .closed else { return failure.advice }
        return "where that goes on, another client has the same id: give each device its own"
    }
}

/// Counters since a client was made, and how it stands.
package struct MQTTStatistics: Equatable, Sendable {
    /// The present connection, if there is one.
    package var connection: MQTTConnection?

    /// Connections tried, and made.
    package var attempts: UInt64 = 0
    package var connects: UInt64 = 0

    /// Messages taken from callers, and what became of them.
    package var published: UInt64 = 0
    package var acknowledged: UInt64 = 0
    package var rejected: UInt64 = 0
    package var undelivered: UInt64 = 0

    /// Messages from the broker.
    package var received: UInt64 = 0

    /// Messages waiting to be handed to libmosquitto, and waiting for their acknowledgement.
    package var queued = 0
    package var inFlight = 0

    /// Connections that ended as `MQTTFailure.unreadable`, each of which took some memory of libmosquitto's with it.
    package var unreadable: UInt64 = 0

    /// Why the last connection ended or was not made.
    package var lastFailure: MQTTFailure?
}

/// How a client came to its end.
package enum MQTTStopResult: Equatable, Sendable {
    /// The network thread ended; this many messages are unacknowledged.
    case stopped(undelivered: Int)
    /// The network thread is stuck in a blocking call, DNS most likely, and was left behind.
    case leftBehind
    /// `stop` was called from the event handler: the thread ends after the handler returns.
    case stopping
    /// It never ran.
    case notStarted
}
