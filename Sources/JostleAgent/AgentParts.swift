internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient
internal import MotionKit
internal import StateStorage

/// The objects with which the loop carries out effects: threads, files and the sensor.
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
    let actions: ActionResponders
    /// Reads the configuration files again; `nil` if the agent was not started from files.
    let readConfiguration: ConfigurationReading?
    let observer: Agent.Observer
    /// Where the upgrade service reports.
    let upgradeStatusPath = UpgradeStatus.path
}

/// What the participants need to know about the agent.
struct AgentFacts {
    var id: String
    var version: String
    var topics: Topics
    var isSimulated: Bool
    /// The sensor, if it has been opened.
    var device: (any SensorDevice)?
}

extension DiscoveryFacts {
    /// The facts about this agent that its discovery messages contain.
    init(_ facts: AgentFacts, _ settings: JostleSettings) {
        self.init(
            id: facts.id, topics: facts.topics, version: facts.version, sensor: facts.device?.title,
            hasGyroscope: facts.device.map { $0.info.gyroscopeRange > 0 } ?? true, board: .ofThisMachine(),
            commands: settings.commands.allow.map(\.rawValue))
    }
}
