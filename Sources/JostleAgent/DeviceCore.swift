package import JostleConfiguration
package import JostleMessages
package import JostleRuntime
package import MosquittoClient
package import MotionCore
package import StateStorage

/// What a device's core leaves to its owner: `AgentLoop` for a board with a sensor, `SwarmBoard` of the program
/// `jostle-swarm` for a virtual one.
package protocol DeviceHost: AnyObject {
    /// Reads all clocks.
    func readClocks() -> ClockReading

    /// Writes a line to the log.
    func write(_ level: Log.Level, _ line: String)

    /// The client took a message.
    func sent(_ message: MQTTMessage)

    /// Applies settings to what is not in the core.
    func apply(_ settings: JostleSettings, at now: ClockReading)

    /// Starts the device again, because a changed key is only read at the start.
    func restart()

    /// Carries out a command and replies to it.
    func carryOut(_ request: CommandRequest)

    /// Carries out the actions of an event that did not come from the sensor.
    func carryOutActions(on event: GestureEvent, at now: ClockReading)

    /// The inputs of a health report that are not in the core.
    func healthFacts(at now: ClockReading) -> HealthFacts
}

extension DeviceHost {
    package func sent(_ message: MQTTMessage) {}
    package func carryOutActions(on event: GestureEvent, at now: ClockReading) {}
}

/// An event for a device from another thread than that of its client.
package enum DeviceEvent: Sendable {
    /// From the writer's thread: a file was written or not, the outbox's file was opened, a batch was written or not.
    case file(StateFile, failure: String?)
    case opened(OutboxFile.OpenResult)
    case outbox(OutboxFile.Outcome)
    /// From the threads of commands: replies to publish.
    case replies([MQTTMessage])
}

