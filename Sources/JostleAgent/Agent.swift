internal import Documents
internal import Glibc
package import IMUDrivers
package import JostleConfiguration
package import JostleMessages
package import JostleRuntime
internal import LinuxSensors
internal import LinuxSystem
package import MosquittoClient
package import MotionCore
package import MotionKit
internal import StateStorage

/// The agent: a motion manager, an MQTT client and the loop that connects them. It runs until a signal ends it.
///
/// `MotionManager` reads the sensor and recognises gestures, `MQTTClient` talks to the broker, and `StateWriter` writes
/// everything that must survive a restart. Each has its own thread and posts its events into one mailbox. `AgentLoop`,
/// on the main thread, does the rest.
package final class Agent {
    /// Callbacks for a caller that displays what happens, such as a terminal. Motion, gesture and sensor callbacks run
    /// on the delivery thread.
    package struct Observer: Sendable {
        package var motion: (@Sendable (MotionState) -> Void)?
        package var gesture: (@Sendable (GestureEvent) -> Void)?
        package var sensor: (@Sendable (SensorEvent) -> Void)?
        package var connection: (@Sendable (ConnectionChange) -> Void)?

        /// Creates an observer without callbacks.
        package init() {}
    }

    /// A change of the connection's state.
    package enum ConnectionChange: Sendable {
        case connected(MQTTConnection)
        /// The connection ended or could not be made; the client retries.
        case notConnected(MosquittoClient.BrokerAddress, MQTTFailure)
    }

    /// The device's id in topics.
    package let id: String

    /// The brokers, in the order in which they are tried.
    package let brokers: [MosquittoClient.BrokerAddress]

    package let topics: Topics

    /// A short description of the sensor.
    package var sensorTitle: String { parts.sensor.title ?? "switched off" }

    private let log: Log
    private let settings: JostleSettings
    private let parts: AgentParts
    private let loop: AgentLoop
    /// Held until the agent is deallocated; `nil` if the disk does not permit it.
    private let stateLock: StateDirectoryLock?
    /// Values of the configuration that have no effect, and secrets that may not be what was meant.
    private let doubts: [String]

    /// Opens the sensor and creates all parts. Nothing runs yet.
    ///
    /// Call it on the main thread, the thread that later calls `run`. `version` is the program's version, for the
    /// health report. `stateDirectory` holds everything that survives a restart, such as the values set over MQTT.
    /// `readAgain` is called on another thread when a signal asks to reload the configuration.
    /// - Throws: why it cannot start, and what to do about it.
    package init(
        configuration: LoadedConfiguration, version: String, stateDirectory: String, log: Log,
        observer: Observer = Observer(), readAgain: ConfigurationReading? = nil
    ) throws {
        let stateLock = try StateDirectoryLock.acquire(stateDirectory) { log.warning($0) }
        let directory = StateDirectory(path: stateDirectory)
        let id = configuration.settings.device.id ?? DeviceName.ofThisMachine()
        let log = log.with(device: id)
        let stored = StoredConfiguration.open(configuration, id: id, boot: WallClock.boot, in: directory, log: log)
        let settings = stored.stack.resolution.settings
        let topics = Topics(prefix: settings.mqtt.prefix, id: id)
        guard let wake = WakeSignal() else { throw SensorError.resources }
        let device = settings.sensor.isEnabled ? try settings.sensorSelection.open(settings.imu) : nil
        let isSimulated = device?.isSimulated ?? (settings.sensor.driver == .virtual)
        let embedded = settings.mqtt.broker == .embedded ? try EmbeddedBroker(users: try settings.embeddedUsers()) : nil
        let brokers = settings.brokers(embeddedPort: embedded?.port)
        let mailbox = Mailbox<AgentEvent>(wake: wake)
        let options = try settings.clientOptions(topics, brokers: brokers)
        let client = try MQTTClient(options: options) { mailbox.post(.mqtt($0.truncated)) }
        let writer = StateWriter()
        let manager = MotionManager(
            sensor: settings.sensorSelection, imu: settings.imu, settings: settings.motion,
            updateInterval: settings.updateInterval, stateDirectory: stateDirectory, writer: writer)
        manager.restingInterval = settings.restingInterval
        manager.learned = settings.learnedGestures()
        let sensor = SensorSwitch(
            manager: manager, selection: settings.sensorSelection, imu: settings.imu, device: device)
        let host = CommandHost(
            identity: CommandHost.Identity(
                id: id, version: version, stateDirectory: stateDirectory, isSupervised: ServiceManager.isSupervised),
            settings: settings, sensor: sensor, output: Agent.streamOutput(topics.stream, client),
            nearMisses: NearMissPublisher(
                manager: manager, output: Agent.streamOutput(topics.nearMiss, client), isSimulated: isSimulated),
            log: log
        ) { mailbox.post(.device(.replies($0))) }
        host.recorder.prepare()
        let file = OutboxFile(directory: stateDirectory, maximumBytes: 8 * settings.mqtt.outbox.maximumBytes)
        let opened = file.open()
        opened.log { log.write($0, $1) }
        let parts = AgentParts(
            client: client, mailbox: mailbox, writer: writer, outboxFile: file,
            manager: manager, sensor: sensor, host: host, services: ServiceManager(), embeddedBroker: embedded,
            actions: ActionResponders { action, event in mailbox.post(.action(action, event)) },
            starter: ActionStarter(version: version, log: log),
            readConfiguration: readAgain, observer: observer)

        self.stateLock = stateLock
        self.settings = settings
        let warnings = LoadedConfiguration(settings: settings, provenance: stored.stack.resolution.provenance).warnings
        doubts = warnings.map { "\($0)" } + settings.doubts(about: options.credentials).map { "\($0)" }
        self.id = id
        self.topics = topics
        self.brokers = brokers
        self.log = log
        self.parts = parts
        loop = AgentLoop(stored, topics: topics, isSimulated: isSimulated, outbox: opened, parts, log: log)
    }

    /// Why a run ended.
    package enum End: Sendable {
        /// A signal arrived, or the requested time elapsed.
        case stopped
        /// A `restart` command arrived over MQTT.
        case restart
    }

    /// Runs until a signal ends it, or until `seconds` have elapsed.
    ///
    /// - Throws: if it cannot start.
    @discardableResult
    package func run(for seconds: Double? = nil, signals: SignalWaiter) throws -> End {
        let end = seconds.map { WallClock.monotonic.advanced(bySeconds: $0) }
        addHandlers()
        for broker in settings.unencryptedBrokers(among: brokers) {
            log.warning("the password is sent to \(broker) unencrypted, readable on the network; use mqtts://")
        }
        if let access = settings.unsignedAccess { log.warning(access) }
        for doubt in doubts { log.warning(doubt) }
        if let warning = settings.sizeWarning() { log.warning(warning) }
        loop.start()
        try parts.client.start()
        if settings.sensor.isEnabled {
            do {
                _ = try parts.sensor.start()
            } catch {
                _ = parts.client.stop()
                throw error
            }
        }
        logStart()
        parts.services.ready()
        loop.run(until: end, signals)
        let reason: End = parts.host.isRestartWanted ? .restart : .stopped
        parts.services.stopping()
        stop()
        return reason
    }

    private func logStart() {
        let sensor = parts.sensor
        let what = sensor.isStopped ? "not sensing (sensor.enabled is false)" : "reading \(sensorTitle)"
        log.info(
            "\(id): \(what), publishing under \(topics.root) to \(brokers.first.map { "\($0)" } ?? "no broker")"
        )
        if let matrix = sensor.mountMatrix {
            let isUsed = settings.motion.mount == .identity
            let consequence =
                isUsed ? "is used (sensor.mount_matrix is not set)" : "is overridden by sensor.mount_matrix"
            log.info("the kernel's mount matrix of the sensor, \(matrix.rows), \(consequence)")
        }
        for note in sensor.notes { log.warning(note) }
        if parts.embeddedBroker != nil, settings.homeAssistant.discovery {
            log.info(
                "the embedded broker serves programs on this machine only, so Home Assistant does not discover the device; "
                    + "to change that, set mqtt.broker to the broker that Home Assistant uses")
        }
        log.report(parts.manager.calibration, warning: parts.manager.calibrationWarning)
        if settings.motion.reference == .start {
            log.info("there is no reference attitude yet: it is taken at the first rest, after 30 s at the latest")
        }
    }

    /// Puts the chip to sleep, publishes `offline` and stops every thread, within two seconds.
    private func stop() {
        parts.host.endJobs()
        parts.starter.stop()
        parts.host.recorder.finish(within: 0.3)
        parts.manager.stop()
        // Store the last events and pass them to the client before the farewell.
        loop.flush(within: 0.3)
        let farewell = TelemetryPublisher.availability("offline", topics)
        let result = parts.client.stop(within: .milliseconds(400), farewell: farewell)
        if result == .detached { log.warning("the broker did not answer in time; its will marks the device offline") }
        loop.flush(within: 0.1)
        loop.storeTime(at: loop.clocks.read(), isLast: true)
        loop.core.closeOutbox()
        parts.writer.finish(within: 0.5)
        loop.handleEvents()
        let statistics = loop.core.outbox?.statistics ?? Outbox.Statistics()
        let lost = loop.core.outbox?.inMemoryOnly ?? 0
        if lost > 0 {
            log.warning("\(lost) events did not reach the broker and are lost: \(statistics.failure ?? "")")
        }
        if statistics.count > lost { log.info("\(statistics.count - lost) events are kept for the next start") }
        parts.embeddedBroker?.stop()
    }

    // MARK: Wiring

    /// Publishes what is of use only now: samples and near misses.
    private static func streamOutput(_ topic: String, _ client: MQTTClient) -> StreamOutput {
        StreamOutput(topic: topic) { message in
            do {
                try client.publish(message)
                return true
            } catch {
                return false
            }
        } backlog: {
            client.statistics.queued
        }
    }

    /// Makes the manager's delivery thread publish attitude and motion, and post its events into the mailbox.
    private func addHandlers() {
        let mailbox = parts.mailbox
        let observer = parts.observer
        let log = self.log
        let manager = parts.manager
        let motion = loop.core.telemetry.motion
        let client = parts.client
        manager.addMotionHandler { state in
            for message in motion.messages(of: state) { try? client.publish(message) }
            // The loop has the newest state whenever it wakes, and wakes for one that it publishes.
            mailbox.post(.motion(state), wakes: motion.isStateDue(state))
            observer.motion?(state)
        }
        manager.setDefaultResponder { event in
            mailbox.post(.gesture(event))
            observer.gesture?(event)
            log.debug("\(event.kind.word) \(event.phase.word)\(event.isSimulated ? ", simulated" : "")")
        }
        if log.level >= .debug {
            manager.addNearMissHandler { log.debug($0.isSimulated ? "\($0.explanation), simulated" : $0.explanation) }
        }
        parts.actions.install(settings.actions, in: manager)
        manager.addSensorHandler { event, _ in
            mailbox.post(.sensor(event))
            observer.sensor?(event)
        }
        manager.addMachineHandler { mailbox.post(.machine($0)) }
        manager.addReferenceHandler { change in log.report(change) }
        parts.writer.setObserver { mailbox.post(.storageChanged) }
    }
}

