internal import JostleMessages
internal import MosquittoClient
internal import MotionCore
internal import StateStorage

// Carries out the participants' effects in order. For each participant these methods define the owner of its tokens,
// the meaning of its requests, and how it learns that the client had no room for a message.
extension AgentLoop {
    func perform(_ effects: SettingsStore.Effects) {
        let feedback = carryOut(effects, owner: DeliveryToken.settings) { request in
            switch request {
            case .apply(let settings): apply(settings)
            case .restart: restartForConfiguration()
            case .reportDuplicate: foundDuplicate()
            }
        }
        for event in feedback { perform(settings.handle(event, at: .now())) }
    }

    func perform(_ effects: FormerNameCleaner.Effects) {
        let feedback = carryOut(effects, owner: DeliveryToken.formerNames) { _ in }
        for event in feedback { perform(formerNames?.handle(event, at: .now()) ?? []) }
    }

    func perform(_ effects: DiscoveryPublisher.Effects) {
        let feedback = carryOut(effects, owner: DeliveryToken.discovery) { request in
            switch request {
            case .repeatTelemetry: telemetry.makeTelemetryDue()
            }
        }
        for event in feedback { perform(discovery?.handle(event, at: .now()) ?? []) }
    }

    func perform(_ effects: CommandHandler.Effects) {
        _ = carryOut(effects, owner: { $0 }) { request in
            switch request {
            case .carryOut(let command): carryOut(command)
            }
        }
    }

    func perform(_ effects: TelemetryPublisher.Effects) {
        let feedback = carryOut(effects, owner: DeliveryToken.telemetry) { _ in }
        for event in feedback { perform(telemetry.handle(event, at: .now())) }
    }

    func perform(_ effects: Outbox.Effects) {
        let feedback = carryOut(effects, owner: DeliveryToken.outbox) { request in
            let file = parts.outboxFile
            let mailbox = parts.mailbox
            switch request {
            case .write(let batch): parts.writer.perform { mailbox.post(.outbox(file.write(batch))) }
            case .checkpoint: parts.writer.perform { file.checkpoint() }
            case .reportHealth: health.makeDue(at: WallClock.monotonic)
            }
        }
        for event in feedback { perform(outbox.handle(event, at: .now())) }
    }

    /// Carries out effects in order.
    ///
    /// - Returns: an event for each message that the client did not accept. If it had no room for one message, the
    ///   later ones are not sent either, so that their order is kept.
    private func carryOut<Token, Request>(
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
                subscribe(filter, keepsRetainFlag, isOptional)
            case .unsubscribe(let filter): parts.client.unsubscribe(from: filter)
            case .write(let file, let content): write(content, to: file)
            case .log(let level, let text): log.write(level, text)
            case .request(let wanted): request(wanted)
            }
        }
        return unsent.isEmpty ? feedback : feedback + [.notSent(unsent)]
    }

    /// The client's response to a message.
    enum Acceptance {
        case taken
        /// Not now: the client is not connected, or its queue is full.
        case noRoom
        /// Never: the message cannot be sent over MQTT.
        case refused(MQTTFailure)
    }

    /// Passes a message to the client.
    func publish(_ message: MQTTMessage, _ token: DeliveryToken?) -> Acceptance {
        do throws(MQTTError) {
            try parts.client.publish(message, token: token)
            return .taken
        } catch {
            switch error {
            case .tooLarge: return .refused(.refused(.packetTooLarge))
            case .invalidTopic: return .refused(.refused(.topicNameInvalid))
            case .notConnected, .queueFull, .stopped, .alreadyStarted, .invalidOption, .system: return .noRoom
            }
        }
    }

    /// Subscribes to a filter. Filters are built from validated settings, so a refusal is unexpected: it is logged and
    /// ignored.
    private func subscribe(_ filter: String, _ keepsRetainFlag: Bool, _ isOptional: Bool) {
        do throws(MQTTError) {
            try parts.client.subscribe(
                to: filter, qos: .atLeastOnce, keepsRetainFlag: keepsRetainFlag, isOptional: isOptional)
        } catch {
            log.warning("cannot subscribe to \(filter): \(error)")
        }
    }

    private func write(_ content: [UInt8], to file: StateFile) {
        let mailbox = parts.mailbox
        parts.writer.write(content, to: parts.stateDirectory.path(of: file.rawValue)) { result in
            switch result {
            case .success: mailbox.post(.file(file, failure: nil))
            case .failure(let failure): mailbox.post(.file(file, failure: "\(failure)"))
            }
        }
    }
}
