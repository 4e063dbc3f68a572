internal import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore
internal import MotionKit
internal import StateStorage

/// One run of a virtual board, from its start to its end: the agent's participants, store and session, without a sensor
/// and without discovery. Used on its worker's thread only.
///
/// The participants, in order: settings, former names, commands, telemetry, outbox.
final class SwarmBoard {
    /// What all boards of a worker share.
    struct Context {
        let configuration: LoadedConfiguration
        let version: String
        let storage: SwarmStorage
        let tally: SwarmTally
        /// Whether the boards have an outbox.
        let hasOutbox: Bool
        /// Seconds from a death to the next start.
        let deathPause: Double
        /// The boards in this process.
        let boards: Int
        let log: Log
        let isVerbose: Bool
    }

    /// An event from another thread.
    enum Event: Sendable {
        case file(StateFile, failure: String?)
        /// The outbox's file was opened.
        case opened(OutboxFile.OpenResult)
        case outbox(OutboxFile.Outcome)
        case replies([MQTTMessage])
    }

    typealias Post = @Sendable (Event) -> Void

    /// Seconds within which a board that leaves sends its last messages.
    private static let farewellTime = Duration.seconds(2)
    /// Seconds that the outbox has before that.
    private static let flushTime = 3.0
    /// Seconds from the beginning of a shake to its end.
    private static let shakeTime = 0.7
    /// Seconds from the settings that trigger a defect to the death, and between two shakes.
    private static let defectTime = 1.0

    private let member: SwarmMember
    private let context: Context
    let client: MQTTPolledClient<DeliveryToken>
    private let directory: StateDirectory
    private let writer: StateWriter
    private let post: Post
    private let topics: Topics

    // The participants.
    private var settings: SettingsStore
    private var formerNames: FormerNameCleaner
    private var commands: CommandHandler
    private var telemetry: TelemetryPublisher
    /// `nil` until its file is open, and for boards without events.
    private var outbox: Outbox?

    // These do not handle MQTT events.
    private var events: EventComposer
    private var health: HealthReporter
    var sensor: SwarmSensor
    /// Whether another device uses the same id.
    private var hasDuplicate = false
    /// Whether a key changed that is only read at the start.
    private var hasNewStartKeys = false
    private let outboxFile: OutboxFile?
    private let identity: CommandHost.Identity
    /// Created for the first command: few boards ever receive one.
    private var host: CommandHost?
    private var openShake: (event: GestureEvent, end: Timestamp)?
    private var connectionLog = ConnectionLog()
    /// When a defect kills this process, or makes the board shake next.
    private var deathDue: Timestamp?
    private var shakeDue: Timestamp?
    /// Whether a defect has killed this process.
    private(set) var isKilled = false
    private(set) var isLeaving = false
    /// When a board that leaves disconnects at the latest; `nil` once it has begun to.
    private var farewellDue: Timestamp?
    private var isOnline = false
    private var hasReported = false
    private var lostAt: Timestamp?

    /// Reads the board's state and creates its participants. Nothing is connected before the first `advance`.
    init(
        _ member: SwarmMember, number: Int, isSensorDead: Bool, _ context: Context, at now: ClockReading,
        post: @escaping Post
    ) throws {
        let configuration = member.configuration(upon: context.configuration)
        let directory = StateDirectory(path: member.directory)
        // The only place at which the store of settings is made.
        let topics = Topics(prefix: configuration.settings.mqtt.prefix, id: member.id)
        let run = RunName.new()
        let stored = StoredConfiguration.open(
            configuration, id: member.id, boot: now.boot, in: directory, log: context.log)
        let store = SettingsStore(stored, topics: topics, run: run)
        let settings = store.settings
        let client = try SwarmBoard.client(settings, id: member.id, topics)
        self.member = member
        self.context = context
        self.client = client
        self.directory = directory
        self.post = post
        self.topics = topics
        self.settings = store
        writer = context.storage.writer(of: number)
        formerNames = FormerNameCleaner(
            settings, topics: topics, memory: .deviceNames(in: directory), announced: [])
        commands = CommandHandler(topics: topics, prefix: settings.mqtt.prefix, allowed: settings.commands.allow)
        telemetry = TelemetryPublisher(topics: topics, publish: settings.publish, isSimulated: true)
        events = EventComposer(topics: topics, prefix: settings.mqtt.prefix, run: run, isSimulated: true)
        health = HealthReporter(
            version: context.version, interval: settings.publish.health.interval,
            processorTime: SwarmBoard.processorTime(context), at: now)
        identity = CommandHost.Identity(
            id: member.id, version: context.version, stateDirectory: member.directory, isSupervised: true)
        sensor = SwarmSensor(rate: settings.imu.rate, isDead: isSensorDead, at: now.monotonic)
        outboxFile =
            context.hasOutbox
            ? OutboxFile(directory: member.directory, maximumBytes: 8 * settings.mqtt.outbox.maximumBytes) : nil
    }

