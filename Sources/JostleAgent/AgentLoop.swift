internal import IMUDrivers
package import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore
internal import MotionKit
internal import StateStorage

/// The agent's main loop: takes events from the mailbox, passes each to the participants in a fixed order, and carries
/// out the effects that they return. All of it runs on one thread, the main thread.
///
/// The participants, in order: settings, former names, discovery, commands, telemetry, outbox.
final class AgentLoop {
    let parts: AgentParts
    let log: Log

    // The participants.
    var settings: SettingsStore
    var formerNames: FormerNameCleaner?
    var discovery: DiscoveryPublisher?
    var commands: CommandHandler
    var telemetry: TelemetryPublisher
    var outbox: Outbox

    // These do not handle MQTT events.
    var events: EventComposer
    private var machineRun: MachineRun
    var health: HealthReporter
    var checks: PeriodicChecks
    var clocks: MachineClocks
    private var connectionLog = ConnectionLog()
    var connectionFaults = ConnectionFaults()
    private var sensorLog = SensorLog()
    private var floods = TokenBucket.lines
    private var lostExternal = 0
    /// The last logged write failure of each file.
    private var fileFailures: [StateFile: String] = [:]
    private var isSensorStopped: Bool
    private(set) var isStopping = false
    /// Whether the configuration files are being read again.
    private var reloadState = ReloadState.idle
    /// Whether another device uses the same id.
    private(set) var hasDuplicate = false
    /// The installed rules.
    private var actions: [JostleSettings.Action]
    /// How the sensor is mounted, as the running sensor has it.
    private var mount: Matrix3

    /// Creates the participants from the settings and the contents of the state directory.
    init(
        _ configuration: StoredConfiguration, topics: Topics, isSimulated: Bool, outbox opened: OutboxFile.OpenResult,
        _ parts: AgentParts, log: Log
    ) {
        let settings = configuration.stack.resolution.settings
        let version = parts.host.identity.version
        let prefix = settings.mqtt.prefix
        self.parts = parts
        self.log = log
        let run = RunName.new()
        self.settings = SettingsStore(configuration, topics: topics, run: run)
        self.settings.sensorRefusal = { [sensor = parts.sensor] in sensor.refusal(of: $0)?.explanation }
        commands = CommandHandler(topics: topics, prefix: prefix, allowed: settings.commands.allow)
        telemetry = TelemetryPublisher(topics: topics, publish: settings.publish, isSimulated: isSimulated)
        outbox = Outbox(opened, limits: settings.mqtt.outbox, eventExpiry: settings.mqtt.eventExpiry)
        events = EventComposer(topics: topics, prefix: prefix, run: run, isSimulated: isSimulated)
        machineRun = MachineRun(in: parts.stateDirectory)
        var clocks = MachineClocks(parts.stateDirectory)
        health = HealthReporter(
            version: version, interval: settings.publish.health.interval,
            processorTime: ProcessUsage.processorTime, at: clocks.read())
        self.clocks = clocks
        checks = PeriodicChecks(settings.quietHours)
        isSensorStopped = parts.sensor.isStopped
        self.settings.setSensingStopped(isSensorStopped)
        mount = settings.motion.mount
        actions = settings.actions
        // The embedded broker's retained messages end with it, and only programs on this machine can read them.
        guard settings.mqtt.broker != .embedded else { return }
        let announced = RememberedTopics.announced(in: parts.stateDirectory)
        formerNames = FormerNameCleaner(
            settings, topics: topics, memory: .deviceNames(in: parts.stateDirectory), announced: announced.topics)
        let facts = DiscoveryFacts(
            id: topics.device, topics: topics, version: version, sensor: parts.sensor.title,
            hasGyroscope: parts.sensor.hasGyroscope, board: .ofThisMachine(),
            commands: settings.commands.allow.map(\.rawValue))
        discovery = DiscoveryPublisher(settings, facts, memory: announced)
    }

    // MARK: Running

    /// Starts the participants. Call it before the client connects.
    func start() {
        let now = clocks.read()
        perform(settings.start(at: now))
        perform(formerNames?.start(at: now) ?? [])
        perform(discovery?.start(at: now) ?? [])
        updateProtectedDevices(at: now)
        perform(commands.start(at: now))
        perform(telemetry.start(at: now))
        perform(telemetry.setStopped(isSensorStopped, at: now))
        perform(outbox.start(at: now))
        for open in outbox.interrupted {
            let isEnabled = settings.settings.motion.gestures.vibration.common.isEnabled
            if open == .machine, isEnabled, !isSensorStopped {
                parts.manager.resumeVibration(since: machineRun.start(at: now) ?? now.monotonic)
            } else {
                endInterrupted(open, at: now)
            }
        }
        applyQuietHours()
        parts.host.nearMisses.set(.configuration, to: settings.settings.publish.nearMisses)
    }

