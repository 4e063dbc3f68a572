internal import JostleAgent
internal import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
internal import MosquittoClient
internal import MotionCore
internal import StateStorage

/// One run of a virtual board, from its start to its end: the agent's core with a session of its own, without a sensor and
/// without discovery. Used on its worker's thread only.
final class SwarmBoard {
    /// Seconds within which a board that leaves sends its last messages.
    private static let farewellTime = Duration.seconds(2)
    /// Seconds that the outbox has before that.
    private static let flushTime = 3.0
    /// Seconds from the beginning of a shake to its end.
    private static let shakeTime = 0.7
    /// Seconds from the settings that trigger a defect to the death, and between two shakes.
    private static let defectTime = 1.0

    private let member: SwarmMember
    private let context: SwarmContext
    let client: MQTTPolledClient
    private let core: DeviceCore
    var sensor: SwarmSensor
    /// Whether a key changed that is only read at the start.
    private var hasNewStartKeys = false
    private var commands: VirtualCommands
    /// The message that says that the board is offline.
    private let farewell: MQTTMessage?
    private var openShake: (event: GestureEvent, end: Timestamp)?
    /// When a defect kills this process, or makes the board shake next.
    private var deathDue: Timestamp?
    private var shakeDue: Timestamp?
    /// Whether a defect has killed this process.
    private(set) var isKilled = false
    private(set) var isLeaving = false
    /// When a board that leaves disconnects at the latest; `nil` once it has begun to.
    private var farewellDue: Timestamp?
    private var presence = SwarmPresence()

    /// Reads the board's state and creates its participants. Nothing is connected before the first `advance`.
    init(
        _ member: SwarmMember, number: Int, isSensorDead: Bool, _ context: SwarmContext, at now: ClockReading,
        post: @escaping DeviceCore.Post
    ) throws {
        let configuration = member.configuration(upon: context.configuration)
        let directory = StateDirectory(path: member.directory)
        let topics = Topics(prefix: configuration.settings.mqtt.prefix, id: member.id)
        let stored = StoredConfiguration.open(
            configuration, id: member.id, boot: now.boot, in: directory, log: context.log)
        let settings = stored.stack.resolution.settings
        let options = try settings.clientOptions(topics, brokers: settings.brokers(embeddedPort: nil))
        client = try MQTTPolledClient(options: options)
        farewell = options.will
        self.member = member
        self.context = context
        let storage = context.storage
        sensor = SwarmSensor(rate: settings.imu.rate, isDead: isSensorDead, at: now.monotonic)
        core = DeviceCore(
            virtual: stored, topics: topics, version: context.version, stateDirectory: member.directory,
            hasOutbox: context.hasOutbox, processorTime: context.processorTime, at: now, client: client,
            writer: storage.writer(of: number), measure: { storage.measure($0) }, post: post)
        commands = VirtualCommands(core, context.log)
        core.owner = self
    }

    // MARK: Running

    /// Starts the participants.
    func start(at now: ClockReading) {
        core.start(at: now)
        core.publish(SwarmSensor.stillState(at: now.monotonic))
        core.openOutbox()
        applyDefects(at: now.monotonic)
    }

