internal import Documents
internal import IMUDrivers
package import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore
internal import MotionKit
internal import StateStorage

/// The agent's main loop: takes events from the mailbox and passes them to the device's core, which has the participants.
/// All of it runs on one thread, the main thread.
final class AgentLoop {
    let parts: AgentParts
    let log: Log

    let core: DeviceCore

    private var machineRun: MachineRun
    private var machineLog: MachineLog
    var checks: PeriodicChecks
    var clocks: MachineClocks
    private var sensorLog = SensorLog()
    private var floods = TokenBucket.lines
    private var lostExternal = 0
    private var isSensorStopped: Bool
    private(set) var isStopping = false
    /// Whether the configuration files are being read again.
    private var reloadState = ReloadState.idle
    /// The installed rules, and what they do outside of MQTT.
    private var actions: [JostleSettings.Action]
    private var tasks = ActionQueue()
    /// How the sensor is mounted, as the running sensor has it.
    private var mount: Matrix3

    /// Creates the participants from the settings and the contents of the state directory.
    init(
        _ configuration: StoredConfiguration, topics: Topics, isSimulated: Bool, outbox opened: OutboxFile.OpenResult,
        _ parts: AgentParts, log: Log
    ) {
        self.parts = parts
        self.log = log
        var clocks = MachineClocks(StateDirectory(path: parts.host.identity.stateDirectory))
        core = DeviceCore(
            configuration, topics: topics, parts.host.identity, isSimulated: isSimulated,
            processorTime: ProcessUsage.processorTime, at: clocks.read(), client: parts.client, writer: parts.writer,
            outboxFile: parts.outboxFile
        ) { [mailbox = parts.mailbox] in mailbox.post(.device($0)) }
        let settings = core.settings.settings
        self.clocks = clocks
        machineRun = MachineRun(in: core.directory)
        machineLog = MachineLog(in: core.directory)
        checks = PeriodicChecks(settings.allQuietHours)
        isSensorStopped = parts.sensor.isStopped
        mount = settings.motion.mount
        actions = settings.actions
        core.owner = self
        parts.host.gestures = self
        parts.host.machine = self
        core.settings.sensorRefusal = { [sensor = parts.sensor] in sensor.refusal(of: $0)?.explanation(in: .agent) }
        core.settings.setSensingStopped(isSensorStopped)
        core.events.recording = { [recorder = parts.host.recorder] in recorder.keep(on: $0) }
        core.outbox = Outbox(opened, limits: settings.mqtt.outbox, eventExpiry: settings.mqtt.eventExpiry)
        // The embedded broker's retained messages end with it, and only programs on this machine can read them.
        guard settings.mqtt.broker != .embedded else { return }
        let announced = RememberedTopics.announced(in: core.directory)
        core.formerNames = FormerNameCleaner(
            settings, topics: topics, memory: .deviceNames(in: core.directory), announced: announced.topics)
        let facts = DiscoveryFacts(
            id: topics.device,
            identity: BoardIdentity(
                id: topics.device, hardware: DeviceName.hardwareDigits, in: core.directory, announced: announced.topics),
            topics: topics, version: parts.host.identity.version, supportURL: Project.address,
            sensor: parts.sensor.title,
            hasGyroscope: parts.sensor.hasGyroscope, board: .ofThisMachine(),
            commands: settings.commands.allow.map(\.rawValue))
        core.discovery = DiscoveryPublisher(core.settings.settingsToOffer, facts, memory: announced)
    }

    // MARK: Running

    /// Starts the participants. Call it before the client connects.
    func start() {
        let now = clocks.read()
        core.start(at: now)
        core.perform(core.telemetry.setStopped(isSensorStopped, at: now))
        for open in core.outbox?.interrupted ?? [] {
            let isEnabled = core.settings.settings.motion.gestures.vibration.common.isEnabled
            if open == .machine, isEnabled, !isSensorStopped {
                parts.manager.resumeVibration(since: machineRun.start(at: now) ?? now.monotonic)
            } else {
                core.endInterrupted(open, at: now)
            }
        }
        applyQuietHours()
        parts.host.nearMisses.set(.configuration, to: core.settings.settings.publish.nearMisses)
    }

    /// Handles events and deadlines until a signal arrives, `end` is reached or a restart is requested.
    func run(until end: Timestamp?, _ signals: SignalWaiter) {
        while true {
            if let end, WallClock.monotonic >= end { return }
            let next = handleDeadlines(at: handleEvents())
            if parts.host.isRestartWanted { return }
            switch signals.next(within: pause(until: next.earlier(end)), or: parts.mailbox.wake) {
            case .end: return
            case .reload: beginReload()
            case .resize, .suspend: break
            case nil: break
            }
        }
    }

    /// Handles the events in the mailbox; returns the time.
    @discardableResult
    func handleEvents() -> ClockReading {
        let (events, losses) = parts.mailbox.takeAll()
        let now = clocks.read()
        for event in events { handle(event, at: now) }
        lostExternal += losses.external
        if losses.gestures > 0 { core.perform(core.outbox?.countLost(losses.gestures, at: now)) }
        logFlood(at: now.monotonic)
        return now
    }

