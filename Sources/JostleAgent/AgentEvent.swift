internal import IMUDrivers
internal import JostleConfiguration
internal import MosquittoClient
internal import MotionCore

/// An event that another thread posts to the agent's loop.
enum AgentEvent: MailboxEvent {
    /// From the network thread.
    case mqtt(MQTTEvent<DeliveryToken>)
    /// From the delivery thread.
    case motion(MotionState)
    case gesture(GestureEvent)
    case action(JostleSettings.Action, GestureEvent)
    case sensor(SensorEvent)
    /// From the writer's thread: the outcome of an outbox batch or of a file write, and a change of the storage faults.
    case outbox(OutboxFile.Outcome)
    case file(StateFile, failure: String?)
    case storageChanged
    /// From the thread that read the configuration files again.
    case configuration(Result<LoadedConfiguration, ConfigurationErrors>)
    /// From the threads of commands: replies to publish.
    case replies([MQTTMessage])

    /// Payload bytes that are kept of a received message. It exceeds the largest reader's limit by one, so that a longer
    /// payload is still refused for its length.
    private static let maximumPayload = 65_537

    var kind: MailboxKind {
        switch self {
        case .mqtt(.message(let message)): .external(bytes: message.payload.count + message.topic.utf8.count)
        case .mqtt, .sensor, .outbox, .file, .storageChanged, .configuration, .replies: .essential
        case .motion: .newest
        case .gesture, .action: .gesture
        }
    }

    /// Wraps an MQTT event, and truncates a payload that is longer than any reader accepts.
    init(_ event: MQTTEvent<DeliveryToken>) {
        guard case .message(var message) = event, message.payload.count > AgentEvent.maximumPayload else {
            self = .mqtt(event)
            return
        }
        message.payload = Array(message.payload.prefix(AgentEvent.maximumPayload))
        self = .mqtt(.message(message))
    }
}

/// The token under which the client knows a message: the owner, and the owner's own token. One owner cannot be given
/// another's token.
enum DeliveryToken: Hashable, Sendable {
    case settings(SettingsStore.Token)
    case discovery(DiscoveryPublisher.Token)
    case formerNames(FormerNameCleaner.Token)
    case telemetry(TelemetryPublisher.Token)
    case outbox(OutboxToken)

    var settings: SettingsStore.Token? { if case .settings(let token) = self { token } else { nil } }
    var discovery: DiscoveryPublisher.Token? { if case .discovery(let token) = self { token } else { nil } }
    var formerNames: FormerNameCleaner.Token? { if case .formerNames(let token) = self { token } else { nil } }
    var telemetry: TelemetryPublisher.Token? { if case .telemetry(let token) = self { token } else { nil } }
    var outbox: OutboxToken? { if case .outbox(let token) = self { token } else { nil } }
    /// Commands never need to know whether their replies arrived.
    var commands: Never? { nil }
}

extension ParticipantEvent {
    /// The participant's view of an MQTT event; `own` returns the token if it belongs to the participant. `nil` if the
    /// event does not concern it.
    init?(_ event: MQTTEvent<DeliveryToken>, own: (DeliveryToken) -> Token?) {
        switch event {
        case .connected: self = .connected
        case .subscribed(let filter, _): self = .subscriptionAnswered(filter: filter, isGranted: true)
        case .subscriptionRefused(let filter, _), .subscriptionLeftOut(let filter, _):
            self = .subscriptionAnswered(filter: filter, isGranted: false)
        case .message(let message): self = .message(message)
        case .acknowledged(let token):
            guard let token = own(token) else { return nil }
            self = .acknowledged(token)
        case .rejected(let token?, let topic, let failure):
            guard let token = own(token) else { return nil }
            self = .rejected(token, topic: topic, failure)
        case .disconnected(let end), .refused(let end):
            self = .disconnected(
                undelivered: end.undelivered.compactMap(own), end.failure)
        case .stopped(let undelivered): self = .disconnected(undelivered: undelivered.compactMap(own))
        case .connecting, .subscriptionRestored, .rejected(nil, _, _): return nil
        }
    }
}

extension Participant {
    /// Handles an MQTT event; `own` returns the token if it belongs to the participant.
    mutating func handle(
        _ event: MQTTEvent<DeliveryToken>, own: (DeliveryToken) -> Token?, at now: ClockReading
    ) -> Effects {
        guard let event = ParticipantEvent(event, own: own) else { return [] }
        return handle(event, at: now)
    }
}

extension MQTTEvent<DeliveryToken> {
    /// Whether the owner of a rejected message logs the rejection itself.
    var isLoggedByItsOwner: Bool {
        guard case .rejected(let token?, _, _) = self else { return false }
        return token.discovery != nil || token.formerNames != nil || token.outbox != nil
    }

    /// The event as an observer of the connection sees it.
    var connectionChange: Agent.ConnectionChange? {
        switch self {
        case .connected(let connection): .connected(connection)
        case .disconnected(let end), .refused(let end):
            end.retryAfter == nil ? nil : .notConnected(end.broker, end.failure)
        default: nil
        }
    }
}
