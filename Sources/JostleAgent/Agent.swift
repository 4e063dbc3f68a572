internal import Glibc
public import IMUDrivers
public import JostleConfiguration
public import JostleMessages
internal import LinuxSystem
public import MosquittoClient
public import MotionCore
internal import MotionKit
internal import Synchronization

/// The agent: a motion manager, an MQTT client and the publisher between them, run until a signal ends them.
///
/// `MotionManager` reads the sensor and recognises gestures, `Publisher` is the last of its responders, `MQTTClient`
/// brings the messages to the broker. The main thread waits for signals and looks after the others.
public final class Agent {
    /// Tells a terminal, say, what happens; called on the threads on which it happens.
    public struct Observer: Sendable {
        public var motion: (@Sendable (MotionState) -> Void)?
        public var gesture: (@Sendable (GestureEvent) -> Void)?
        public var sensor: (@Sendable (IMUPoll.Event) -> Void)?
        public var connection: (@Sendable (MQTTEvent<MQTTToken>) -> Void)?

        /// Makes an observer that is told nothing.
        public init() {}
    }

    /// The device's name in topics.
    public let id: String

    /// Where the broker is.
    public let brokers: [MosquittoClient.BrokerAddress]

    /// The topics of the device.
    public let topics: Topics

    /// What the sensor is, in a few words.
    public var sensorTitle: String { sensor.title ?? "switched off" }

    let log: Log
    let manager: MotionManager
    let client: MQTTClient<MQTTToken>
    let publisher: Publisher
    let embeddedBroker: EmbeddedBroker?
    let services = ServiceManager()
    let health: HealthReporter
    let sensor: SensorSwitch
    let host: CommandHost
    let desk: CommandDesk
    let mailbox: CommandMailbox
    /// Ends the main thread's sleep.
    let bell: WakeSignal
    /// Whether a connection ended, or was not made, since the main thread last looked after the embedded broker.
    let brokerEnded = SharedFlag()

    let settings: JostleSettings
    let outbox: OutboxCourier
    let settingsDesk: SettingsDesk
    let live: LiveSettings
    let announcements: AnnouncementDesk?
    let formerNames: FormerNamesDesk?
    private let observer: Observer
    private let actions: ActionResponders

    /// Opens the sensor and prepares everything; nothing runs yet.
    ///
    /// To be called on the main thread, on which `run` is called later. The version is the program's, for the health
    /// report; in the state directory things are kept that outlive a run, what was set in the home among them.
    /// - Throws: `AgentError`, which says what can be done about it.
    public init(
        configuration: LoadedConfiguration, version: String, stateDirectory: String, log: Log,
        observer: Observer = Observer()
    ) throws(AgentError) {
        let store = LocalLayerStore(stateDirectory: stateDirectory)
        let stack = store.stack(upon: configuration, log: log)
        let settings = stack.resolution.settings
        let id = settings.device.id ?? DeviceName.ofThisMachine()
        let topics = Topics(prefix: settings.mqtt.prefix, id: id)
        let manager = MotionManager(
            sensor: settings.sensorSelection, imu: settings.imu, settings: settings.motion,
            updateInterval: settings.updateInterval, stateDirectory: stateDirectory)
        guard let bell = WakeSignal() else { throw AgentError.sensor(.resources) }
        let device = settings.sensor.isEnabled ? try Agent.open(settings) : nil
        let isSimulated = device?.isSimulated ?? (settings.sensor.driver == .virtual)
        let embedded = settings.mqtt.broker == .embedded ? try EmbeddedBroker() : nil
        let brokers = settings.brokers(embeddedPort: embedded?.port)
        let file = OutboxFile(
            directory: stateDirectory, maximumBytes: 8 * settings.mqtt.outbox.maximumBytes)
        let (client, publisher, outbox, relay) = try Agent.connect(
            settings, id: id, topics: topics, brokers: brokers, file, isSimulated: isSimulated, log: log)
        let health = HealthReporter(version: version, interval: settings.publish.health.interval, bell: bell)
        let sensor = SensorSwitch(
            manager: manager, selection: settings.sensorSelection, imu: settings.imu, device: device,
            publisher: publisher, health: health)

        self.settings = settings
        self.id = id
        self.topics = topics
        self.brokers = brokers
        self.log = log
        self.manager = manager
        self.client = client
        self.publisher = publisher
        self.outbox = outbox
        self.observer = observer
        actions = ActionResponders(
            ActionPerformer(
                device: id, prefix: settings.mqtt.prefix, isSimulated: isSimulated, publisher: publisher, log: log))
        settingsDesk = SettingsDesk(
            stack, topics: topics, store: store, log: log, send: Agent.sender(to: client))
        live = LiveSettings(manager: manager, publisher: publisher, health: health)
        let announced = RememberedTopics(
            .announced(stateDirectory: stateDirectory), complaint: "what Home Assistant was told cannot be remembered",
            log: log)
        formerNames = FormerNamesDesk(
            settings, topics: topics, memory: .names(stateDirectory: stateDirectory), announced: announced.topics,
            client: client, bell: bell, log: log, send: Agent.sender(to: client))
        announcements = AnnouncementDesk(
            settings,
            DiscoveryFacts(
                id: id, topics: topics, version: version, sensor: device?.title,
                hasGyroscope: device.map { $0.info.gyroscopeRange > 0 } ?? true, board: .ofThisMachine(),
                commands: settings.commands.allow.map(\.rawValue)),
            memory: announced, client: client, bell: bell, log: log, send: Agent.sender(to: client))
        embeddedBroker = embedded
        self.bell = bell
        self.health = health
        self.sensor = sensor
        mailbox = CommandMailbox(bell: bell)
        let identity = CommandHost.Identity(
            id: id, version: version, stateDirectory: stateDirectory, isSupervised: ServiceManager.isSupervised)
        let outlet = StreamOutlet(topic: topics.stream, send: Agent.sender(to: client)) { client.statistics.queued }
        host = CommandHost(identity: identity, settings: settings, sensor: sensor, outlet: outlet, log: log)
        desk = CommandDesk(
            topics: topics, prefix: settings.mqtt.prefix, host: host, send: Agent.sender(to: client))
        let handler = Relay.Handler(take: mqttHandler())
        relay.handler.withLock { $0 = handler }
    }