/// The device without its sensor: the participants, and what carries out their effects. One thread owns it.
package final class DeviceCore {
    package typealias Post = @Sendable (DeviceEvent) -> Void
    /// Work for the writer's thread, and the event in which it results.
    package typealias DiskJob = @Sendable () -> DeviceEvent?

    /// How long a device that has found another one with its id leaves the connection to it, at least.
    private static let givingWay = Duration.seconds(60)

    // The participants.
    var settings: SettingsStore
    private var retained: RetainedWatch
    var formerNames: FormerNameCleaner?
    var discovery: DiscoveryPublisher?
    var commands: CommandHandler
    var telemetry: TelemetryPublisher
    /// `nil` until its file is open, and for a device without events.
    var outbox: Outbox?

    // These do not handle MQTT events.
    var events: EventComposer
    var health: HealthReporter
    private var connectionLog = ConnectionLog()
    private var connectionFaults = ConnectionFaults()
    /// Whether another device uses the same id.
    private var hasDuplicate = false
    /// The last write failure of each file that participants know of.
    private var fileFailures: [StateFile: String] = [:]

    let identity: CommandHost.Identity
    package let topics: Topics
    let directory: StateDirectory
    let writer: StateWriter
    private let client: any MQTTPublisher
    private let outboxFile: OutboxFile?
    private let measure: @Sendable (DiskJob) -> DeviceEvent?
    /// Takes results from other threads. They come back through `handle`.
    let post: Post

    /// The owner, which is made after the core, and sets itself before `start`.
    package weak var owner: (any DeviceHost)?

    fileprivate var host: any DeviceHost {
        guard let owner else { preconditionFailure("the core of a device has no owner") }
        return owner
    }

    /// Creates the participants, without former names, discovery and an outbox. `processorTime` is what was used so far, s.
    ///
    /// `measure` carries out a job on the writer's thread. `post` takes the results of other threads, on these threads.
    /// Without an `outboxFile` the device has no outbox.
    init(
        _ stored: StoredConfiguration, topics: Topics, _ identity: CommandHost.Identity, isSimulated: Bool,
        processorTime: Double, at now: ClockReading, client: any MQTTPublisher, writer: StateWriter,
        outboxFile: OutboxFile?,
        measure: @escaping @Sendable (DiskJob) -> DeviceEvent? = { $0() }, post: @escaping Post
    ) {
        let run = RunName.new()
        let store = SettingsStore(stored, topics: topics, run: run)
        let settings = store.settings
        self.settings = store
        retained = RetainedWatch(topics: topics, run: run, at: now.monotonic)
        commands = CommandHandler(topics: topics, prefix: settings.mqtt.prefix, allowed: settings.commands.allow)
        telemetry = TelemetryPublisher(topics: topics, publish: settings.publish, isSimulated: isSimulated)
        events = EventComposer(topics: topics, prefix: settings.mqtt.prefix, run: run, isSimulated: isSimulated)
        events.publishesPlain = settings.publish.plain
        health = HealthReporter(
            version: identity.version, interval: settings.publish.health.interval, processorTime: processorTime, at: now
        )
        directory = StateDirectory(path: identity.stateDirectory)
        self.identity = identity
        self.topics = topics
        self.client = client
        self.writer = writer
        self.outboxFile = outboxFile
        self.measure = measure
        self.post = post
    }

    /// Creates the core of a virtual board, which has former names, but no discovery. Its outbox opens with `openOutbox`.
    package convenience init(
        virtual stored: StoredConfiguration, topics: Topics, version: String, stateDirectory: String, hasOutbox: Bool,
        processorTime: Double, at now: ClockReading, client: any MQTTPublisher, writer: StateWriter,
        measure: @escaping @Sendable (DiskJob) -> DeviceEvent?, post: @escaping Post
    ) {
        let settings = stored.stack.resolution.settings
        let file = OutboxFile(directory: stateDirectory, maximumBytes: 8 * settings.mqtt.outbox.maximumBytes)
        self.init(
            stored, topics: topics,
            CommandHost.Identity(
                id: topics.device, version: version, stateDirectory: stateDirectory, isSupervised: true),
            isSimulated: true, processorTime: processorTime, at: now, client: client, writer: writer,
            outboxFile: hasOutbox ? file : nil, measure: measure, post: post)
        formerNames = FormerNameCleaner(
            settings, topics: topics, memory: .deviceNames(in: directory), announced: [])
    }

    /// The settings in force.
    package var settingsInForce: JostleSettings { settings.settings }

    /// Whether there is an open outbox.
    package var hasOutbox: Bool { outbox != nil }

    /// Whether everything that the outbox was given is stored and sent.
    package var isSettled: Bool { outbox?.isSettled ?? true }

    /// The token of the message that reports the configuration.
    package static let report = MQTTToken(.report, of: .settings)

    // MARK: Events

    /// Starts the participants. Call it before the client connects.
    package func start(at now: ClockReading) {
        for owner in Owner.allCases { pass(.start, to: owner, at: now) }
    }

    /// Passes an MQTT event to the participants, and logs it.
    package func handle(_ event: MQTTEvent, at now: ClockReading) {
        for owner in Owner.allCases {
            if let event = ParticipantEvent(event, for: owner) { pass(.event(event), to: owner, at: now) }
        }
        if case .connected = event { health.makeDue(at: now.monotonic) }
        if connectionFaults.handle(event) { health.makeDue(at: now.monotonic) }
        if case .rejected(let token?, _, _) = event, Owner(rawValue: token.owner)?.logsRejections ?? false { return }
        if let line = connectionLog.line(for: event) { host.write(line.level, line.text) }
        guard case .connected(let connection) = event else { return }
        for line in connectionLog.lines(forLimitsOf: connection) { host.write(line.level, line.text) }
    }

    /// Handles an event from another thread.
    package func handle(_ event: DeviceEvent, at now: ClockReading) {
        switch event {
        case .file(let file, let failure): fileWritten(file, failure, at: now)
        case .opened(let opened): startOutbox(opened, at: now)
        case .outbox(let outcome): perform(outbox?.handle(outcome, at: now))
        case .replies(let messages): for message in messages { try? publish(message) }
        }
    }

    /// A file was written, or a write failed. The settings store needs every result. Participants that only log
    /// failures get the first of several equal ones.
    private func fileWritten(_ file: StateFile, _ failure: String?, at now: ClockReading) {
        let isKnown = failure != nil && fileFailures[file] == failure
        fileFailures[file] = failure
        for owner in isKnown ? [.settings] : Owner.allCases {
            pass(.event(.fileWritten(file, failure: failure)), to: owner, at: now)
        }
    }

    // MARK: Deadlines

    /// When `handleDeadlines` or `reportHealth` is due; `nil` if neither is.
    package var nextDeadline: Timestamp? {
        health.nextReport.earlier(nextStep)
    }

    /// When a participant must be called.
    private var nextStep: Timestamp? {
        settings.deadline().earlier(retained.deadline()).earlier(formerNames?.deadline()).earlier(discovery?.deadline())
            .earlier(commands.deadline()).earlier(telemetry.deadline()).earlier(outbox?.deadline())
    }

    /// Lets the participants do what is due; returns the next deadline.
    @discardableResult
    package func handleDeadlines(at now: ClockReading) -> Timestamp? {
        let due = nextStep
        guard let due, now.monotonic >= due else { return health.nextReport.earlier(due) }
        for owner in Owner.allCases { pass(.deadline, to: owner, at: now) }
        return nextDeadline
    }

    /// Lets the outbox do what is due.
    func handleOutboxDeadline(at now: ClockReading) { pass(.deadline, to: .outbox, at: now) }

    /// Publishes a health report if one is due.
    package func reportHealth(at now: ClockReading) {
        guard let due = health.nextReport, now.monotonic >= due else { return }
        var facts = host.healthFacts(at: now)
        facts.outbox = outbox?.statistics ?? Outbox.Statistics()
        facts.connectionFaults = connectionFaults.phrases + facts.outbox.refusals
        facts.storageFaults = storageFaults
        facts.hasDuplicate = hasDuplicate
        facts.gestures = events.gestures
        facts.connects = client.statistics.connects
        perform(telemetry.publish(health: health.report(facts, at: now)))
    }

    /// Files of the device that could not be written or are waiting for the disk, one phrase each. The writer may have
    /// files of others.
    var storageFaults: [String] {
        writer.faults.filter { $0.path?.hasPrefix(directory.path(of: "")) ?? true }.map { "\($0)" }
    }

    /// Writes and sends what is held back. Call it at the end of a run.
    package func flush(at now: ClockReading) {
        perform(settings.flush(at: now))
        perform(outbox?.flush(at: now))
    }

    // MARK: Participants

    /// Lets a participant take a step, and carries out the effects.
    private func pass(_ step: DeviceStep, to owner: Owner, at now: ClockReading) {
        switch owner {
        case .settings: perform(settings.take(step, at: now))
        case .retained: perform(retained.take(step, at: now))
        case .formerNames:
            guard formerNames != nil else { return }
            perform(formerNames?.take(step, at: now))
            // Discovery must not remove announcements whose device name may now belong to another device.
            perform(
                discovery?.protect(
                    formerNames?.protectedDevices ?? [], inUse: formerNames?.usedDevices ?? [], at: now))
        case .discovery: perform(discovery?.take(step, at: now))
        case .commands: perform(commands.take(step, at: now))
        case .telemetry: perform(telemetry.take(step, at: now))
        case .outbox:
            if case .deadline = step, outbox?.isStallDue(at: now.monotonic) ?? false, writer.isKeptFromRunning {
                outbox?.extendWait(at: now.monotonic)
            }
            perform(outbox?.take(step, at: now))
        }
    }

    /// Carries out a participant's effects in order. It learns afterwards which messages the client did not accept. If the
    /// client had no room for one, the later ones of the list are not sent either, so that their order is kept.
    func perform<P: Participant>(_ effects: [Effect<P>]?) where P.Request: DeviceRequest {
        var feedback: [ParticipantEvent] = []
        var unsent: [DeliveryToken] = []
        for effect in effects ?? [] {
            switch effect {
            case .publish(let message, nil): try? publish(message)
            case .publish(_, let token?) where !unsent.isEmpty: unsent.append(token)
            case .publish(let message, let token?):
                do throws(MQTTError) {
                    try publish(message, MQTTToken(token, of: P.owner))
                } catch {
                    if let failure = error.refusal {
                        feedback.append(.rejected(token, topic: message.topic, failure))
                    } else {
                        unsent.append(token)
                    }
                }
            case .subscribe(let filter, let keepsRetainFlag, let isOptional):
                do throws(MQTTError) {
                    try client.subscribe(
                        to: filter, qos: .atLeastOnce, keepsRetainFlag: keepsRetainFlag, isOptional: isOptional)
                } catch {
                    // Filters are built from validated settings, so a refusal is unexpected.
                    host.write(.warning, "cannot subscribe to \(filter): \(error)")
                }
            case .unsubscribe(let filter):
                client.unsubscribe(from: filter)
                // Filters that every connection subscribes for a while only are left out of the next one too.
                if filter != discovery?.readingFilter, filter != topics.reported { connectionFaults.remove(filter) }
            case .write(let file, let content): write(content, to: file)
            case .log(let level, let text): host.write(level, text)
            case .request(let request): request.carryOut(on: self)
            }
        }
        if !unsent.isEmpty { feedback.append(.notSent(unsent)) }
        for event in feedback { pass(.event(event), to: P.owner, at: host.readClocks()) }
    }

    private func publish(_ message: MQTTMessage, _ token: MQTTToken? = nil) throws(MQTTError) {
        try client.publish(message, token: token)
        host.sent(message)
        retained.sent(message, at: host.readClocks().monotonic)
    }

    /// Applies settings to the participants and the rest of the device; they take effect with the next batch of samples,
    /// message or report.
    fileprivate func apply(_ new: JostleSettings) {
        let now = host.readClocks()
        perform(telemetry.change(new.publish))
        events.publishesPlain = new.publish.plain
        health.changeInterval(new.publish.health.interval, at: now.monotonic)
        perform(discovery?.change(settings.settingsToOffer, at: now))
        host.apply(new, at: now)
    }

    /// Somebody is subscribed now who needs the values that are not retained: at some brokers, all.
    fileprivate func repeatTelemetry() {
        telemetry.makeTelemetryDue()
        if client.statistics.connection?.limits.retains == false { perform(retained.latest) }
    }

    /// Others have published to topics of discovery, or it has been corrected.
    fileprivate func discoveryDiffers(in topics: [String]) {
        retained.discoveryDiffers(in: topics, at: host.readClocks().monotonic)
    }

    /// Another device has the same id, or no longer: the broker then disconnects each of the two in favour of the other.
    fileprivate func setDuplicate(_ isFound: Bool) {
        hasDuplicate = isFound
        client.giveWay(for: isFound ? DeviceCore.givingWay : nil)
        health.makeDue(at: WallClock.monotonic)
    }

    // MARK: Movement

    /// The sensor has measured.
    package func sampleArrived(at now: Timestamp) { settings.sampleArrived(at: now) }

    /// Publishes what the sensor measured, as often as the settings say.
    package func publish(_ state: MotionState) {
        for message in telemetry.motion.messages(of: state) { try? publish(message) }
        publishState(of: state)
    }

    /// Publishes the state of the device, where another thread publishes attitude and motion.
    func publishState(of state: MotionState) { perform(telemetry.handle(state)) }

    /// Publishes a gesture's event.
    package func publish(_ event: GestureEvent, at now: ClockReading) {
        let updates = events.updates(for: event, at: now)
        perform(outbox?.apply(updates, at: now))
    }

    /// Cancels a gesture that was open when the last run was cut off, so that every receiver of its `began` also gets
    /// an end.
    func endInterrupted(_ open: OpenGesture, at now: ClockReading) {
        var event = GestureEvent(open.gesture, .cancelled, at: now.monotonic)
        event.reason = .restarted
        event.isSimulated = open.isSimulated
        host.carryOutActions(on: event, at: now)
        publish(event, at: now)
    }

    // MARK: The disk

    /// Replaces a file of the state directory. The result comes as an event.
    func write(_ content: [UInt8], to file: StateFile) {
        let post = self.post
        writer.write(content, to: directory.path(of: file.rawValue)) { result in
            switch result {
            case .success: post(.file(file, failure: nil))
            case .failure(let failure): post(.file(file, failure: "\(failure)"))
            }
        }
    }

    /// Opens the outbox's file, if there is one. The result comes as an event.
    package func openOutbox() { onDisk { .opened($0.open()) } }

    /// Starts the outbox with the contents of its file, and ends the gestures that a death has cut off.
    private func startOutbox(_ opened: OutboxFile.OpenResult, at now: ClockReading) {
        let mqtt = settings.settings.mqtt
        let started = Outbox(opened, limits: mqtt.outbox, eventExpiry: mqtt.eventExpiry)
        outbox = started
        pass(.start, to: .outbox, at: now)
        if client.statistics.connection != nil { pass(.event(.connected), to: .outbox, at: now) }
        for open in started.interrupted { endInterrupted(open, at: now) }
    }

    /// Closes the outbox's file on the writer's thread. The device is not used after that.
    package func closeOutbox() {
        guard let outboxFile else { return }
        writer.perform { outboxFile.close() }
    }

    fileprivate func onDisk(_ job: @escaping @Sendable (OutboxFile) -> DeviceEvent?) {
        guard let outboxFile else { return }
        let (measure, post) = (self.measure, self.post)
        writer.perform {
            if let event = measure({ job(outboxFile) }) { post(event) }
        }
    }
}

