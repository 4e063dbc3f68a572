internal import JostleRuntime
internal import MosquittoClient
internal import MotionCore

/// A part of the agent: a value type that receives events and returns effects.
///
/// A participant has no thread, lock or clock and performs no I/O, so tests need none of these. The agent's loop owns
/// it, passes it every event in a fixed order, and carries out its effects, in order, before it passes on the next
/// event.
protocol Participant {
    /// Identifies the participant's messages. Each participant has its own type, so none can receive another's
    /// acknowledgement.
    associatedtype Token: Hashable, Sendable

    /// What only the loop can do for it: change settings, store a batch, carry out a command. `Never` if there are no
    /// requests.
    associatedtype Request

    /// The effects before the first event, such as subscriptions.
    mutating func start(at now: ClockReading) -> [Effect<Token, Request>]

    /// Handles an event.
    mutating func handle(_ event: ParticipantEvent<Token>, at now: ClockReading) -> [Effect<Token, Request>]

    /// When the participant must be called if no event arrives; `nil` if it has no deadline.
    var nextDeadline: Timestamp? { get }

    /// Handles a deadline. Has no effect if called early.
    mutating func handleDeadline(at now: ClockReading) -> [Effect<Token, Request>]
}

extension Participant {
    typealias Effects = [Effect<Token, Request>]

    mutating func start(at now: ClockReading) -> Effects { [] }
    var nextDeadline: Timestamp? { nil }
    mutating func handleDeadline(at now: ClockReading) -> Effects { [] }
}

/// An event that a participant receives.
///
/// A message that was published with a token leads to exactly one event: the broker acknowledged it, the broker
/// rejected it, or it came back because the client had no room for it or lost the connection.
enum ParticipantEvent<Token: Hashable & Sendable>: Sendable {
    case connected
    /// The broker granted or refused a subscription, or the client leaves it out on this connection.
    case subscriptionAnswered(filter: String, isGranted: Bool)
    /// A message arrived that matches a subscription of any participant.
    case message(MQTTMessage)
    case acknowledged(Token)
    case rejected(Token, topic: String, MQTTFailure)
    /// The client had no room for these messages. They are the last ones of a list of effects.
    case notSent([Token])
    /// The connection was lost or could not be made. These messages came back.
    case disconnected(undelivered: [Token], MQTTFailure = .silent)
    /// A file was written, or a write failed. A failed write is retried without another request.
    case fileWritten(StateFile, failure: String?)
}

/// An action that a participant wants the loop to carry out.
enum Effect<Token: Hashable & Sendable, Request> {
    /// Publishes a message. Without a token the participant is not notified of the outcome.
    case publish(MQTTMessage, Token?)
    /// Subscribes to a filter, now and on every later connection. The connection is of use without an optional one.
    case subscribe(String, keepsRetainFlag: Bool, isOptional: Bool = false)
    case unsubscribe(String)
    /// Replaces a file of the state directory.
    case write(StateFile, [UInt8])
    case log(Log.Level, String)
    /// Makes a request that is specific to this participant.
    case request(Request)
}

extension Effect {
    /// Publishes a message whose outcome the participant does not need.
    static func publish(_ message: MQTTMessage) -> Effect { .publish(message, nil) }

    /// Subscribes to a filter; the broker may clear the retain flags.
    static func subscribe(_ filter: String) -> Effect { .subscribe(filter, keepsRetainFlag: false) }
}

extension Effect: Sendable where Request: Sendable {}
extension Effect: Equatable where Request: Equatable {}