    /// What ended a run.
    public enum End: Sendable {
        /// A signal, or that the time was over.
        case ordered
        /// Somebody commanded over MQTT that the agent begins anew.
        case restart
    }

    /// Runs until SIGTERM, SIGINT or SIGHUP, or until `seconds` are over.
    ///
    /// - Throws: `AgentError` where it cannot start.
    @discardableResult
    public func run(for seconds: Double? = nil, signals: SignalWaiter) throws(AgentError) -> End {
        addHandlers()
        var watch = Watch(
            end: seconds.map { WallClock.monotonic.advanced(bySeconds: $0) },
            quietHours: QuietHours(settings.quietHours))
        keep(&watch.quietHours)
        for broker in settings.brokersInTheClear(brokers) {
            log.warning("the password goes to \(broker) in the clear: whoever listens has it; use mqtts://")
        }
        guard outbox.start() else { throw AgentError.sensor(.resources) }
        endInterruptedGestures()
        do throws(MQTTError) { try client.start() } catch { throw AgentError.mqtt(error) }
        if settings.sensor.isEnabled {
            do throws(SensorError) {
                _ = try sensor.start()
            } catch {
                _ = client.stop()
                throw AgentError.sensor(error)
            }
        }
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
        if embeddedBroker != nil, settings.homeAssistant.discovery {
            log.info(
                "the embedded broker is for programs on this machine: Home Assistant is not told of the device; for that, "
                    + "name in mqtt.broker the broker that it uses")
        }
        log.report(manager.calibration, warning: manager.calibrationWarning)
        services.ready()
        self.watch(&watch, signals)
        services.stopping()
        stop()
        return host.isRestartWanted ? .restart : .ordered
    }

    // MARK: Wiring

    private static func open(_ settings: JostleSettings) throws(AgentError) -> any SensorDevice {
        do throws(SensorError) {
            return try settings.sensorSelection.open(settings.imu)
        } catch {
            throw AgentError.sensor(error)
        }
    }

    /// The client's events before the agent is whole go nowhere.
    private final class Relay: Sendable {
        /// A structure around the function: a bare one would be wrapped once more at every access to the mutex, until the
        /// stack of whoever calls it is at its end.
        struct Handler: Sendable {
            let take: @Sendable (MQTTEvent<MQTTToken>) -> Void
        }

        let handler = Mutex<Handler?>(nil)
    }