/// What a participant is to do.
private enum DeviceStep {
    case start
    case event(ParticipantEvent)
    case deadline
}

extension Participant {
    fileprivate mutating func take(_ step: DeviceStep, at now: ClockReading) -> Effects {
        switch step {
        case .start: start(at: now)
        case .event(let event): handle(event, at: now)
        case .deadline: handleDeadline(at: now)
        }
    }

    /// `nextDeadline`, read in place: only a call that may change the value spares a copy of all of it.
    fileprivate mutating func deadline() -> Timestamp? { nextDeadline }
}

extension MQTTError {
    /// Why the message can never be sent over MQTT; `nil` if only now it cannot, because the client is not connected or
    /// has no room.
    fileprivate var refusal: MQTTFailure? {
        switch self {
        case .tooLarge: .refused(.packetTooLarge)
        case .invalidTopic: .refused(.topicNameInvalid)
        case .notConnected, .queueFull, .stopped, .alreadyStarted, .invalidOption, .system: nil
        }
    }
}

/// A participant's request, which its device carries out.
protocol DeviceRequest {
    func carryOut(on core: DeviceCore)
}

extension Never: DeviceRequest {
    func carryOut(on core: DeviceCore) {}
}

extension SettingsStore.Request: DeviceRequest {
    func carryOut(on core: DeviceCore) {
        switch self {
        case .apply(let settings): core.apply(settings)
        case .restart: core.host.restart()
        }
    }
}

