internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient
internal import MotionCore
internal import MotionKit
internal import Synchronization

/// The rules of `actions` as members of the responder chain: after the handlers that a program added, in their order, and
/// before the publisher.
///
/// Each is a responder of its own, so that the chain's promise holds for it: whoever heard of a beginning hears of its end,
/// and whoever consumes a beginning keeps the gesture to itself.
final class ActionResponders: Sendable {
    private let performer: ActionPerformer
    private let tokens = Mutex<[RecognizerToken]>([])

    init(_ performer: ActionPerformer) {
        self.performer = performer
    }

    /// Puts rules into a manager's chain, in the place of those before, for which gestures under way are cancelled.
    ///
    /// They come before every handler that is there: a program adds its own afterwards.
    func install(_ actions: [JostleSettings.Action], in manager: MotionManager) {
        tokens.withLock { tokens in
            for token in tokens { token.remove() }
            // The newest handler hears first: the first rule is added last.
            tokens = actions.reversed().map { action in
                let recognizer = Recognizer(action.gesture).when { action.takesPart(in: $0) }
                return manager.addRecognizer(recognizer) { [performer] event in
                    if action.acts(on: event) { performer.perform(action, on: event) }
                    return action.isConsuming ? .consume : .passOn
                }
            }
        }
    }

    /// Carries out what rules say of an event that does not come down the chain and that no rule consumes.
    func perform(_ actions: [JostleSettings.Action], on event: GestureEvent) {
        for action in actions where !action.isConsuming && action.takesPart(in: event) && action.acts(on: event) {
            performer.perform(action, on: event)
        }
    }
}

/// Publishes what rules say of events.
struct ActionPerformer: Sendable {
    /// Bytes that a message may have: more than anybody writes, less than any broker refuses.
    static let largestPayload = 65_536

    private let device: String
    private let isSimulated: Bool
    private let topics: ActionTopics
    private let publisher: Publisher
    private let log: Log

    init(device: String, prefix: String, isSimulated: Bool, publisher: Publisher, log: Log) {
        self.device = device
        self.isSimulated = isSimulated
        self.publisher = publisher
        self.log = log
        topics = ActionTopics(prefix: prefix, id: device)
    }

    /// Publishes what a rule says of an event.
    func perform(_ action: JostleSettings.Action, on event: GestureEvent) {
        guard let topic = action.publish.topic else { return }
        let facts = EventFacts(
            event: event, stamp: publisher.stamp(event), device: device, isSimulated: isSimulated || event.isSimulated)
        let message = MQTTMessage(
            topic: topic.text(of: facts), text: action.publish.payload.text(of: facts),
            qos: action.publish.qos == 0 ? .atMostOnce : .atLeastOnce, retain: action.publish.isRetained)
        if let reason = refusal(of: message) {
            log.warning("action on \(event.gesture.word) not carried out: \(reason)")
            return
        }
        publisher.publish(message, at: event.timestamp, lifetime: action.publish.lifetime)
        log.debug("action on \(event.gesture.word) \(event.phase.word): \(message.topic)")
    }

    /// Why a message may not be published; what the client would never take must not stand before others in the outbox.
    private func refusal(of message: MQTTMessage) -> String? {
        do throws(MQTTError) {
            try MQTTTopic.validate(name: message.topic)
        } catch {
            return "\(error)"
        }
        if message.payload.count > ActionPerformer.largestPayload {
            return "the payload has \(message.payload.count) bytes, more than \(ActionPerformer.largestPayload)"
        }
        return topics.forbid(message.topic) ? "\(message.topic) is the device's own or the fleet's" : nil
    }
}