    private static func client(
        _ settings: JostleSettings, id: String, _ topics: Topics
    ) throws -> MQTTPolledClient<DeliveryToken> {
        var options = try settings.mqttOptions(clientID: id, brokers: settings.brokers(embeddedPort: nil))
        options.will = TelemetryPublisher.availability("offline", topics)
        return try MQTTPolledClient(options: options)
    }

    // MARK: Running

    /// Starts the participants.
    func start(at now: ClockReading) {
        perform(settings.start(at: now))
        perform(formerNames.start(at: now))
        perform(commands.start(at: now))
        perform(telemetry.start(at: now))
        perform(telemetry.handle(SwarmSensor.stillState(at: now.monotonic)))
        openOutbox()
        applyDefects(at: now.monotonic)
    }

    /// Begins or ends what the settings in force do to this board.
    private func applyDefects(at now: Timestamp) {
        let kinds = member.defects.filter { $0.isTriggered(by: settings.settings) }.map(\.kind)
        sensor.setDefective(kinds.contains(.sensor), at: now)
        let due = now.advanced(bySeconds: SwarmBoard.defectTime)
        deathDue = kinds.contains(.die) ? deathDue ?? due : nil
        shakeDue = kinds.contains(.shake) ? shakeDue ?? due : nil
    }

    /// Drives the session and handles what is due.
    func advance(_ readiness: MQTTReadiness, at now: ClockReading) {
        noteSamples(at: now)
        var readiness = readiness
        // What the participants publish is sent at once. A connection that ended is left to the next call, because the
        // owner must see that its descriptor is gone.
        for _ in 0..<3 {
            let events = client.advance(readiness)
            for event in events { handle(event, at: now) }
            if client.interest == nil || events.isEmpty { break }
            readiness = []
        }
        handleDeadlines(at: now)
    }

    /// Handles an event from another thread.
    func handle(_ event: Event, at now: ClockReading) {
        noteSamples(at: now)
        switch event {
        case .file(let file, let failure):
            perform(settings.handle(.fileWritten(file, failure: failure), at: now))
            perform(formerNames.handle(.fileWritten(file, failure: failure), at: now))
        case .opened(let opened): startOutbox(opened, at: now)
        case .outbox(let outcome): withOutbox { $0.handle(outcome, at: now) }
        case .replies(let messages): for message in messages { _ = publish(message, nil) }
        }
    }

    /// The sensor has delivered samples up to now, unless it is dead.
    private func noteSamples(at now: ClockReading) {
        if sensor.delivers { settings.sampleArrived(at: now.monotonic) }
    }

    /// Passes an MQTT event to the participants.
    private func handle(_ event: MQTTEvent<DeliveryToken>, at now: ClockReading) {
        count(event, at: now.monotonic)
        guard case .mqtt(let event) = AgentEvent(event) else { return }
        perform(settings.handle(event, own: { $0.settings }, at: now))
        perform(formerNames.handle(event, own: { $0.formerNames }, at: now))
        perform(commands.handle(event, own: { $0.commands }, at: now))
        perform(telemetry.handle(event, own: { $0.telemetry }, at: now))
        withOutbox { $0.handle(event, own: { $0.outbox }, at: now) }
        if case .connected = event { health.makeDue(at: now.monotonic) }
        if !event.isLoggedByItsOwner, let line = connectionLog.line(for: event) { write(line.level, line.text) }
    }

    private func handleDeadlines(at now: ClockReading) {
        noteSamples(at: now)
        perform(settings.handleDeadline(at: now))
        perform(formerNames.handleDeadline(at: now))
        perform(telemetry.handleDeadline(at: now))
        withOutbox { $0.handleDeadline(at: now) }
        if let openShake, openShake.end <= now.monotonic { endShake(openShake.event, .ended, at: now) }
        if let due = shakeDue, due <= now.monotonic {
            shakeDue = now.monotonic.advanced(bySeconds: SwarmBoard.defectTime)
            shake(strength: 12, axis: .x, at: now)
        }
        if let due = deathDue, due <= now.monotonic { isKilled = true }
        if isLeaving { sayFarewell(at: now.monotonic) }
        if let due = health.nextReport, now.monotonic >= due {
            perform(telemetry.publish(health: health.report(healthFacts(at: now.monotonic), at: now)))
        }
    }

