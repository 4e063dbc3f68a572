internal import JostleMessages
internal import MosquittoClient
internal import MotionCore
internal import StateStorage

// Carries out the participants' effects in order. For each participant these methods define the owner of its tokens,
// the meaning of its requests, and how it learns that the client had no room for a message.
extension AgentLoop: EffectHost {
    func perform(_ effects: SettingsStore.Effects) {
        let feedback = carryOut(effects, owner: DeliveryToken.settings) { request in
            switch request {
            case .apply(let settings): apply(settings)
            case .restart: restartForConfiguration()
            case .reportDuplicate(let isFound): setDuplicate(isFound)
            }
        }
        for event in feedback { perform(settings.handle(event, at: clocks.read())) }
    }

    func perform(_ effects: FormerNameCleaner.Effects) {
        let feedback = carryOut(effects, owner: DeliveryToken.formerNames) { _ in }
        for event in feedback { perform(formerNames?.handle(event, at: clocks.read()) ?? []) }
    }

    func perform(_ effects: DiscoveryPublisher.Effects) {
        let feedback = carryOut(effects, owner: DeliveryToken.discovery) { request in
            switch request {
            case .repeatTelemetry: telemetry.makeTelemetryDue()
            }
        }
        for event in feedback { perform(discovery?.handle(event, at: clocks.read()) ?? []) }
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
        for event in feedback { perform(telemetry.handle(event, at: clocks.read())) }
    }

    func perform(_ effects: Outbox.Effects) {
        let feedback = carryOut(effects, owner: DeliveryToken.outbox) { request in
            let file = parts.outboxFile
            let mailbox = parts.mailbox
            switch request {
            case .write(let batch): parts.writer.perform { mailbox.post(.outbox(file.write(batch))) }
            case .checkpoint: parts.writer.perform { file.checkpoint() }
            case .endInterrupted(let gestures):
                for open in gestures { endInterrupted(open, at: clocks.read()) }
            case .reportHealth: health.makeDue(at: WallClock.monotonic)
            }
        }
        for event in feedback { perform(outbox.handle(event, at: clocks.read())) }
    }

    func publish(_ message: MQTTMessage, _ token: DeliveryToken?) -> Acceptance {
        do throws(MQTTError) {
            try parts.client.publish(message, token: token)
            return .taken
        } catch {
            return Acceptance(error)
        }
    }

    func subscribe(_ filter: String, keepsRetainFlag: Bool, isOptional: Bool) throws(MQTTError) {
        try parts.client.subscribe(
            to: filter, qos: .atLeastOnce, keepsRetainFlag: keepsRetainFlag, isOptional: isOptional)
    }

    func unsubscribe(_ filter: String) {
        parts.client.unsubscribe(from: filter)
        // Filters that every connection subscribes for a while only are left out of the next one too.
        if filter != discovery?.readingFilter, filter != settings.topics.reported { connectionFaults.remove(filter) }
    }

    func write(_ content: [UInt8], to file: StateFile) {
        let mailbox = parts.mailbox
        parts.writer.write(content, to: parts.stateDirectory.path(of: file.rawValue)) { result in
            switch result {
            case .success: mailbox.post(.file(file, failure: nil))
            case .failure(let failure): mailbox.post(.file(file, failure: "\(failure)"))
            }
        }
    }

    func write(_ level: Log.Level, _ line: String) { log.write(level, line) }
}
