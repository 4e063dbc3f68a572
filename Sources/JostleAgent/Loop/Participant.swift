internal import JostleMessages
internal import MosquittoClient
internal import MotionCore

/// A part of the agent: a value that hears what happens and answers with what is to be done.
///
/// It has no thread, no lock, no clock and does no I/O, so it is tested without any of them. The agent's loop owns it, hands
/// it every event in a fixed order and carries out its effects, in order, before it hands out the next event.
protocol Participant {
    /// Identifies its messages. Each participant has its own type, so none can be given another's acknowledgement.
    associatedtype Token: Hashable, Sendable

    /// What only the loop can do for it: change settings, store a batch, carry out a command. `Never` if there is nothing.
    associatedtype Request

    /// What is to be done before the first event, such as subscriptions.
    mutating func start(at now: ClockReading) -> [Effect<Token, Request>]

    /// What is to be done about an event.
    mutating func handle(_ event: ParticipantEvent<Token>, at now: ClockReading) -> [Effect<Token, Request>]

    /// When it wants to be called although nothing happens; `nil` if it does not.
    var nextDeadline: Timestamp? { get }

    /// What is to be done at a deadline; called early it does nothing.
    mutating func handleDeadline(at now: ClockReading) -> [Effect<Token, Request>]
}

extension Participant {
    typealias Effects = [Effect<Token, Request>]

    mutating func start(at now: ClockReading) -> Effects { [] }
    var nextDeadline: Timestamp? { nil }
    mutating func handleDeadline(at now: ClockReading) -> Effects { [] }
}

/// What a participant hears of.
///
/// Of a message that it publishes with a token it hears exactly once: that the broker has it, that the broker refused it, or
/// that it came back, because the client had no room for it or lost the connection.
enum ParticipantEvent<Token: Hashable & Sendable>: Sendable {
    case connected
    /// The broker answered a subscription, whatever the answer was.
    case subscriptionAnswered(filter: String)
    /// A message came on a topic that somebody subscribed to.
    case message(MQTTMessage)
    case acknowledged(Token)
    case rejected(Token, topic: String, MQTTFailure)
    /// The client had no room for these messages; they were the last ones of a list of effects.
    case notSent([Token])
    /// The connection is lost, or was not made; these messages came back.
    case disconnected(undelivered: [Token])
    /// A file was written, or could not be; in that case it is tried again without another request.
    case fileWritten(StateFile, failure: String?)
}

/// What is to be done for a participant.
enum Effect<Token: Hashable & Sendable, Request> {
    /// Publishes a message. Without a token nobody hears what became of it.
    case publish(MQTTMessage, Token?)
    /// Subscribes to a filter, now and on every later connection.
    case subscribe(String, keepsRetainFlag: Bool)
    case unsubscribe(String)
    /// Replaces a file of the state directory.
    case write(StateFile, [UInt8])
    case log(Log.Level, String)
    /// Asks the loop for something that is particular to this participant.
    case request(Request)
}

extension Effect {
    /// Publishes a message whose fate nobody needs to know.
    static func publish(_ message: MQTTMessage) -> Effect { .publish(message, nil) }

    /// Subscribes to a filter; the broker need not say which messages were retained.
    static func subscribe(_ filter: String) -> Effect { .subscribe(filter, keepsRetainFlag: false) }
}

extension Effect: Sendable where Request: Sendable {}
extension Effect: Equatable where Request: Equatable {}

/// The files of the state directory that the agent's participants write.
enum StateFile: String, CaseIterable, Sendable {
    case localSettings = "local-settings.json"
    case announcedTopics = "announced-topics"
    case deviceNames = "device-names"
}