    /// Begins or ends what the settings in force do to this board.
    private func applyDefects(at now: Timestamp) {
        let kinds = member.defects.filter { $0.isTriggered(by: core.settingsInForce) }.map(\.kind)
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
            for event in events {
                presence.count(event, in: context.tally, at: now.monotonic)
                core.handle(event.truncated, at: now)
            }
            if client.interest == nil || events.isEmpty { break }
            readiness = []
        }
        handleDeadlines(at: now)
    }

    /// Handles an event from another thread.
    func handle(_ event: DeviceEvent, at now: ClockReading) {
        noteSamples(at: now)
        core.handle(event, at: now)
    }

    /// The sensor has delivered samples up to now, unless it is dead.
    private func noteSamples(at now: ClockReading) {
        if sensor.delivers { core.sampleArrived(at: now.monotonic) }
    }

    private func handleDeadlines(at now: ClockReading) {
        noteSamples(at: now)
        core.handleDeadlines(at: now)
        if let openShake, openShake.end <= now.monotonic { endShake(openShake.event, .ended, at: now) }
        if let due = shakeDue, due <= now.monotonic {
            shakeDue = now.monotonic.advanced(bySeconds: SwarmBoard.defectTime)
            shake(strength: 12, axis: .x, at: now)
        }
        if let due = deathDue, due <= now.monotonic { isKilled = true }
        if isLeaving { sayFarewell(at: now.monotonic) }
        core.reportHealth(at: now)
    }

    /// When `advance` is due even if the socket is not ready; `nil` once the board has left.
    func nextDeadline(at now: Timestamp) -> Timestamp? {
        guard let deadline = client.deadline else { return nil }
        // The client counts the time in suspend too. The distance is what matters.
        let pause = max(0, ContinuousClock.now.duration(to: deadline) / .seconds(1))
        let others = [core.nextDeadline, openShake?.end, farewellDue, deathDue, shakeDue]
        return others.compactMap { $0 }.reduce(now.advanced(bySeconds: pause), min)
    }

    // MARK: The end

    /// Whether a `restart` command arrived, or a key changed that is only read at the start.
    var isRestartWanted: Bool { hasNewStartKeys || commands.isRestartWanted }

    /// Whether the board has left.
    var hasLeft: Bool { client.isFinished }

    /// Starts to leave cleanly: stores what is held back, publishes that the board is offline, and disconnects.
    func leave(at now: ClockReading) {
        guard !isLeaving else { return }
        if let openShake { endShake(openShake.event, .cancelled, .stopped, at: now) }
        core.flush(at: now)
        isLeaving = true
        farewellDue = now.monotonic.advanced(bySeconds: SwarmBoard.flushTime)
        sayFarewell(at: now.monotonic)
    }

    /// Disconnects as soon as the outbox has stored and sent its events.
    private func sayFarewell(at now: Timestamp) {
        guard let due = farewellDue, now >= due || core.isSettled else { return }
        farewellDue = nil
        client.stop(within: SwarmBoard.farewellTime, farewell: farewell)
    }

    /// Takes the board out of the counts and closes its outbox. It is not used after that. Without a `leave` before, its
    /// connection is closed without a DISCONNECT, and the broker publishes the will.
    func end() {
        presence.goOffline(in: context.tally)
        // The last reference: closing the file waits for the disk.
        core.closeOutbox()
    }

    // MARK: Shakes

    /// Begins a shake, which ends by itself.
    func shake(strength: Double, axis: BodyAxis, at now: ClockReading) {
        guard core.hasOutbox, openShake == nil, !isLeaving else { return }
        var event = GestureEvent(.shake, .began, at: now.monotonic)
        event.strength = strength
        event.axis = axis
        context.tally.counts.shakes += 1
        openShake = (event, now.monotonic.advanced(bySeconds: SwarmBoard.shakeTime))
        core.publish(event, at: now)
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
        core.publish(event, at: now)
    }
}

extension SwarmBoard: DeviceHost {
    func readClocks() -> ClockReading { .now() }

    func sent(_ message: MQTTMessage) {
        let tally = context.tally
        tally.counts.sent += 1
        tally.counts.bytesSent += message.topic.utf8.count + message.payload.count
        if message.topic == core.topics.reported { tally.counts.reports += 1 }
    }

    func write(_ level: Log.Level, _ line: String) {
        if context.isVerbose { return context.log.write(level, "\(member.id): \(line)") }
        guard level <= .error, let skipped = context.tally.errors.admit(at: WallClock.monotonic) else { return }
        let note = skipped > 0 ? " (\(skipped) errors before it not logged)" : ""
        context.log.write(level, "\(member.id): \(line)\(note)")
    }

    func apply(_ settings: JostleSettings, at now: ClockReading) { applyDefects(at: now.monotonic) }

    func restart() { hasNewStartKeys = true }

    func carryOut(_ request: CommandRequest) {
        guard !isLeaving else { return }
        context.tally.counts.commands += 1
        if let refusal = commands.carryOut(request) { write(.warning, refusal) }
    }

    /// The inputs of a health report. Processor time and memory are this board's share of the process.
    func healthFacts(at now: ClockReading) -> HealthFacts {
        var facts = HealthFacts()
        facts.sensorTitle = "none: a board of a swarm"
        facts.status = sensor.status(at: now.monotonic)
        facts.processorTime = context.processorTime
        facts.residentMemory = ProcessUsage.residentMemory / max(1, context.boards)
        facts.isClockSynchronised = WallClock.synchronisation ?? false
        return facts
    }
}
