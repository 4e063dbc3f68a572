/// Identifies a message to its publisher, who learns the message's outcome under it.
package struct MQTTToken: Hashable, Sendable {
    /// The part of the program that published the message, and the number that it chose. 255 is the client itself.
    package let owner: UInt8
    package let number: Int64

    package init(_ number: Int64, owner: UInt8 = 0) {
        self.owner = owner
        self.number = number
    }
}

/// An event of a client. Events are delivered in the order in which they happened, on the network thread by
/// `MQTTClient` and from `advance` by `MQTTPolledClient`.
package enum MQTTEvent: Sendable {
    case connecting(BrokerAddress, MQTTVersion)
    case connected(MQTTConnection)
    /// The broker granted a subscription, with at most this quality of service.
    case subscribed(filter: String, qos: MQTTQoS)
    /// The broker refused a subscription. The client requests it again on the next connection.
    case subscriptionRefused(filter: String, MQTTReason)
    /// A filter is not requested for now.
    case subscriptionLeftOut(filter: String, MQTTOmission)
    /// A filter that was left out because of a message that was too large has been answered, and the connection has
    /// lasted since then: that message is gone.
    case subscriptionRestored(filter: String)
    case message(MQTTMessage)
    /// The broker has received the message (QoS 1), or the socket has accepted it (QoS 0).
    case acknowledged(MQTTToken)
    /// The broker, or libmosquitto on its behalf, rejected the message. A retry helps only if the failure may pass.
    case rejected(MQTTToken?, topic: String, MQTTFailure)
    /// A connection ended or could not be established. `MQTTFailure.refused` means that the broker refused it.
    case disconnected(MQTTDisconnection)
    /// The client has ended; this is the last event. The outcome of the listed messages is unknown.
    case stopped(undelivered: [MQTTToken])
}

/// Why a filter is not requested for now. It is requested again on a connection that has lasted.
package enum MQTTOmission: Equatable, Sendable {
    /// The filter is optional, and the broker ended a connection instead of answering.
    case noAnswer
    /// A message to this topic was larger than `MQTTOptions.maximumPacketSize`, which ended a connection. The topic is
    /// `nil` if it is not known.
    case messageTooLarge(topic: String?)

    /// The reason code that is closest to it.
    package var reason: MQTTReason {
        switch self {
        case .noAnswer: .unspecified
        case .messageTooLarge: .packetTooLarge
        }
    }
}

extension MQTTOmission: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noAnswer: "the broker ended a connection instead of answering"
        case .messageTooLarge(nil): "a message to this filter is larger than this client takes"
        case .messageTooLarge(let topic?): "a message to \(topic.shortened) is larger than this client takes"
        }
    }
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

/// An established connection.
package struct MQTTConnection: Equatable, Sendable {
    package var broker: BrokerAddress
    package var version: MQTTVersion

    /// Whether the broker still had this client's session and subscriptions.
    package var sessionPresent: Bool

    /// How MQTT 5 failed, if 3.1.1 is used for that reason.
    package var withoutV5: MQTTFailure?

    /// What the broker does not do.
    package var limits = MQTTLimits.none
}

/// What a broker does not do, as far as it says so (MQTT 5, 3.2.2.3.4 and 3.2.2.3.5). Messages and the will ask for no
/// more than that.
package struct MQTTLimits: Equatable, Sendable {
    /// Whether it retains messages.
    package var retains = true

    /// The quality of service with which it takes messages at most.
    package var maximumQoS = MQTTQoS.atLeastOnce

    /// Those of a broker that does everything.
    package static let none = MQTTLimits()

    /// The message as this broker takes it.
    func applied(to message: MQTTMessage) -> MQTTMessage {
        var message = message
        message.retain = message.retain && retains
        message.qos = min(message.qos, maximumQoS)
        return message
    }

    /// Whether this broker takes more of a message than one with the limits `other`.
    func takesMore(of message: MQTTMessage, than other: MQTTLimits) -> Bool {
        applied(to: other.applied(to: message)) != applied(to: message)
    }
}

/// The end of a connection, or a failed attempt at one.
package struct MQTTDisconnection: Equatable, Sendable {
    package var broker: BrokerAddress
    package var failure: MQTTFailure

    /// Whether the connection had been established.
    package var wasConnected: Bool

    /// The tokens of messages that were accepted but not acknowledged, in order. The client does not send them again.
    package var undelivered: [MQTTToken]

    /// The delay before the next attempt; `nil` if the client has been stopped.
    package var retryAfter: Duration?

    /// Whether the failure says nothing about the broker yet: the next attempt may try what this one did not, another
    /// version of MQTT or another address.
    package var triesMore = false

    /// How many connections in a row may have ended because another client took over the session.
    package var takeovers = 0

    /// Whether another client uses the same client id, as the broker says, or as several closed connections suggest.
    package var isTakeover: Bool { wasConnected && (failure == .closedByBroker(.sessionTakenOver) || takeovers >= 3) }

    /// What the user can do about it; `nil` if waiting is enough.
    package var advice: String? {
        // Some brokers close the connection without a reason if another client connects with the same id (mosquitto
        // 2.0.11).
        guard wasConnected, failure == .closed else { return failure.advice }
        guard isTakeover else {
            return "if this keeps happening, another client uses the same id: give each device its own"
        }
        return "this happens again and again: probably \(MQTTFailure.takeoverAdvice)"
    }
}

/// A client's counters since its creation, and its present state.
package struct MQTTStatistics: Equatable, Sendable {
    /// The present connection, if there is one.
    package var connection: MQTTConnection?

    /// Connection attempts, and successful ones.
    package var attempts: UInt64 = 0
    package var connects: UInt64 = 0

    /// Messages accepted from callers, and their outcomes.
    package var published: UInt64 = 0
    package var acknowledged: UInt64 = 0
    package var rejected: UInt64 = 0
    package var undelivered: UInt64 = 0

    /// The acknowledged messages to whose topics nobody subscribed, by the broker's account. Only MQTT 5 brokers can say
    /// so, and not all of them do.
    package var unmatched: UInt64 = 0

    /// Messages received from the broker, except those that `MQTTOptions.takesMessage` took.
    package var received: UInt64 = 0

    /// Messages waiting to be passed to libmosquitto, and messages waiting for their acknowledgement.
    package var queued = 0
    package var inFlight = 0

    /// Connections that ended with `MQTTFailure.unreadable`. Each of them leaked some of libmosquitto's memory.
    package var unreadable: UInt64 = 0

    /// Why the last connection ended or could not be established.
    package var lastFailure: MQTTFailure?
}

/// The result of stopping a client.
package enum MQTTStopResult: Equatable, Sendable {
    /// The network thread has ended. This many messages are unacknowledged.
    case stopped(undelivered: Int)
    /// The network thread is stuck in a blocking call, most likely DNS, and was detached.
    case detached
    /// `stop` was called from the event handler, and the thread ends after the handler returns; or it was called before.
    case stopping
    /// The client was never started.
    case notStarted
}