    /// Handles events until the outbox has nothing left to write or send, for at most `seconds`. Commands are ignored
    /// from then on.
    func flush(within seconds: Double) {
        isStopping = true
        let deadline = WallClock.monotonic.advanced(bySeconds: seconds)
        handleEvents()
        core.flush(at: clocks.read())
        while true {
            handleEvents()
            core.handleOutboxDeadline(at: clocks.read())
            let now = WallClock.monotonic
            let left = deadline.remaining(at: now)
            guard left > 0, let outbox = core.outbox, !outbox.isSettled else { return }
            parts.mailbox.wake.wait(seconds: min(left, outbox.nextDeadline?.remaining(at: now) ?? left))
        }
    }

    private func handle(_ event: AgentEvent, at now: ClockReading) {
        switch event {
        case .mqtt(let event): handle(event, at: now)
        case .motion(let state):
            // It may have waited for long.
            core.sampleArrived(at: state.timestamp)
            core.publishState(of: state)
        case .gesture(let event):
            guard !runsOn(event) else { return }
            if OpenGesture(event) == .machine { follow(event, at: now) }
            core.publish(event, at: now)
        case .action(let action, let event): if !runsOn(event) { carryOut(action, on: event, at: now) }
        case .actionEnded(let lane, let outcome): perform(tasks.ended(lane, outcome, at: now.monotonic), at: now)
        case .sensor(let event):
            if let line = sensorLog.line(for: event, at: now.monotonic) { log.write(line.level, line.text) }
            if event != .none { core.health.makeDue(at: now.monotonic) }
        case .machine(let report): follow(report, at: now)
        case .device(let event): core.handle(event, at: now)
        case .storageChanged: core.health.makeDue(at: now.monotonic)
        case .configuration(let result): endReload(result, at: now)
        }
    }

    private func handle(_ event: MQTTEvent, at now: ClockReading) {
        core.handle(event, at: now)
        switch event {
        case .disconnected, .stopped: restartEmbeddedBroker()
        default: break
        }
        if let change = event.connectionChange { parts.observer.connection?(change) }
    }

    /// Whether an event is the end of a machine's run only because the program or the sensor stops: it goes on with the next
    /// start. A run that ends because somebody switched sensing off is over.
    private func runsOn(_ event: GestureEvent) -> Bool {
        OpenGesture(event) == .machine && event.reason == .stopped && (isStopping || !parts.sensor.isStopped)
    }

    /// Keeps since when the machine runs.
    private func follow(_ event: GestureEvent, at now: ClockReading) {
        if let content = machineRun.take(event, at: now) { core.write(content, to: .machineRun) }
        parts.manager.resumeVibration(since: machineRun.start(at: now))
        if let content = machineLog.take(event) { core.write(content, to: .machineRuns) }
    }

    /// Publishes how the machine is, and whether it deviates from its earlier runs.
    private func follow(_ report: MachineReport, at now: ClockReading) {
        let isSimulated = core.telemetry.isSimulated
        if let change = machineLog.take(report) {
            core.write(change.content, to: .machineRuns)
            let recording = change.began ? parts.host.recorder.keep(last: 10, label: "machine") : nil
            let updates = core.events.updates(
                for: change.deviation, began: change.began, since: change.since, recording: recording,
                at: report.timestamp,
                now: now)
            core.perform(core.outbox?.apply(updates, at: now))
        }
        guard machineLog.isNews(report) else { return }
        let settings = core.settings.settings.motion.gestures.vibration
        core.perform(
            core.telemetry.publish(machine: machineLog.payload(report, settings, at: now, isSimulated: isSimulated)))
    }

    private func carryOut(_ action: JostleSettings.Action, on event: GestureEvent, at now: ClockReading) {
        if action.reachesOut {
            // Whoever may simulate a movement over MQTT must not run programs by it.
            guard action.actsOnSimulated || !core.events.isSimulated(event) else {
                return log.debug("action on \(event.kind.word) \(event.phase.word) left out: the event is simulated")
            }
            if !isStopping { perform(tasks.add(action, core.events.document(of: event), at: now.monotonic), at: now) }
        }
        do {
            guard let message = try core.events.message(for: action, on: event, at: now) else { return }
            core.perform(core.outbox?.apply([.add(message)], at: now))
            log.debug("action on \(event.kind.word) \(event.phase.word): \(message.topic)")
        } catch {
            log.warning("action on \(event.gesture.word) not carried out: \(error)")
        }
    }

    private func perform(_ steps: [ActionQueue.Step], at now: ClockReading) {
        for step in steps {
            switch step {
            case .start(let job):
                log.debug("action \(job.lane.title) begins")
                parts.starter.start(job) { [mailbox = parts.mailbox] in mailbox.post(.actionEnded(job.lane, $0)) }
            case .log(let level, let text): log.write(level, text)
            case .reportHealth: core.health.makeDue(at: now.monotonic)
            }
        }
    }