    /// Cancels a gesture that was open when the last run was cut off, so that every receiver of its `began` also gets
    /// an end.
    func endInterrupted(_ open: OpenGesture, at now: ClockReading) {
        var event = GestureEvent(open.gesture, .cancelled, at: now.monotonic)
        event.reason = .restarted
        event.isSimulated = open.isSimulated
        for action in settings.settings.actions
        where action.isEnabled && !action.isConsuming && action.takesPart(in: event) && action.acts(on: event) {
            carryOut(action, on: event, at: now)
        }
        perform(outbox.apply(events.updates(for: event, at: now), at: now))
    }

    /// Handles events and deadlines until a signal arrives, `end` is reached or a restart is requested.
    func run(until end: Timestamp?, _ signals: SignalWaiter) {
        while true {
            let now = clocks.read()
            if let end, now.monotonic >= end { return }
            handleEvents()
            handleDeadlines(at: clocks.read())
            if parts.host.isRestartWanted { return }
            switch signals.next(within: pause(until: end), or: parts.mailbox.wake) {
            case .end: return
            case .reload: beginReload()
            case nil: break
            }
        }
    }

    /// Handles the events in the mailbox.
    func handleEvents() {
        let (events, losses) = parts.mailbox.takeAll()
        let now = clocks.read()
        for event in events { handle(event, at: now) }
        lostExternal += losses.external
        if losses.gestures > 0 { perform(outbox.countLost(losses.gestures, at: now)) }
        logFlood(at: now.monotonic)
    }

    /// Handles events until the outbox has nothing left to write or send, for at most `seconds`. Commands are ignored
    /// from then on.
    func flush(within seconds: Double) {
        isStopping = true
        let deadline = WallClock.monotonic.advanced(bySeconds: seconds)
        handleEvents()
        perform(settings.flush(at: clocks.read()))
        perform(outbox.flush(at: clocks.read()))
        while true {
            handleEvents()
            handleOutboxDeadline(at: clocks.read())
            let now = WallClock.monotonic
            let left = deadline.remaining(at: now)
            guard left > 0, !outbox.isSettled else { return }
            parts.mailbox.wake.wait(seconds: min(left, outbox.nextDeadline?.remaining(at: now) ?? left))
        }
    }

    private func handle(_ event: AgentEvent, at now: ClockReading) {
        switch event {
        case .mqtt(let event): handle(event, at: now)
        case .motion(let state):
            settings.sampleArrived(at: now.monotonic)
            perform(telemetry.handle(state))
        case .gesture(let event):
            guard !runsOn(event) else { return }
            if OpenGesture(event) == .machine { follow(event, at: now) }
            perform(outbox.apply(events.updates(for: event, at: now), at: now))
        case .action(let action, let event): if !runsOn(event) { carryOut(action, on: event, at: now) }
        case .sensor(let event):
            if let line = sensorLog.line(for: event, at: now.monotonic) { log.write(line.level, line.text) }
            if event != .none { health.makeDue(at: now.monotonic) }
        case .outbox(let outcome): perform(outbox.handle(outcome, at: now))
        case .file(let file, let failure): fileWritten(file, failure, at: now)
        case .storageChanged: health.makeDue(at: now.monotonic)
        case .configuration(let result): endReload(result, at: now)
        case .replies(let messages): for message in messages { _ = publish(message, nil) }
        }
    }

    /// Passes an MQTT event to the participants.
    private func handle(_ event: MQTTEvent<DeliveryToken>, at now: ClockReading) {
        perform(settings.handle(event, own: { $0.settings }, at: now))
        perform(formerNames?.handle(event, own: { $0.formerNames }, at: now) ?? [])
        updateProtectedDevices(at: now)
        perform(discovery?.handle(event, own: { $0.discovery }, at: now) ?? [])
        perform(commands.handle(event, own: { $0.commands }, at: now))
        perform(telemetry.handle(event, own: { $0.telemetry }, at: now))
        perform(outbox.handle(event, own: { $0.outbox }, at: now))
        switch event {
        case .connected: health.makeDue(at: now.monotonic)
        case .disconnected, .refused, .stopped: restartEmbeddedBroker()
        default: break
        }
        if connectionFaults.handle(event) { health.makeDue(at: now.monotonic) }
        if !event.isLoggedByItsOwner, let line = connectionLog.line(for: event) { log.write(line.level, line.text) }
        if let change = event.connectionChange { parts.observer.connection?(change) }
    }

