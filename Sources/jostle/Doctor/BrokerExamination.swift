internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import MosquittoClient

/// Examines the brokers: whether the agent reaches them, who it is there, and what it may do.
struct BrokerExamination {
    private(set) var findings: [Finding] = []

    /// What the agent has published; `nil` if no broker was reached.
    private(set) var device: WatchedDevice?

    private let settings: JostleSettings
    private let id: String

    /// What follows the address of a broker.
    private let note: String

    /// Connects to every configured broker.
    ///
    /// A broker may take the user name as the client id. Then a second client would end the connection of an agent that
    /// runs, so the broker for commands is used instead, if there is one.
    /// - Throws: status 75 if the user interrupts.
    init(_ settings: JostleSettings, id: String, isRunning: Bool, signals: SignalWaiter) throws(CommandFailure) {
        let usesCommandBroker = isRunning && settings.mqtt.commandBroker != nil
        let settings = usesCommandBroker ? settings.forCommands : settings
        self.settings = settings
        self.id = id
        note = usesCommandBroker ? " (mqtt.command_broker, because the agent runs)" : ""
        guard settings.mqtt.broker != .embedded else {
            findings = Self.embedded(
                isInstalled: EmbeddedBroker.isInstalled, discovery: settings.homeAssistant.discovery)
            return
        }
        var others: [Finding] = []
        for broker in settings.brokers(embeddedPort: nil) {
            guard let options = options(for: broker) else { return }
            let probe: BrokerProbe
            do throws(MQTTError) {
                probe = try BrokerProbe(options, settings, id: id, signals: signals)
            } catch {
                findings.append(.failed(.broker, "\(error)", [], status: .configuration))
                return
            }
            let outcome = try probe.run(id: id)
            guard outcome.connection != nil else {
                others.append(failure(outcome.failure ?? .timedOut, of: broker))
                continue
            }
            judge(outcome, of: broker, userName: options.credentials?.userName)
            // The agent works with the first broker that it reaches.
            if device == nil {
                device = outcome.device
                judgeTopics(outcome)
                judgeDiscovery(outcome)
            }
        }
        // One broker is enough.
        findings += device == nil ? others : others.map(\.asWarning)
    }

    /// The agent's connection settings; `nil` after a finding if a secret cannot be read.
    private mutating func options(for broker: MosquittoClient.BrokerAddress) -> MQTTOptions? {
        do throws(SecretFileError) {
            var options = try settings.mqttOptions(clientID: "doctor-\(RunName.new())", brokers: [broker])
            options.connectTimeout = .seconds(8)
            options.backoff.base = .milliseconds(200)
            options.backoff.cap = .seconds(1)
            return options
        } catch {
            findings.append(
                .unknown(
                    .broker, "\(broker) was not tried, because a secret cannot be read: \(error)", "sudo jostle doctor")
            )
            return nil
        }
    }

    /// The broker that the agent starts itself.
    static func embedded(isInstalled: Bool, discovery: Bool) -> [Finding] {
        guard isInstalled else {
            return [
                .failed(
                    .broker, "mqtt.broker is embedded, but mosquitto is not installed",
                    ["sudo apt install mosquitto", "Or set mqtt.broker to the broker that Home Assistant uses"])
            ]
        }
        let broker = Finding.ok(.broker, "the agent starts its own, for programs on this machine only")
        guard discovery else { return [broker] }
        return [
            broker,
            .warning(
                .homeAssistant, "Home Assistant cannot reach the agent's own broker",
                "Set mqtt.broker to the broker that Home Assistant uses: mqtt://HOST"),
        ]
    }

    // MARK: The connection

    private mutating func judge(
        _ outcome: BrokerProbe.Outcome, of broker: MosquittoClient.BrokerAddress, userName: String?
    ) {
        guard let connection = outcome.connection else { return }
        findings.append(.ok(.broker, "\(broker) answers, with MQTT \(connection.version)\(note)"))
        if broker.usesTLS {
            findings.append(
                settings.mqtt.checksServerName
                    ? .ok(.tls, "the certificate of \(broker.host) is valid")
                    : .warning(
                        .tls, "the certificate is valid, but its name is not checked: mqtt.check_server_name is false",
                        "Use a certificate with the broker's name, and remove mqtt.check_server_name"))
        } else if settings.unencryptedBrokers(among: [broker]).isEmpty == false {
            findings.append(
                .warning(
                    .tls, "the password goes to \(broker) unencrypted, readable on the network",
                    "Set up TLS at the broker, and use mqtts:// in mqtt.broker"))
        }
        findings.append(.ok(.login, userName.map { "as user \($0)" } ?? "without a user name, which \(broker) accepts"))
    }

    /// Why the broker cannot be used, at the step that failed.
    private func failure(_ failure: MQTTFailure, of broker: MosquittoClient.BrokerAddress) -> Finding {
        let examination: Examination =
            switch failure {
            case .tls: .tls
            case .refused: .login
            default: .broker
            }
        var steps = failure.advice.map { [$0.prefix(1).uppercased() + $0.dropFirst()] } ?? []
        switch failure {
        case .hostNotFound(let host, _): steps.append("getent hosts \(host)")
        case .network, .timedOut:
            if settings.mqtt.broker == nil {
                steps = [
                    "Set mqtt.broker in the configuration to the broker that Home Assistant uses: mqtt://HOST",
                    "Or install a broker here: sudo apt install mosquitto",
                ]
            }
        case .tls(.notYetValid), .tls(.expired): steps.append("timedatectl")
        default: break
        }
        return .failed(examination, "\(broker): \(failure)", steps)
    }

    // MARK: Topics

    private mutating func judgeTopics(_ outcome: BrokerProbe.Outcome) {
        let topics = Topics(prefix: settings.mqtt.prefix, id: id)
        for refusal in outcome.refusals {
            findings.append(
                .failed(
                    .topics, "the broker refuses \(refusal.topic): \(refusal.reason)",
                    [
                        "Permit it in the broker's access rules; those of docs/broker.md permit each device its own topics",
                        "The user name must be the device's id, \(id), for those rules",
                    ], status: .permission))
        }
        guard outcome.refusals.isEmpty else { return }
        findings.append(
            outcome.hasEcho
                ? .ok(.topics, "\(topics.root)/# may be written and read")
                : .failed(
                    .topics, "a message to \(topics.root)/# is accepted, but does not come back",
                    ["Permit the device to write and read its own topics: see docs/broker.md"], status: .permission))
    }

    private mutating func judgeDiscovery(_ outcome: BrokerProbe.Outcome) {
        guard settings.homeAssistant.discovery else {
            findings.append(.ok(.homeAssistant, "home_assistant.discovery is off"))
            return
        }
        let prefix = settings.homeAssistant.prefix
        switch outcome.hasDiscoveryReader {
        case true?: findings.append(.ok(.homeAssistant, "somebody reads the discovery messages under \(prefix)/"))
        case false?:
            findings.append(
                .warning(
                    .homeAssistant, "nobody reads the discovery messages under \(prefix)/",
                    "In Home Assistant: Settings -> Devices & services -> Add integration -> MQTT, with this broker",
                    "Its discovery prefix must be \(prefix): home_assistant.prefix in the configuration",
                    "Without Home Assistant: set home_assistant.discovery to false"))
        case nil:
            findings.append(
                .unknown(.homeAssistant, "this broker does not say whether somebody reads the discovery messages"))
        }
    }
}
