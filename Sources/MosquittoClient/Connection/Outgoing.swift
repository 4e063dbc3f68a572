/// A message on its way to the broker, with its publisher's mark.
struct Outgoing: Sendable {
    var message: MQTTMessage
    var mark: MessageMark?
}

/// The number by which the parts below the clients know a message whose publisher gave it a token.
///
/// Only what a program sees is generic: session, library and thread are compiled once and know no type but this.
struct MessageMark: Hashable, Sendable {
    let number: UInt64

    /// The client's own last message; publishers' marks begin with 1.
    static let farewell = MessageMark(number: 0)
}

/// A change to what a client listens to.
enum SubscriptionChange: Sendable {
    case subscribe(String, MQTTSubscription)
    case unsubscribe(String)
}
