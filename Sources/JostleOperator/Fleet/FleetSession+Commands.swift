internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient

/// Commands to many devices.
extension FleetSession {
    /// Sends a command to devices and waits for their answers, at most `seconds`.
    ///
    /// - Parameters:
    ///   - name: the command.
    ///   - arguments: its arguments, a JSON object.
    ///   - ids: the devices.
    ///   - seconds: the time limit.
    ///   - onAnswer: is called when another device has answered, with the number of answers.
    /// - Returns: the answers; a device that did not answer has none.
    /// - Throws: if the broker is not reached or refuses the command.
    package func command(
        _ name: String, _ arguments: [UInt8], to ids: [String], within seconds: Double,
        onAnswer: (Int) -> Void = { _ in }
    ) throws(FleetSessionError) -> CommandAnswers {
        let replyTopic = inbox.status.hasProperties ? self.replyTopic : nil
        let filter = replyTopic ?? "\(topics.prefix)/+/command/\(name)/result"
        var answers = CommandAnswers(replyTopic: replyTopic)
        var messages: [MQTTMessage] = []
        for id in ids {
            let topics = Topics(prefix: topics.prefix, id: id)
            let correlation = Array(RunName.new().utf8)
            answers.expect(id, correlation: correlation, resultTopic: topics.result(of: name))
            var message = MQTTMessage(
                topic: topics.command(name), payload: arguments, qos: .atLeastOnce, retain: false)
            // The broker discards an undelivered command when nobody waits for the answer any more.
            message.properties.messageExpiry = UInt32(max(1, min(seconds, 3600).rounded(.up)))
            message.properties.responseTopic = replyTopic
            message.properties.correlationData = correlation
            message.properties.userProperties = [MQTTMessage.UserProperty("from", "jostle@\(DeviceName.hostName())")]
            messages.append(message)
        }
        try subscribe(to: [filter])
        defer { unsubscribe(from: filter) }
        try settle()
        var received: [MQTTMessage] = []
        onOther = { received.append($0) }
        defer { onOther = nil }
        let start = WallClock.monotonic
        for outcome in try publish(messages) {
            if case .refused(let reason) = outcome { throw .refused("the broker refused the command: \(reason)") }
        }
        try wait(until: start.advanced(bySeconds: seconds)) {
            let before = answers.answers.count
            for message in received { answers.take(message) }
            received = []
            if answers.answers.count != before { onAnswer(answers.answers.count) }
            return answers.isComplete
        }
        return answers
    }

    /// The topics with retained messages of a device, its announcements to Home Assistant under `discoveryPrefix`
    /// included.
    package func retainedTopics(of id: String, discoveryPrefix: String) throws(FleetSessionError) -> [String] {
        let filters = ["\(topics.prefix)/\(id)/#", topics.registry(id), "\(discoveryPrefix)/+/\(id)/#"]
        var found: Set<String> = []
        onOther = { message in
            guard message.retain, !message.payload.isEmpty,
                filters.contains(where: { MQTTTopic.matches(message.topic, filter: $0) })
            else { return }
            found.insert(message.topic)
        }
        defer { onOther = nil }
        try subscribe(to: filters)
        try settle()
        for filter in filters where filter != topics.registry(id) { unsubscribe(from: filter) }
        return found.sorted()
    }

    /// Removes retained messages.
    ///
    /// - Returns: the topics for which the broker refused it, and why.
    package func clear(_ topics: [String]) throws(FleetSessionError) -> [(topic: String, reason: String)] {
        let messages = topics.map { MQTTMessage(topic: $0, payload: [], qos: .atLeastOnce, retain: true) }
        return zip(topics, try publish(messages)).compactMap { topic, outcome in
            switch outcome {
            case .acknowledged: nil
            case .refused(let reason): (topic, reason)
            case .unknown: (topic, "the broker did not answer")
            }
        }
    }
}
