internal import JostleRuntime
internal import MosquittoClient

/// Carries out the effects that do not depend on the participant: messages, subscriptions, files and log lines.
///
/// `AgentLoop` does so with a client that has a thread, `SwarmBoard` with one that is polled.
protocol EffectHost {
    /// Passes a message to the client.
    func publish(_ message: MQTTMessage, _ token: DeliveryToken?) -> Acceptance

    /// Subscribes to a filter, now and on every later connection.
    func subscribe(_ filter: String, keepsRetainFlag: Bool, isOptional: Bool) throws

    /// Ends a subscription.
    func unsubscribe(_ filter: String)

    /// Replaces a file of the state directory; the result comes later, as an event.
    func write(_ content: [UInt8], to file: StateFile)

    /// Writes a line to the log.
    func write(_ level: Log.Level, _ line: String)
}

/// The client's response to a message.
enum Acceptance {
    case taken
    /// Not now: the client is not connected, or its queue is full.
    case noRoom
    /// Never: the message cannot be sent over MQTT.
    case refused(MQTTFailure)

    /// The response that an error of `publish` means.
    init(_ error: MQTTError) {
        switch error {
        case .tooLarge: self = .refused(.refused(.packetTooLarge))
        case .invalidTopic: self = .refused(.refused(.topicNameInvalid))
        case .notConnected, .queueFull, .stopped, .alreadyStarted, .invalidOption, .system: self = .noRoom
        }
    }
}

extension EffectHost {
    /// How long a device that has found another one with its id leaves the connection to it, at least.
    static var givingWay: Duration { .seconds(60) }

    /// Carries out effects in order; `request` carries out those that only this participant has.
    ///
    /// - Returns: an event for each message that the client did not accept. If it had no room for one message, the
    ///   later ones are not sent either, so that their order is kept.
    func carryOut<Token, Request>(
        _ effects: [Effect<Token, Request>], owner: (Token) -> DeliveryToken, request: (Request) -> Void
    ) -> [ParticipantEvent<Token>] {
        var feedback: [ParticipantEvent<Token>] = []
        var unsent: [Token] = []
        for effect in effects {
            switch effect {
            case .publish(let message, nil): _ = publish(message, nil)
            case .publish(_, let token?) where !unsent.isEmpty: unsent.append(token)
            case .publish(let message, let token?):
                switch publish(message, owner(token)) {
                case .taken: break
                case .noRoom: unsent.append(token)
                case .refused(let failure): feedback.append(.rejected(token, topic: message.topic, failure))
                }
            case .subscribe(let filter, let keepsRetainFlag, let isOptional):
                do {
                    try subscribe(filter, keepsRetainFlag: keepsRetainFlag, isOptional: isOptional)
                } catch {
                    // Filters are built from validated settings, so a refusal is unexpected.
                    write(.warning, "cannot subscribe to \(filter): \(error)")
                }
            case .unsubscribe(let filter): unsubscribe(filter)
            case .write(let file, let content): write(content, to: file)
            case .log(let level, let text): write(level, text)
            case .request(let wanted): request(wanted)
            }
        }
        return unsent.isEmpty ? feedback : feedback + [.notSent(unsent)]
    }
}
