internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient
internal import MotionKit
internal import StateStorage

/// What the loop's effects are carried out with: threads, files and the sensor.
struct AgentParts {
    let client: MQTTClient<DeliveryToken>
    let mailbox: Mailbox<AgentEvent>
    let writer: StateWriter
    let stateDirectory: StateDirectory
    let outboxFile: OutboxFile
    let manager: MotionManager
    let sensor: SensorSwitch
    let host: CommandHost
    let services: ServiceManager
    let embeddedBroker: EmbeddedBroker?
    let observer: Agent.Observer
}

/// The participants of the loop as they are at the start, made of settings and of what the state directory has.
struct AgentParticipants {
    var settings: SettingsStore
    var formerNames: FormerNames?
    var discovery: DiscoveryPublisher?
    var commands: CommandHandler
    var telemetry: TelemetryPublisher
    var outbox: Outbox
    var events: EventComposer
    var health: HealthReporter

    /// What the participants need to know of the agent.
    struct Facts {
        var id: String
        var version: String
        var topics: Topics
        var isSimulated: Bool
        /// The sensor, if it was opened.
        var device: (any SensorDevice)?
    }

    init(
        _ stack: ConfigurationStack, _ facts: Facts, outbox opened: Outbox.Opened, in directory: StateDirectory
    ) {
        let settings = stack.resolution.settings
        let topics = facts.topics
        let now = ClockReading.now()
        self.settings = SettingsStore(stack, topics: topics)
        commands = CommandHandler(topics: topics, prefix: settings.mqtt.prefix, allowed: settings.commands.allow)
        telemetry = TelemetryPublisher(topics: topics, publish: settings.publish, isSimulated: facts.isSimulated)
        outbox = Outbox(
            opened, limits: settings.outboxLimits,
            eventExpiry: settings.mqtt.eventExpiry > 0 ? settings.mqtt.eventExpiry : nil)
        events = EventComposer(
            topics: topics, prefix: settings.mqtt.prefix, run: RunName.new(), isSimulated: facts.isSimulated)
        health = HealthReporter(
            version: facts.version, interval: settings.publish.health.interval,
            processorTime: ProcessFigures.processorTime, at: now)
        // What the embedded broker keeps ends with it, and nobody but programs on this machine ever hears it.
        guard settings.mqtt.broker != .embedded else { return }
        let announced = RememberedTopics.announced(in: directory)
        formerNames = FormerNames(
            settings, topics: topics, memory: .deviceNames(in: directory), announced: announced.topics)
        guard settings.homeAssistant.discovery || !announced.topics.isEmpty else { return }
        discovery = DiscoveryPublisher(
            settings,
            DiscoveryFacts(
                id: facts.id, topics: topics, version: facts.version, sensor: facts.device?.title,
                hasGyroscope: facts.device.map { $0.info.gyroscopeRange > 0 } ?? true, board: .ofThisMachine(),
                commands: settings.commands.allow.map(\.rawValue)),
            memory: announced)
    }
}