    /// What rules with `run` or `post` have done; `nil` if there are none.
    var actionStatistics: ActionQueue.Statistics? { tasks.statistics(of: actions) }

    // MARK: Deadlines

    /// Does what is due; returns when something is due again.
    private func handleDeadlines(at now: ClockReading) -> Timestamp? {
        parts.host.advanceJobs(to: now.monotonic)
        perform(tasks.start(at: now.monotonic), at: now)
        runPeriodicChecks(at: now)
        core.reportHealth(at: now)
        let hasFlood = lostExternal > 0 || core.commands.unanswered > 0
        let line = hasFlood ? now.monotonic.advanced(bySeconds: TokenBucket.lineInterval) : nil
        // Last, because it knows the deadlines that the others have changed.
        return core.handleDeadlines(at: now).earlier(parts.host.nextDeadline).earlier(nextCheck).earlier(line)
            .earlier(tasks.nextDeadline)
    }

    /// Seconds until `next`; `nil` if nothing is due.
    private func pause(until next: Timestamp?) -> Double? { next?.remaining(at: WallClock.monotonic) }

    /// Logs how many messages were discarded because they came too fast.
    private func logFlood(at now: Timestamp) {
        guard lostExternal > 0 || core.commands.unanswered > 0, floods.admit(at: now) != nil else { return }
        let unanswered = core.commands.takeUnanswered()
        log.warning("too many messages: \(lostExternal) discarded, \(unanswered) commands not answered")
        lostExternal = 0
    }

    // MARK: Settings

    /// Restarts the sensor if it has to be configured differently.
    private func configureSensor(_ settings: JostleSettings, at now: ClockReading) {
        let isMountedAnew = settings.motion.mount != mount
        mount = settings.motion.mount
        do {
            try parts.sensor.configure(settings.imu, restarts: isMountedAnew)
        } catch {
            core.perform(core.settings.applicationFailed(error.description(in: .agent), at: now))
        }
        checks.sensingStarted()
    }
}

extension AgentLoop: DeviceHost {
    func readClocks() -> ClockReading { clocks.read() }

    func write(_ level: Log.Level, _ line: String) { log.write(level, line) }

    /// Applies settings to the manager and what depends on it.
    func apply(_ settings: JostleSettings, at now: ClockReading) {
        parts.manager.changeSettings { $0 = settings.motion }
        parts.manager.updateInterval = settings.updateInterval
        parts.manager.restingInterval = settings.restingInterval
        applyQuietHours()
        parts.manager.learned = settings.learnedGestures(silent: checks.quietHours.silencedNames)
        parts.host.settings = settings
        parts.host.nearMisses.set(.configuration, to: settings.publish.nearMisses)
        if settings.actions != actions {
            actions = settings.actions
            parts.actions.install(actions, in: parts.manager)
            tasks.keep(only: actions)
        }
        configureSensor(settings, at: now)
    }

    /// Starts the agent again, if a service manager does that.
    func restart() {
        guard !isStopping else { return }
        guard parts.host.identity.isSupervised else {
            log.warning("a changed key takes effect at the next start: see restart_required in config/reported")
            return
        }
        log.info("restarting, because a changed key is only read at the start")
        parts.host.isRestartWanted = true
    }

    /// Carries out a command, and updates the state if the command started or stopped sensing.
    func carryOut(_ request: CommandRequest) {
        guard !isStopping else { return }
        parts.host.carryOut(request)
        guard parts.sensor.isStopped != isSensorStopped else { return }
        isSensorStopped = parts.sensor.isStopped
        let now = clocks.read()
        core.settings.setSensingStopped(isSensorStopped)
        if !isSensorStopped { checks.sensingStarted() }
        core.perform(core.telemetry.setStopped(isSensorStopped, at: now))
        core.health.makeDue(at: now.monotonic)
    }

    func carryOutActions(on event: GestureEvent, at now: ClockReading) {
        for action in core.settings.settings.actions
        where action.isEnabled && !action.isConsuming && action.takesPart(in: event) && action.acts(on: event) {
            carryOut(action, on: event, at: now)
        }
    }
}

extension AgentLoop: GestureKeeper {
    func checkRoom(for name: GestureName) throws { try core.settings.checkRoom(for: name) }

    func keep(_ template: GestureTemplate) throws {
        let now = clocks.read()
        core.perform(try core.settings.keep(template, at: now))
    }

    func forget(_ name: GestureName) -> Bool {
        let now = clocks.read()
        guard let effects = core.settings.forget(name, at: now) else { return false }
        core.perform(effects)
        return true
    }
}

extension AgentLoop: MachineKeeper {
    var machineState: JSONObject? { machineLog.state }
    var machineRuns: [JSONObject] { machineLog.listed }
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
        let (stack, pending) = core.settings.stack.reloading(loaded)
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
        core.perform(core.settings.takeOver(stack, pending: pending, at: now))
    }
}
