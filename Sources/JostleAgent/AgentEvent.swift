internal import IMUDrivers
internal import JostleConfiguration
internal import MosquittoClient
internal import MotionCore

/// What other threads post to the agent's loop.
enum AgentEvent: MailboxEvent {
    /// From the network thread.
    case mqtt(MQTTEvent<DeliveryToken>)
    /// From the delivery thread.
    case motion(MotionState)
    case gesture(GestureEvent)
    case action(JostleSettings.Action, GestureEvent)
    case sensor(SensorEvent)
    /// From the writer's thread: what came of a batch of the outbox, and of a file; that what cannot be stored has changed.
    case outbox(OutboxFile.Outcome)
    case file(StateFile, failure: String?)
    case storageChanged
    /// From the threads of commands: answers.
    case answers([MQTTMessage])

    /// Bytes of a stranger's payload that are kept: more than any reader takes, so that a longer one is refused for its length.
    private static let keptBytes = 65_537

    var kind: MailboxKind {
        switch self {
        case .mqtt(.message(let message)): .foreign(bytes: message.payload.count + message.topic.utf8.count)
        case .mqtt, .sensor, .outbox, .file, .storageChanged, .answers: .essential
        case .motion: .newest
        case .gesture, .action: .gesture
        }
    }

    /// The event of a client's event, with a payload that is too long for everybody cut short.
    init(_ event: MQTTEvent<DeliveryToken>) {
        guard case .message(var message) = event, message.payload.count > AgentEvent.keptBytes else {
            self = .mqtt(event)
            return
        }
        message.payload = Array(message.payload.prefix(AgentEvent.keptBytes))
        self = .mqtt(.message(message))
    }
}

/// By what the client knows a message: its owner, and the owner's own token. Another owner cannot be given it.
enum DeliveryToken: Hashable, Sendable {
    case settings(SettingsStore.Token)
    case discovery(DiscoveryPublisher.Token)
    case formerNames(FormerNames.Token)
    case telemetry(TelemetryPublisher.Token)
    case outbox(OutboxToken)

    var settings: SettingsStore.Token? { if case .settings(let token) = self { token } else { nil } }
    var discovery: DiscoveryPublisher.Token? { if case .discovery(let token) = self { token } else { nil } }
    var formerNames: FormerNames.Token? { if case .formerNames(let token) = self { token } else { nil } }
    var telemetry: TelemetryPublisher.Token? { if case .telemetry(let token) = self { token } else { nil } }
    var outbox: OutboxToken? { if case .outbox(let token) = self { token } else { nil } }
    /// Commands publish nothing whose fate they hear of.
    var commands: Never? { nil }
}

extension ParticipantEvent {
    /// What a participant hears of a client's event, given which tokens are its own; `nil` if it is not concerned.
    init?(_ event: MQTTEvent<DeliveryToken>, own: (DeliveryToken) -> Token?) {
        switch event {
        case .connected: self = .connected
        case .subscribed(let filter, _), .subscriptionRefused(let filter, _):
            self = .subscriptionAnswered(filter: filter)
        case .message(let message): self = .message(message)
        case .acknowledged(let token):
            guard let token = own(token) else { return nil }
            self = .acknowledged(token)
        case .rejected(let token?, let topic, let failure):
            guard let token = own(token) else { return nil }
            self = .rejected(token, topic: topic, failure)
        case .disconnected(let end), .refused(let end):
            self = .disconnected(undelivered: end.undelivered.compactMap(own))
        case .stopped(let undelivered): self = .disconnected(undelivered: undelivered.compactMap(own))
        case .connecting, .rejected(nil, _, _): return nil
        }
    }
}

extension Participant {
    /// What is to be done about a client's event, given which tokens are the participant's own.
    mutating func handle(
        _ event: MQTTEvent<DeliveryToken>, own: (DeliveryToken) -> Token?, at now: ClockReading
    ) -> Effects {
        guard let event = ParticipantEvent(event, own: own) else { return [] }
        return handle(event, at: now)
    }
}

extension MQTTEvent<DeliveryToken> {
    /// Whether the owner of a refused message logs it in words of its own.
    var isLoggedByItsOwner: Bool {
        guard case .rejected(let token?, _, _) = self else { return false }
        return token.discovery != nil || token.formerNames != nil
    }

    /// What an observer of the connection hears of it.
    var connectionChange: Agent.ConnectionChange? {
        switch self {
        case .connected(let connection): .connected(connection)
        case .disconnected(let end), .refused(let end):
            end.retryAfter == nil ? nil : .notConnected(end.broker, end.failure)
        default: nil
        }
    }
}