    /// A file was written, or a write failed. The settings store needs every result. Participants that only log
    /// failures get the first of several equal ones.
    private func fileWritten(_ file: StateFile, _ failure: String?, at now: ClockReading) {
        perform(settings.handle(.fileWritten(file, failure: failure), at: now))
        if let failure, fileFailures[file] == failure { return }
        fileFailures[file] = failure
        perform(formerNames?.handle(.fileWritten(file, failure: failure), at: now) ?? [])
        perform(discovery?.handle(.fileWritten(file, failure: failure), at: now) ?? [])
    }

    /// Whether an event is the end of a machine's run only because the program or the sensor stops: it goes on with the next
    /// start. A run that ends because somebody switched sensing off is over.
    private func runsOn(_ event: GestureEvent) -> Bool {
        OpenGesture(event) == .machine && event.reason == .stopped && (isStopping || !parts.sensor.isStopped)
    }

    /// Keeps since when the machine runs.
    private func follow(_ event: GestureEvent, at now: ClockReading) {
        if let content = machineRun.take(event, at: now) { write(content, to: .machineRun) }
        parts.manager.resumeVibration(since: machineRun.start(at: now))
    }

    private func carryOut(_ action: JostleSettings.Action, on event: GestureEvent, at now: ClockReading) {
        do {
            guard let message = try events.message(for: action, on: event, at: now) else { return }
            perform(outbox.apply([.add(message)], at: now))
            log.debug("action on \(event.gesture.word) \(event.phase.word): \(message.topic)")
        } catch {
            log.warning("action on \(event.gesture.word) not carried out: \(error)")
        }
    }

    // MARK: Deadlines

    private func handleOutboxDeadline(at now: ClockReading) {
        if outbox.isStallDue(at: now.monotonic), parts.writer.isKeptFromRunning {
            outbox.extendWait(at: now.monotonic)
        }
        perform(outbox.handleDeadline(at: now))
    }

    private func handleDeadlines(at now: ClockReading) {
        perform(settings.handleDeadline(at: now))
        perform(formerNames?.handleDeadline(at: now) ?? [])
        updateProtectedDevices(at: now)
        perform(discovery?.handleDeadline(at: now) ?? [])
        perform(telemetry.handleDeadline(at: now))
        handleOutboxDeadline(at: now)
        parts.host.advanceJobs(to: now.monotonic)
        runPeriodicChecks(at: now)
        if let due = health.nextReport, now.monotonic >= due {
            perform(telemetry.publish(health: health.report(healthFacts(), at: now)))
        }
    }

    /// Seconds until something is due; `nil` if nothing is.
    private func pause(until end: Timestamp?) -> Double? {
        let now = WallClock.monotonic
        let deadlines = [
            end, settings.nextDeadline, formerNames?.nextDeadline, discovery?.nextDeadline, telemetry.nextDeadline,
            outbox.nextDeadline, parts.host.nextDeadline, health.nextReport,
        ]
        var pauses = deadlines.compactMap { $0?.remaining(at: now) }
        if lostExternal > 0 || commands.unanswered > 0 { pauses.append(TokenBucket.lineInterval) }
        if let pause = pauseUntilNextCheck(at: now) { pauses.append(pause) }
        return pauses.min()
    }

    /// Logs how many messages were discarded because they came too fast.
    private func logFlood(at now: Timestamp) {
        guard lostExternal > 0 || commands.unanswered > 0, floods.admit(at: now) != nil else { return }
        let unanswered = commands.takeUnanswered()
        log.warning("too many messages: \(lostExternal) discarded, \(unanswered) commands not answered")
        lostExternal = 0
    }

    // MARK: Between participants

    /// Keeps discovery from removing announcements whose device name may now belong to another device.
    private func updateProtectedDevices(at now: ClockReading) {
        guard let formerNames else { return }
        perform(discovery?.protect(formerNames.protectedDevices, at: now) ?? [])
    }

    /// Applies settings to the manager and the participants; they take effect with the next batch of samples, message
    /// or report.
    func apply(_ settings: JostleSettings) {
        let now = clocks.read()
        parts.manager.changeSettings { $0 = settings.motion }
        parts.manager.updateInterval = settings.updateInterval
        telemetry.change(settings.publish)
        health.changeInterval(settings.publish.health.interval, at: now.monotonic)
        perform(discovery?.change(self.settings.settingsToOffer, at: now) ?? [])
        applyQuietHours()
        parts.host.settings = settings
        parts.host.nearMisses.set(.configuration, to: settings.publish.nearMisses)
        if settings.actions != actions {
            actions = settings.actions
            parts.actions.install(actions, in: parts.manager)
        }
        configureSensor(settings, at: now)
    }

