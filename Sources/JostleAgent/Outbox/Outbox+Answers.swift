internal import JostleMessages
internal import MosquittoClient
internal import MotionCore

// What the broker answers to a message: it accepts or refuses it, or ends the connection.
extension Outbox {
    /// The connection ended, with these messages on their way.
    mutating func disconnected(
        _ undelivered: [OutboxToken], _ failure: MQTTFailure, at now: Timestamp
    ) -> Effects {
        isConnected = false
        sendDue = nil
        queue.requeue(undelivered, wereSent: true)
        // A message that ended connections before was on its way again.
        for token in failure.mayBeForMessage ? undelivered : [] {
            guard let topic = refusals.endTry(token), refusals.endsConnections(topic) else { continue }
            return refused(topic, failure, wasTried: true, at: now)
        }
        guard let token = enders.disconnected(undelivered: undelivered, failure), let message = queue.message(token)
        else { return [] }
        return refused(message.topic, failure, wasTried: false, at: now)
    }

    /// The broker has a message.
    mutating func acknowledged(_ token: OutboxToken, at now: Timestamp) -> Effects {
        let message = queue.message(token)
        // The client acknowledges the others, which the broker does not answer.
        if message?.qos != .atMostOnce { enders.answered() }
        let triedTopic = refusals.endTry(token)
        queue.acknowledge(token)
        guard !refusals.isEmpty, let topic = triedTopic ?? message?.topic else { return [] }
        queue.markOvertaken(by: token, topic: topic)
        guard let count = refusals.accepted(topic, at: now) else { return [] }
        return change("the broker accepts messages to \(topic) again", .info, count, at: now)
    }

    /// Something changed about a topic for the `count`th time. A quota may change its mind many times.
    private mutating func change(_ text: String, _ level: Log.Level, _ count: Int, at now: Timestamp) -> Effects {
        guard ConnectionLog.isLogged(count), refusalLines.admit(at: now) != nil else {
            return [.request(.reportHealth)]
        }
        let times = count > 1 ? ", \(count) times so far" : ""
        return [.log(level, text + times), .request(.reportHealth)]
    }

    /// The broker or the client rejected a message.
    mutating func rejected(
        _ token: OutboxToken, _ topic: String, _ failure: MQTTFailure, at now: Timestamp
    ) -> Effects {
        if failure.concernsMessage { enders.answered() }
        let wasTried = refusals.endTry(token) != nil
        guard failure.mayPass else {
            queue.drop(token)
            guard losses.admit(at: now) != nil else { return [] }
            loggedTotals.dropped += 1
            return [.log(.warning, "dropped a message to \(topic): \(failure.messageDescription)")]
        }
        queue.requeue([token], wereSent: false)
        guard failure.concernsMessage else {
            sendDue = now.advanced(bySeconds: Outbox.sendPause)
            return []
        }
        return refused(topic, failure, wasTried: wasTried, at: now)
    }

    private mutating func refused(
        _ topic: String, _ failure: MQTTFailure, wasTried: Bool, at now: Timestamp
    ) -> Effects {
        guard let count = refusals.refused(topic, failure, wasTried: wasTried, at: now) else {
            return []
        }
        return change(Outbox.refusal(of: topic, failure) + "; they are kept and tried again", .warning, count, at: now)
    }

    /// The refusal for logs and health reports.
    static func refusal(of topic: String, _ failure: MQTTFailure) -> String {
        switch failure {
        case .refused: "the broker refuses messages to \(topic): \(failure.messageDescription)"
        case .library: "cannot send messages to \(topic): \(failure.messageDescription)"
        default: "each time a message to \(topic) is sent, the connection ends: \(failure.messageDescription)"
        }
    }
}