    /// When `advance` is due even if the socket is not ready; `nil` once the board has left.
    func nextDeadline(at now: Timestamp) -> Timestamp? {
        guard let deadline = client.deadline else { return nil }
        // The client counts the time in suspend too. The distance is what matters.
        let pause = max(0, ContinuousClock.now.duration(to: deadline) / .seconds(1))
        let others = [
            settings.nextDeadline, formerNames.nextDeadline, telemetry.nextDeadline, outbox?.nextDeadline,
            health.nextReport, openShake?.end, farewellDue, deathDue, shakeDue,
        ]
        return others.compactMap { $0 }.reduce(now.advanced(bySeconds: pause), min)
    }

    // MARK: The end

    /// Whether the board has left.
    var hasLeft: Bool { client.isFinished }

    /// Starts to leave cleanly: stores what is held back, publishes that the board is offline, and disconnects.
    func leave(at now: ClockReading) {
        guard !isLeaving else { return }
        if let openShake { endShake(openShake.event, .cancelled, .stopped, at: now) }
        perform(settings.flush(at: now))
        withOutbox { $0.flush(at: now) }
        isLeaving = true
        farewellDue = now.monotonic.advanced(bySeconds: SwarmBoard.flushTime)
        sayFarewell(at: now.monotonic)
    }

    /// Disconnects as soon as the outbox has stored and sent its events.
    private func sayFarewell(at now: Timestamp) {
        guard let due = farewellDue, now >= due || outbox?.isSettled ?? true else { return }
        farewellDue = nil
        client.stop(within: SwarmBoard.farewellTime, farewell: TelemetryPublisher.availability("offline", topics))
    }

    /// Takes the board out of the counts and closes its outbox. It is not used after that. Without a `leave` before, its
    /// connection is closed without a DISCONNECT, and the broker publishes the will.
    func end() {
        goOffline()
        guard let outboxFile else { return }
        // The last reference: closing the file waits for the disk.
        writer.perform { outboxFile.close() }
    }

    // MARK: Shakes

    /// Begins a shake, which ends by itself.
    func shake(strength: Double, axis: BodyAxis, at now: ClockReading) {
        guard outbox != nil, openShake == nil, !isLeaving else { return }
        var event = GestureEvent(.shake, .began, at: now.monotonic)
        event.strength = strength
        event.axis = axis
        context.tally.counts.shakes += 1
        openShake = (event, now.monotonic.advanced(bySeconds: SwarmBoard.shakeTime))
        let updates = events.updates(for: event, at: now)
        withOutbox { $0.apply(updates, at: now) }
    }

    private func endShake(
        _ began: GestureEvent, _ phase: GesturePhase, _ reason: CancellationReason? = nil, at now: ClockReading
    ) {
        openShake = nil
        var event = began
        event.phase = phase
        event.reason = reason
        event.timestamp = now.monotonic
        event.duration = now.monotonic.seconds(since: began.timestamp)
        let updates = events.updates(for: event, at: now)
        withOutbox { $0.apply(updates, at: now) }
    }

    // MARK: Counting

    private func count(_ event: MQTTEvent<DeliveryToken>, at now: Timestamp) {
        let tally = context.tally
        switch event {
        case .connected:
            tally.counts.connects += 1
            if let lostAt { tally.counts.reconnections.add(now.seconds(since: lostAt)) }
            lostAt = nil
            isOnline = true
            tally.counts.online += 1
        case .message(let message):
            tally.counts.received += 1
            tally.counts.bytesReceived += message.topic.utf8.count + message.payload.count
        case .acknowledged(.settings(.report)):
            if isOnline, !hasReported {
                hasReported = true
                tally.counts.reported += 1
            }
        case .disconnected(let end), .refused(let end):
            if end.retryAfter != nil {
                tally.counts.failures += end.wasConnected ? 0 : 1
                tally.counts.losses += end.wasConnected ? 1 : 0
                tally.counts.lastFailure = "\(end.failure)"
            }
            if end.wasConnected { lostAt = now }
            goOffline()
        case .stopped: goOffline()
        case .connecting, .subscribed, .subscriptionRefused, .subscriptionLeftOut, .subscriptionRestored, .acknowledged,
            .rejected:
            break
        }
    }