// Maps user settings to the parameters of the agent's parts.
extension JostleSettings {
    /// The sensor to open.
    package var sensorSelection: SensorSelection {
        var selection: SensorSelection =
            switch sensor.driver {
            case .automatic where sensor.device != nil: .kernel(device: sensor.device)
            case .automatic: .any(bus: sensor.bus, address: sensor.address)
            case .family(let family): .chip(family: family, bus: sensor.bus, address: sensor.address)
            case .kernel: .kernel(device: sensor.device, bus: sensor.bus, address: sensor.address)
            case .virtual: .virtual(sensor.trajectory)
            }
        selection.dataReadyLine = dataReadyLine
        selection.vocabulary = .agent
        return selection
    }

    /// The GPIO line wired to the chip's data-ready pin.
    private var dataReadyLine: GPIOPlace? {
        guard let line = sensor.interrupt.line else { return nil }
        return GPIOPlace(chip: sensor.interrupt.chip, line: UInt32(line).map { .number($0) } ?? .name(line))
    }

    /// The options of a device's client, whose will marks the device as offline.
    package func clientOptions(_ topics: Topics, brokers: [MosquittoClient.BrokerAddress]) throws -> MQTTOptions {
        var options = try mqttOptions(name: topics.device, brokers: brokers)
        options.will = TelemetryPublisher.availability("offline", topics)
        return options
    }