    /// Restarts the sensor if it has to be configured differently.
    private func configureSensor(_ settings: JostleSettings, at now: ClockReading) {
        let isMountedAnew = settings.motion.mount != mount
        mount = settings.motion.mount
        do {
            try parts.sensor.configure(settings.imu, restarts: isMountedAnew)
        } catch {
            perform(self.settings.applicationFailed(error.description(in: .agent), at: now))
        }
        checks.sensingStarted()
    }

    /// Starts the agent again, if a service manager does that, because a changed key is only read at the start.
    private func restartForConfiguration() {
        guard !isStopping else { return }
        guard parts.host.identity.isSupervised else {
            log.warning("a changed key takes effect at the next start: see restart_required in config/reported")
            return
        }
        log.info("restarting, because a changed key is only read at the start")
        parts.host.isRestartWanted = true
    }

    /// Whether another device has the same id: the broker then disconnects each of the two in favour of the other.
    private func setDuplicate(_ isFound: Bool) {
        hasDuplicate = isFound
        parts.client.giveWay(for: isFound ? Self.givingWay : nil)
        health.makeDue(at: WallClock.monotonic)
    }

    /// Carries out a command, and updates the state if the command started or stopped sensing.
    func carryOut(_ request: CommandRequest) {
        guard !isStopping else { return }
        parts.host.carryOut(request)
        guard parts.sensor.isStopped != isSensorStopped else { return }
        isSensorStopped = parts.sensor.isStopped
        let now = clocks.read()
        settings.setSensingStopped(isSensorStopped)
        if !isSensorStopped { checks.sensingStarted() }
        perform(telemetry.setStopped(isSensorStopped, at: now))
        health.makeDue(at: now.monotonic)
    }
}

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
        do {
            try parts.client.publish(message, token: token)
            return .taken
        } catch {
            return Acceptance(error)
        }
    }

    func subscribe(_ filter: String, keepsRetainFlag: Bool, isOptional: Bool) throws {
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

/// Reads the configuration files again, with the arguments of the command line above them.
package typealias ConfigurationReading = @Sendable () -> Result<LoadedConfiguration, ConfigurationErrors>

/// Whether the files are being read.
private enum ReloadState {
    case idle
    /// A thread reads them. If the files may have changed since it began, they are read once more.
    case reading(isOutdated: Bool)
}

extension AgentLoop {
    /// Reads the configuration files on a thread of its own, because the disk may stall.
    func beginReload() {
        guard let read = parts.readConfiguration, !isStopping else { return }
        parts.services.reloading()
        switch reloadState {
        case .reading: reloadState = .reading(isOutdated: true)
        case .idle:
            let mailbox = parts.mailbox
            guard let thread = WorkerThread(name: "configuration", { mailbox.post(.configuration(read())) }) else {
                log.error("cannot read the configuration again: \(SystemFailure.noResources)")
                parts.services.ready()
                return
            }
            // Nobody waits for it, not even at the end of the program.
            thread.join(within: 0)
            reloadState = .reading(isOutdated: false)
        }
    }

    /// Applies what was read. A configuration with a mistake, or one that the sensor refuses, changes nothing.
    private func endReload(_ result: Result<LoadedConfiguration, ConfigurationErrors>, at now: ClockReading) {
        let state = reloadState
        reloadState = .idle
        guard !isStopping else { return }
        if case .reading(isOutdated: true) = state { return beginReload() }
        switch result {
        case .success(let loaded): takeOver(loaded, at: now)
        case .failure(.unreadable(let path, let failure)):
            log.error("the configuration stays as it is: \(path): \(failure)")
        case .failure(.invalid(let problems)):
            log.error("the configuration stays as it is, because the files have mistakes:")
            for problem in problems { log.error("\(problem)") }
        }
        parts.services.ready()
    }

    /// Takes over what was read, unless the sensor cannot be read with it. Only the open sensor shows what its chip and
    /// bus permit.
    private func takeOver(_ loaded: LoadedConfiguration, at now: ClockReading) {
        let (stack, pending) = settings.stack.reloading(loaded)
        let imu = stack.resolution.settings.imu
        if imu != parts.sensor.imu {
            defer { checks.sensingStarted() }
            do {
                try parts.sensor.configure(imu)
            } catch {
                log.error("the configuration stays as it is: \(error.description(in: .agent))")
                return
            }
        }
        perform(settings.takeOver(stack, pending: pending, at: now))
    }
}