    private func goOffline() {
        if isOnline { context.tally.counts.online -= 1 }
        if hasReported { context.tally.counts.reported -= 1 }
        isOnline = false
        hasReported = false
    }
}

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
        let storage = context.storage
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
    private func withOutbox(_ change: (inout Outbox) -> Outbox.Effects) {
        guard let outboxFile, var changed = outbox else { return }
        // Moved out and back, so that its queue is not copied.
        outbox = nil
        let effects = change(&changed)
        outbox = changed
        perform(effects, outboxFile)
    }

    // MARK: The outbox

    /// Opens the outbox's file on the writer's thread.
    private func openOutbox() {
        guard let file = outboxFile else { return }
        let storage = context.storage
        let post = self.post
        writer.perform {
            post(.opened(storage.measure { file.open() }))
        }
    }

    /// Starts the outbox with the contents of its file, and ends the gestures that a death has cut off.
    private func startOutbox(_ opened: OutboxFile.OpenResult, at now: ClockReading) {
        let mqtt = settings.settings.mqtt
        let started = Outbox(opened, limits: mqtt.outbox, eventExpiry: mqtt.eventExpiry)
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
        do {
            try client.publish(message, token: token)
        } catch {
            return Acceptance(error)
        }
        let tally = context.tally
        tally.counts.sent += 1
        tally.counts.bytesSent += message.topic.utf8.count + message.payload.count
        if message.topic == topics.reported { tally.counts.reports += 1 }
        return .taken
    }

    func subscribe(_ filter: String, keepsRetainFlag: Bool, isOptional: Bool) throws {
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
        if context.isVerbose { return context.log.write(level, "\(member.id): \(line)") }
        guard level <= .error, let skipped = context.tally.errors.admit(at: WallClock.monotonic) else { return }
        let note = skipped > 0 ? " (\(skipped) errors before it not logged)" : ""
        context.log.write(level, "\(member.id): \(line)\(note)")
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
        facts.storageFaults = writer.faults.filter { $0.path?.hasPrefix("\(member.directory)/") ?? true }.map {
            "\($0)"
        }
        facts.hasDuplicate = hasDuplicate
        facts.gestures = events.gestures
        facts.connects = client.statistics.connects
        facts.processorTime = SwarmBoard.processorTime(context)
        facts.residentMemory = ProcessUsage.residentMemory / max(1, context.boards)
        facts.isClockSynchronised = WallClock.synchronisation ?? false
        return facts
    }

    /// A board's share of the processor time that this process has used, s.
    static func processorTime(_ context: Context) -> Double {
        ProcessUsage.processorTime / Double(max(1, context.boards))
    }
}

// The commands that need no sensor are carried out as by the agent; the others are refused.
extension SwarmBoard {
    /// Whether a `restart` command arrived, or a key changed that is only read at the start.
    var isRestartWanted: Bool { hasNewStartKeys || host?.isRestartWanted ?? false }

    func carryOut(_ request: CommandRequest) {
        guard !isLeaving else { return }
        context.tally.counts.commands += 1
        switch request.command {
        case is RemotePing, is RemoteGetState, is RemoteRestart:
            commandHost().carryOut(request)
        case is RemoteIdentify:
            refuse(request, CommandRefusal(.unavailable, "a board of a swarm has no light"))
        default:
            refuse(request, CommandRefusal(.sensorUnavailable, "a board of a swarm has no sensor"))
        }
    }

    private func refuse(_ request: CommandRequest, _ refusal: CommandRefusal) {
        write(.warning, refusal.line(for: request.name))
        let post = self.post
        CommandReply(to: request.address) { post(.replies($0)) }.refuse(refusal)
    }

    private func commandHost() -> CommandHost {
        if let host { return host }
        let settings = settings.settings
        let manager = MotionManager(
            sensor: settings.sensorSelection, imu: settings.imu, settings: settings.motion,
            updateInterval: settings.updateInterval, stateDirectory: member.directory, writer: writer)
        let post = self.post
        // Nothing streams without a sensor, and no movement is almost a gesture.
        func output(_ topic: String) -> StreamOutput {
            StreamOutput(topic: topic, send: { _ in false }, backlog: { 0 })
        }
        let sensor = SensorSwitch(
            manager: manager, selection: settings.sensorSelection, imu: settings.imu, device: nil)
        let made = CommandHost(
            identity: identity, settings: settings, sensor: sensor, output: output(topics.stream),
            nearMisses: NearMissPublisher(manager: manager, output: output(topics.nearMiss), isSimulated: true),
            log: context.log
        ) { post(.replies($0)) }
        host = made
        return made
    }
}
