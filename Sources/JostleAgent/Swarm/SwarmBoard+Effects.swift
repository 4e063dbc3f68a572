internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient
internal import MotionCore
internal import StateStorage

// Carries out the participants' effects, as the agent's loop does.
extension SwarmBoard: EffectHost {
    func perform(_ effects: SettingsStore.Effects) {
        let feedback = carryOut(effects, owner: DeliveryToken.settings) { request in
            switch request {
            case .apply(let settings): apply(settings)
            case .restart: hasNewStartKeys = true
            case .reportDuplicate(let isFound):
                hasDuplicate = isFound
                client.giveWay(for: isFound ? Self.givingWay : nil)
                health.makeDue(at: WallClock.monotonic)
            }
        }
        for event in feedback { perform(settings.handle(event, at: .now())) }
    }

    func perform(_ effects: FormerNameCleaner.Effects) {
        let feedback = carryOut(effects, owner: DeliveryToken.formerNames) { _ in }
        for event in feedback { perform(formerNames.handle(event, at: .now())) }
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

    private func perform(_ effects: Outbox.Effects, _ file: OutboxFile) {
        let storage = surroundings.storage
        let post = self.post
        let feedback = carryOut(effects, owner: DeliveryToken.outbox) { request in
            switch request {
            case .write(let batch):
                writer.perform { post(.outbox(storage.measure { file.write(batch) })) }
            case .checkpoint: writer.perform { storage.measure { file.checkpoint() } }
            case .endInterrupted(let gestures): end(interrupted: gestures, at: .now())
            case .reportHealth: health.makeDue(at: WallClock.monotonic)
            }
        }
        for event in feedback { withOutbox { $0.handle(event, at: .now()) } }
    }

    /// Changes the outbox and carries out the effects, if it is open.
    func withOutbox(_ change: (inout Outbox) -> Outbox.Effects) {
        guard let outboxFile, var changed = outbox else { return }
        // Moved out and back, so that its queue is not copied.
        outbox = nil
        let effects = change(&changed)
        outbox = changed
        perform(effects, outboxFile)
    }

    // MARK: The outbox

    /// Opens the outbox's file on the writer's thread.
    func openOutbox() {
        guard let file = outboxFile else { return }
        let storage = surroundings.storage
        let post = self.post
        writer.perform {
            post(.opened(storage.measure { file.open() }))
        }
    }

    /// Starts the outbox with the contents of its file, and ends the gestures that a death has cut off.
    func startOutbox(_ opened: OutboxFile.Opened, at now: ClockReading) {
        let mqtt = settings.settings.mqtt
        let started = Outbox(
            opened, limits: settings.settings.outboxLimits, eventExpiry: mqtt.eventExpiry > 0 ? mqtt.eventExpiry : nil)
        outbox = started
        withOutbox { $0.start(at: now) }
        if client.statistics.connection != nil { withOutbox { $0.handle(.connected, at: now) } }
        end(interrupted: started.interrupted, at: now)
    }

    private func end(interrupted gestures: [OpenGesture], at now: ClockReading) {
        for open in gestures {
            var event = GestureEvent(open.gesture, .cancelled, at: now.monotonic)
            event.reason = .restarted
            let updates = events.updates(for: event, at: now)
            withOutbox { $0.apply(updates, at: now) }
        }
    }

    // MARK: The client and the disk

    func publish(_ message: MQTTMessage, _ token: DeliveryToken?) -> Acceptance {
        do throws(MQTTError) {
            try client.publish(message, token: token)
        } catch {
            return Acceptance(error)
        }
        let tally = surroundings.tally
        tally.counts.sent += 1
        tally.counts.bytesSent += message.topic.utf8.count + message.payload.count
        if message.topic == topics.reported { tally.counts.reports += 1 }
        return .taken
    }

    func subscribe(_ filter: String, keepsRetainFlag: Bool, isOptional: Bool) throws(MQTTError) {
        try client.subscribe(
            to: filter, qos: .atLeastOnce, keepsRetainFlag: keepsRetainFlag, isOptional: isOptional)
    }

    func unsubscribe(_ filter: String) { client.unsubscribe(from: filter) }

    func write(_ content: [UInt8], to file: StateFile) {
        let post = self.post
        writer.write(content, to: directory.path(of: file.rawValue)) { result in
            switch result {
            case .success: post(.file(file, failure: nil))
            case .failure(let failure): post(.file(file, failure: "\(failure)"))
            }
        }
    }

    func write(_ level: Log.Level, _ line: String) {
        if surroundings.isVerbose { return surroundings.log.write(level, "\(place.id): \(line)") }
        guard level <= .error, let skipped = surroundings.tally.errors.admit(at: WallClock.monotonic) else { return }
        let note = skipped > 0 ? " (\(skipped) errors before it not logged)" : ""
        surroundings.log.write(level, "\(place.id): \(line)\(note)")
    }

    // MARK: What the participants need

    private func apply(_ settings: JostleSettings) {
        telemetry.change(settings.publish)
        health.changeInterval(settings.publish.health.interval, at: WallClock.monotonic)
        applyDefects(at: WallClock.monotonic)
    }

    /// The inputs of a health report. Processor time and memory are this board's share of the process.
    func healthFacts(at now: Timestamp) -> HealthFacts {
        var facts = HealthFacts()
        facts.sensorTitle = "none: a board of a swarm"
        facts.status = sensor.status(at: now)
        facts.outbox = outbox?.statistics ?? Outbox.Statistics()
        facts.storageFaults = writer.faults.filter { $0.path?.hasPrefix("\(place.directory)/") ?? true }.map { "\($0)" }
        facts.hasDuplicate = hasDuplicate
        facts.gestures = events.gestures
        facts.connects = client.statistics.connects
        facts.processorTime = SwarmBoard.processorTime(surroundings)
        facts.residentMemory = ProcessUsage.residentMemory / max(1, surroundings.boards)
        facts.isClockSynchronised = WallClock.synchronisation ?? false
        return facts
    }

    /// A board's share of the processor time that this process has used, s.
    static func processorTime(_ surroundings: Surroundings) -> Double {
        ProcessUsage.processorTime / Double(max(1, surroundings.boards))
    }
}