extension RetainedWatch.Request: DeviceRequest {
    func carryOut(on core: DeviceCore) {
        switch self {
        case .reportDuplicate(let isFound): core.setDuplicate(isFound)
        case .repeatReport: core.perform(core.settings.repeatReport(at: core.host.readClocks()))
        case .correctDiscovery: core.perform(core.discovery?.correct(at: core.host.readClocks()))
        }
    }
}

extension DiscoveryPublisher.Request: DeviceRequest {
    func carryOut(on core: DeviceCore) {
        switch self {
        case .repeatTelemetry: core.repeatTelemetry()
        case .reportAltered(let topics): core.discoveryDiffers(in: topics)
        }
    }
}

extension TelemetryPublisher.Request: DeviceRequest {
    func carryOut(on core: DeviceCore) {
        switch self {
        case .open: core.telemetry.open()
        }
    }
}

extension CommandHandler.Request: DeviceRequest {
    func carryOut(on core: DeviceCore) {
        switch self {
        case .carryOut(let command): core.host.carryOut(command)
        }
    }
}

extension Outbox.Request: DeviceRequest {
    func carryOut(on core: DeviceCore) {
        switch self {
        case .write(let batch): core.onDisk { .outbox($0.write(batch)) }
        case .checkpoint:
            core.onDisk { file in
                file.checkpoint()
                return nil
            }
        case .endInterrupted(let gestures):
            for open in gestures { core.endInterrupted(open, at: core.host.readClocks()) }
        case .reportHealth: core.health.makeDue(at: WallClock.monotonic)
        }
    }
}
