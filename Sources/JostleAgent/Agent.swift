internal import Glibc
package import IMUDrivers
package import JostleConfiguration
package import JostleMessages
internal import LinuxSystem
package import MosquittoClient
package import MotionCore
internal import MotionKit
internal import StateStorage

/// The agent: a motion manager, an MQTT client and the loop between them, run until a signal ends them.
///
/// `MotionManager` reads the sensor and recognises gestures, `MQTTClient` talks to the broker, `StateWriter` writes what must
/// last. Each has a thread of its own and posts what happens into one mailbox; `AgentLoop` on the main thread does the rest.
package final class Agent {
    /// Shows a terminal, say, what happens; motion, gestures and the sensor's events come on the delivery thread.
    package struct Observer: Sendable {
        package var motion: (@Sendable (MotionState) -> Void)?
        package var gesture: (@Sendable (GestureEvent) -> Void)?
        package var sensor: (@Sendable (SensorEvent) -> Void)?
        package var connection: (@Sendable (ConnectionChange) -> Void)?

        /// An observer of nothing.
        package init() {}
    }

    /// What happened to the connection.
    package enum ConnectionChange: Sendable {
        case connected(MQTTConnection)
        /// It ended, or could not be made, and is tried again.
        case notConnected(MosquittoClient.BrokerAddress, MQTTFailure)
    }

    /// The device's name in topics.
    package let id: String

    /// Where the broker is.
    package let brokers: [MosquittoClient.BrokerAddress]

    /// The topics of the device.
    package let topics: Topics

    /// What the sensor is, in a few words.
    package var sensorTitle: String { parts.sensor.title ?? "switched off" }

    private let log: Log
    private let settings: JostleSettings
    private let parts: AgentParts
    private let loop: AgentLoop
    private let actions: ActionResponders

    /// Opens the sensor and prepares everything; nothing runs yet.
    ///
    /// To be called on the main thread, on which `run` is called later. The version is the program's, for the health
    /// report; the state directory has what outlives a run, such as what was set in the home.
    /// - Throws: `AgentError`, which says what can be done about it.
    package init(
        configuration: LoadedConfiguration, version: String, stateDirectory: String, log: Log,
        observer: Observer = Observer()
    ) throws(AgentError) {
        let directory = StateDirectory(path: stateDirectory)
        let stack = LocalLayer.stack(upon: configuration, in: directory, log: log)
        let settings = stack.resolution.settings
        let id = settings.device.id ?? DeviceName.ofThisMachine()
        let topics = Topics(prefix: settings.mqtt.prefix, id: id)
        guard let wake = WakeSignal() else { throw AgentError.sensor(.resources) }
        let device = settings.sensor.isEnabled ? try Agent.open(settings) : nil
        let facts = AgentFacts(
            id: id, version: version, topics: topics,
            isSimulated: device?.isSimulated ?? (settings.sensor.driver == .virtual), device: device)
        let embedded = settings.mqtt.broker == .embedded ? try Agent.startBroker() : nil
        let brokers = settings.brokers(embeddedPort: embedded?.port)
        let mailbox = Mailbox<AgentEvent>(wake: wake)
        let client = try Agent.client(settings, id: id, topics: topics, brokers: brokers, mailbox)
        let writer = StateWriter()
        let manager = MotionManager(
            sensor: settings.sensorSelection, imu: settings.imu, settings: settings.motion,
            updateInterval: settings.updateInterval, stateDirectory: stateDirectory, writer: writer)
        let sensor = SensorSwitch(
            manager: manager, selection: settings.sensorSelection, imu: settings.imu, device: device)
        let host = CommandHost(
            identity: CommandHost.Identity(
                id: id, version: version, stateDirectory: stateDirectory, isSupervised: ServiceManager.isSupervised),
            settings: settings, sensor: sensor, outlet: Agent.outlet(topics.stream, client), log: log
        ) { mailbox.post(.answers($0)) }
        let file = OutboxFile(directory: stateDirectory, maximumBytes: 8 * settings.mqtt.outbox.maximumBytes)
        let (content, setAside, failure) = file.open()
        if let setAside { log.error(setAside.description) }
        if content.unusable > 0 {
            log.warning("ignored \(content.unusable) invalid rows in the outbox")
        }
        let parts = AgentParts(
            client: client, mailbox: mailbox, writer: writer, stateDirectory: directory, outboxFile: file,
            manager: manager, sensor: sensor, host: host, services: ServiceManager(), embeddedBroker: embedded,
            observer: observer)

        self.settings = settings
        self.id = id
        self.topics = topics
        self.brokers = brokers
        self.log = log
        self.parts = parts
        loop = AgentLoop(
            stack, facts, outbox: Outbox.Opened(content: content, isReplaced: setAside != nil, failure: failure), parts,
            log: log)
        actions = ActionResponders { action, event in mailbox.post(.action(action, event)) }
    }

    /// What ended a run.
    package enum End: Sendable {
        /// A signal, or that the time was over.
        case ordered
        /// Somebody commanded over MQTT that the agent starts again.
        case restart
    }

    /// Runs until SIGTERM, SIGINT or SIGHUP, or until `seconds` are over.
    ///
    /// - Throws: `AgentError` if it cannot start.
    @discardableResult
    package func run(for seconds: Double? = nil, signals: SignalWaiter) throws(AgentError) -> End {
        let end = seconds.map { WallClock.monotonic.advanced(bySeconds: $0) }
        addHandlers()
        for broker in settings.unencryptedBrokers(among: brokers) {
            log.warning("the password goes to \(broker) in the clear: whoever listens has it; use mqtts://")
        }
        loop.start()
        do throws(MQTTError) { try parts.client.start() } catch { throw AgentError.mqtt(error) }
        if settings.sensor.isEnabled {
            do throws(SensorError) {
                _ = try parts.sensor.start()
            } catch {
                _ = parts.client.stop()
                throw AgentError.sensor(error)
            }
        }
        logStart()
        parts.services.ready()
        loop.run(until: end, signals)
        let reason: End = parts.host.isRestartWanted ? .restart : .ordered
        parts.services.stopping()
        stop()
        return reason
    }

    private func logStart() {
        let sensor = parts.sensor
        let what = sensor.isStopped ? "not sensing (sensor.enabled is false)" : "reading \(sensorTitle)"
        log.info(
            "\(id): \(what), publishing under \(topics.root) to \(brokers.first.map { "\($0)" } ?? "nobody")"
        )
        if let matrix = sensor.mountMatrix {
            let isUsed = settings.motion.mount == .identity
            let consequence = isUsed ? "holds, as sensor.mount_matrix is not set" : "gives way to sensor.mount_matrix"
            log.info("the kernel's mount matrix of the sensor, \(matrix.rows), \(consequence)")
        }
        for note in sensor.notes { log.warning(note) }
        if parts.embeddedBroker != nil, settings.homeAssistant.discovery {
            log.info(
                "the embedded broker is for programs on this machine: Home Assistant is not told of the device; for that, "
                    + "name in mqtt.broker the broker that it uses")
        }
        log.report(parts.manager.calibration, warning: parts.manager.calibrationWarning)
    }

    /// Puts the chip to sleep, says good-bye and ends everything, within two seconds.
    private func stop() {
        parts.host.endJobs()
        parts.manager.stop()
        // The last events are stored and handed over before the farewell.
        loop.settle(within: 0.3)
        let farewell = TelemetryPublisher.availability("offline", topics)
        let result = parts.client.stop(within: .milliseconds(400), farewell: farewell)
        if result == .leftBehind { log.warning("the broker did not answer in time: its will speaks for the device") }
        loop.settle(within: 0.1)
        let file = parts.outboxFile
        parts.writer.perform { file.close() }
        parts.writer.finish(within: 0.5)
        loop.handleEvents()
        let figures = loop.outbox.figures
        let lost = loop.outbox.inMemoryAlone
        if lost > 0 {
            log.warning("\(lost) events did not reach the broker and are lost: \(figures.failure ?? "")")
        }
        if figures.count > lost { log.info("\(figures.count - lost) events wait for the next start") }
        parts.embeddedBroker?.stop()
    }

    // MARK: Wiring

    private static func open(_ settings: JostleSettings) throws(AgentError) -> any SensorDevice {
        do throws(SensorError) {
            return try settings.sensorSelection.open(settings.imu)
        } catch {
            throw AgentError.sensor(error)
        }
    }

    private static func startBroker() throws(AgentError) -> EmbeddedBroker {
        do throws(EmbeddedBrokerError) {
            return try EmbeddedBroker()
        } catch {
            throw AgentError.embeddedBroker(error)
        }
    }

    private static func client(
        _ settings: JostleSettings, id: String, topics: Topics, brokers: [MosquittoClient.BrokerAddress],
        _ mailbox: Mailbox<AgentEvent>
    ) throws(AgentError) -> MQTTClient<DeliveryToken> {
        var options: MQTTOptions
        do throws(SecretFileError) {
            options = try settings.mqttOptions(clientID: id, brokers: brokers)
        } catch {
            throw AgentError.secretFile(error)
        }
        options.will = TelemetryPublisher.availability("offline", topics)
        do throws(MQTTError) {
            return try MQTTClient(options: options) { mailbox.post(AgentEvent($0)) }
        } catch {
            throw AgentError.mqtt(error)
        }
    }

    /// Where streamed samples go.
    private static func outlet(_ topic: String, _ client: MQTTClient<DeliveryToken>) -> StreamOutlet {
        StreamOutlet(topic: topic) { message in
            do throws(MQTTError) {
                try client.publish(message)
                return true
            } catch {
                return false
            }
        } backlog: {
            client.statistics.queued
        }
    }

    /// Has the manager's delivery thread post what it hears.
    private func addHandlers() {
        let mailbox = parts.mailbox
        let observer = parts.observer
        let log = self.log
        let manager = parts.manager
        manager.addMotionHandler { state in
            mailbox.post(.motion(state))
            observer.motion?(state)
        }
        manager.setDefaultResponder { event in
            mailbox.post(.gesture(event))
            observer.gesture?(event)
            log.debug("\(event.gesture.word) \(event.phase.word)\(event.isSimulated ? ", simulated" : "")")
        }
        if log.level >= .debug { manager.addNearMissHandler { miss in log.debug(miss.explanation) } }
        actions.install(settings.actions, in: manager)
        manager.addSensorHandler { event, _ in
            mailbox.post(.sensor(event))
            observer.sensor?(event)
        }
        parts.writer.setObserver { mailbox.post(.storageChanged) }
    }
}
