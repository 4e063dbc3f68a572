/// A message to be sent, with its mark.
struct Outgoing: Sendable {
    var message: MQTTMessage
    var mark: MessageMark?
}

/// Identifies a message that has a token, in the layers below the clients.
///
/// Only the public types are generic over the token. Session, library wrapper and thread use this type, so they are
/// compiled once.
struct MessageMark: Hashable, Sendable {
    let number: UInt64

    /// The client's own final message. Publishers' marks start at 1.
    static let farewell = MessageMark(number: 0)
}

/// A change of a client's subscriptions.
enum SubscriptionChange: Sendable {
    case subscribe(String, MQTTSubscription)
    case unsubscribe(String)
}
