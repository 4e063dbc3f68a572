internal import MosquittoClient

/// Publishes messages that are of use only now: from the delivery thread directly to the client, which is thread-safe.
/// Nothing waits for a connection.
struct StreamOutput: Sendable {
    /// When more messages than this wait for the network, no others are added: events have priority.
    static let maximumBacklog = 200

    let topic: String
    /// Publishes a message; returns false if the client does not accept it.
    let send: @Sendable (MQTTMessage) -> Bool
    /// The number of messages waiting for the network.
    let backlog: @Sendable () -> Int

    /// Publishes a payload on the topic, unless there is no connection or too much waits.
    ///
    /// - Returns: whether the client accepted it.
    func publish(_ payload: [UInt8]) -> Bool {
        backlog() <= StreamOutput.maximumBacklog
            && send(MQTTMessage(topic: topic, payload: payload, qos: .atMostOnce))
    }
}