    /// Seconds between motion states: the period of the fastest enabled topic, and at most 0.1 s because the device
    /// state is evaluated ten times a second.
    var updateInterval: Double {
        1 / max(10, publish.attitude.rate, publish.motion.rate)
    }

    /// Seconds between motion states at rest, when nothing leaves its dead band; 0 if a topic has none.
    var restingInterval: Double {
        let hasDeadbands =
            [publish.attitude, publish.motion].allSatisfy { $0.rate == 0 || $0.deadband > 0 }
            && (publish.motion.rate == 0 || publish.rotationDeadband > 0)
        return hasDeadbands ? 1 : 0
    }
}

/// The objects with which the loop carries out effects: threads, files and the sensor.
struct AgentParts {
    let client: MQTTClient
    let mailbox: Mailbox<AgentEvent>
    let writer: StateWriter
    let outboxFile: OutboxFile
    let manager: MotionManager
    let sensor: SensorSwitch
    let host: CommandHost
    let services: ServiceManager
    let embeddedBroker: EmbeddedBroker?
    let actions: ActionResponders
    let starter: ActionStarter
    /// Reads the configuration files again; `nil` if the agent was not started from files.
    let readConfiguration: ConfigurationReading?
    let observer: Agent.Observer
    /// Where the upgrade service reports.
    let upgradeStatusPath = UpgradeStatus.path
}

extension SensorError: FailureConvertible {
    package var failure: Failure {
        let status: ExitStatus =
            switch self {
            case .unknownTrajectory, .rate, .noStateDirectory: .configuration
            case .dataReadyLine(let cause) where cause.isConfiguration: .configuration
            case .recording(let error): error.failure.status
            case .resources: .system
            case .dataReadyLine, .notFound, .unavailable, .kernelDevice: isPermission ? .permission : .unavailable
            case .stillStopping: .unavailable
            }
        return Failure(status, withSuggestion)
    }
}

extension RecordingError: FailureConvertible {
    /// A recording cannot be read.
    package var failure: Failure {
        if case .system = self { Failure(.noInput, description) } else { Failure(.badData, description) }
    }
}

extension SensorError {
    /// The description in the words of the agent, with the trajectory that was probably meant.
    package var withSuggestion: String {
        guard case .unknownTrajectory(let name, let known) = self else { return description(in: .agent) }
        return description(in: .agent) + EditDistance.suggestion(for: name, among: known)
    }
}
