internal import JostleRuntime
internal import MosquittoClient
internal import MotionCore

/// A part of the agent: a value type that receives events and returns effects.
///
/// A participant has no thread, lock or clock and performs no I/O, so tests need none of these. Only telemetry shares its
/// schedule with the delivery thread, behind a lock. `DeviceCore` owns it, passes it every event in a fixed order, and
/// carries out its effects, in order, before it passes on the next event.
protocol Participant {
    /// What only the loop can do for it: change settings, store a batch, carry out a command. `Never` if there are no
    /// requests.
    associatedtype Request

    /// The owner of the messages that it publishes.
    static var owner: Owner { get }

    /// The effects before the first event, such as subscriptions.
    mutating func start(at now: ClockReading) -> [Effect<Self>]

    /// Handles an event.
    mutating func handle(_ event: ParticipantEvent, at now: ClockReading) -> [Effect<Self>]

    /// When the participant must be called if no event arrives; `nil` if it has no deadline.
    var nextDeadline: Timestamp? { get }

    /// Handles a deadline. Has no effect if called early.
    mutating func handleDeadline(at now: ClockReading) -> [Effect<Self>]
}

extension Participant {
    typealias Effects = [Effect<Self>]

    mutating func start(at now: ClockReading) -> Effects { [] }
    var nextDeadline: Timestamp? { nil }
    mutating func handleDeadline(at now: ClockReading) -> Effects { [] }
}

/// The participants, in the order in which they receive events.
enum Owner: UInt8, CaseIterable, Sendable {
    case settings
    case retained
    case formerNames
    case discovery
    case commands
    case telemetry
    case outbox

    /// Whether it logs itself that a message was rejected.
    var logsRejections: Bool {
        switch self {
        case .formerNames, .discovery, .outbox: true
        case .settings, .retained, .commands, .telemetry: false
        }
    }
}

/// A message's number, which its participant chose and learns the message's outcome under. To the client it is one token
/// with the owner, so no participant can receive another's acknowledgement.
struct DeliveryToken: Hashable, Comparable, Sendable {
    let number: Int64

    static func < (a: DeliveryToken, b: DeliveryToken) -> Bool { a.number < b.number }
}

extension MQTTToken {
    init(_ token: DeliveryToken, of owner: Owner) { self.init(token.number, owner: owner.rawValue) }

    /// The token of this owner's message; `nil` if the message is another's.
    func token(of owner: Owner) -> DeliveryToken? {
        self.owner == owner.rawValue ? DeliveryToken(number: number) : nil
    }
}

/// An event that a participant receives.
///
/// A message that was published with a token leads to exactly one event: the broker acknowledged it, the broker
/// rejected it, or it came back because the client had no room for it or lost the connection.
enum ParticipantEvent: Sendable {
    case connected
    /// The broker granted or refused a subscription, or the client leaves it out on this connection.
    case subscriptionAnswered(filter: String, isGranted: Bool)
    /// A message arrived that matches a subscription of any participant.
    case message(MQTTMessage)
    case acknowledged(DeliveryToken)
    case rejected(DeliveryToken, topic: String, MQTTFailure)
    /// The client had no room for these messages. They are the last ones of a list of effects.
    case notSent([DeliveryToken])
    /// The connection was lost or could not be made. These messages came back.
    case disconnected(undelivered: [DeliveryToken], MQTTFailure = .silent)
    /// A file was written, or a write failed. A failed write is retried without another request.
    case fileWritten(StateFile, failure: String?)
}

extension ParticipantEvent {
    /// A participant's view of an MQTT event; `nil` if the event does not concern it.
    init?(_ event: MQTTEvent, for owner: Owner) {
        switch event {
        case .connected: self = .connected
        case .subscribed(let filter, _): self = .subscriptionAnswered(filter: filter, isGranted: true)
        case .subscriptionRefused(let filter, _), .subscriptionLeftOut(let filter, _):
            self = .subscriptionAnswered(filter: filter, isGranted: false)
        case .message(let message): self = .message(message)
        case .acknowledged(let token):
            guard let token = token.token(of: owner) else { return nil }
            self = .acknowledged(token)
        case .rejected(let token, let topic, let failure):
            guard let token = token?.token(of: owner) else { return nil }
            self = .rejected(token, topic: topic, failure)
        case .disconnected(let end):
            self = .disconnected(undelivered: end.undelivered.compactMap { $0.token(of: owner) }, end.failure)
        case .stopped(let undelivered):
            self = .disconnected(undelivered: undelivered.compactMap { $0.token(of: owner) })
        case .connecting, .subscriptionRestored: return nil
        }
    }
}

/// An action that a participant wants the loop to carry out.
enum Effect<Sender: Participant> {
    /// Publishes a message. Without a token the participant is not notified of the outcome.
    case publish(MQTTMessage, DeliveryToken?)
    /// Subscribes to a filter, now and on every later connection. The connection is of use without an optional one.
    case subscribe(String, keepsRetainFlag: Bool, isOptional: Bool = false)
    case unsubscribe(String)
    /// Replaces a file of the state directory.
    case write(StateFile, [UInt8])
    case log(Log.Level, String)
    /// Makes a request that is specific to this participant.
    case request(Sender.Request)
}

extension Effect {
    /// Publishes a message whose outcome the participant does not need.
    static func publish(_ message: MQTTMessage) -> Effect { .publish(message, nil) }

    /// Subscribes to a filter; the broker may clear the retain flags.
    static func subscribe(_ filter: String) -> Effect { .subscribe(filter, keepsRetainFlag: false) }
}

extension Effect: Sendable where Sender.Request: Sendable {}
extension Effect: Equatable where Sender.Request: Equatable {}