    private static func connect(
        _ settings: JostleSettings, id: String, topics: Topics, brokers: [MosquittoClient.BrokerAddress],
        _ file: OutboxFile, isSimulated: Bool, log: Log
    ) throws(AgentError) -> (MQTTClient<MQTTToken>, Publisher, OutboxCourier, Relay) {
        var options: MQTTOptions
        do throws(SecretFileError) {
            options = try settings.mqttOptions(clientID: id, brokers: brokers)
        } catch {
            throw AgentError.secretFile(error)
        }
        options.will = Publisher.availability("offline", topics)
        let relay = Relay()
        do throws(MQTTError) {
            let client = try MQTTClient<MQTTToken>(options: options) { event in
                relay.handler.withLock { $0 }?.take(event)
            }
            let losses = SharedLineLimiter()
            let keeper = OutboxKeeper(
                file: file, limits: settings.outboxLimits,
                eventExpiry: settings.mqtt.eventExpiry > 0 ? settings.mqtt.eventExpiry : nil,
                note: { log.report($0, losses) }, send: sender(to: client))
            guard let outbox = OutboxCourier(keeper) else { throw MQTTError.system("eventfd", code: EMFILE) }
            let publisher = Publisher(
                topics: topics, publish: settings.publish, run: Publisher.newRun(), isSimulated: isSimulated,
                outbox: outbox, send: sender(to: client))
            // One that is retained by mistake is to be refused when it comes, not only when it comes again; and taking it
            // away, which is an empty message, is no command.
            for filter in [topics.command("+"), topics.set("+")] {
                try client.subscribe(to: filter, qos: .atLeastOnce, keepsRetainFlag: true)
            }
            return (client, publisher, outbox, relay)
        } catch {
            throw AgentError.mqtt(error)
        }
    }

    /// What hands messages to the client; false where it does not take one now.
    private static func sender(to client: MQTTClient<MQTTToken>) -> Publisher.Send {
        { message, token in
            do throws(MQTTError) {
                try client.publish(message, token: token)
                return true
            } catch {
                return false
            }
        }
    }

    private func addHandlers() {
        let publisher = self.publisher
        let observer = self.observer
        let log = self.log
        manager.addMotionHandler { state in
            publisher.publish(state)
            observer.motion?(state)
        }
        manager.setDefaultResponder { event in
            publisher.publish(event)
            observer.gesture?(event)
            log.debug("\(event.gesture.word) \(event.phase.word)\(event.isSimulated ? ", simulated" : "")")
        }
        if log.level >= .debug { manager.addNearMissHandler { miss in log.debug(miss.explanation) } }
        actions.install(settings.actions, in: manager)
        let health = self.health
        let limiter = SharedLineLimiter()
        manager.addSensorHandler { event, _ in
            log.report(event, limiter)
            observer.sensor?(event)
            health.makeDue()
        }
    }

    private func mqttHandler() -> @Sendable (MQTTEvent<MQTTToken>) -> Void {
        let publisher = self.publisher
        let observer = self.observer
        let health = self.health
        let report = ConnectionReport(log)
        let mailbox = self.mailbox
        let settingsDesk = self.settingsDesk
        let announcements = self.announcements
        let formerNames = self.formerNames
        let bell = self.bell
        let brokerEnded = self.brokerEnded
        let connectionEnded: @Sendable ([MQTTToken]) -> Void = { undelivered in
            publisher.disconnected(undelivered: undelivered)
            brokerEnded.raise()
            bell.ring()
        }
        return { event in
            if announcements?.take(event) == true || formerNames?.take(event) == true { return }
            switch event {
            case .connected:
                publisher.connected()
                settingsDesk.connected()
                health.makeDue()
            case .acknowledged(let token): publisher.acknowledged(token)
            case .rejected(let token?, _, _): publisher.rejected(token)
            case .message(let message): mailbox.post(message)
            case .disconnected(let end), .refused(let end): connectionEnded(end.undelivered)
            case .stopped(let undelivered): connectionEnded(undelivered)
            default: break
            }
            report.tell(event)
            observer.connection?(event)
        }
    }

    /// Gestures that were open when the last run was cut off come to their end, for whoever heard of their beginning.
    private func endInterruptedGestures() {
        for open in outbox.interrupted {
            var event = GestureEvent(open.gesture, .cancelled, at: WallClock.monotonic)
            event.reason = .restarted
            event.isSimulated = open.isSimulated
            actions.perform(settings.actions, on: event)
            publisher.publish(event)
        }
    }

    /// Puts the chip to sleep, says good-bye and ends everything, within a second.
    private func stop() {
        host.endJobs()
        manager.stop()
        // The last events are written down and handed over before the farewell.
        outbox.settle(within: 0.3)
        let result = client.stop(within: .milliseconds(400), farewell: Publisher.availability("offline", topics))
        if result == .leftBehind { log.warning("the broker did not answer in time: its will speaks for the device") }
        settingsDesk.keep(at: WallClock.monotonic, isLast: true)
        outbox.stop(within: 0.5)
        let figures = outbox.figures
        if figures.unstored > 0 {
            log.warning("\(figures.unstored) events did not reach the broker and are lost: \(figures.failure ?? "")")
        }
        if figures.count > figures.unstored {
            log.info("\(figures.count - figures.unstored) events wait for the next start")
        }
        embeddedBroker?.stop()
    }
}
