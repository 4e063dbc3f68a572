internal import JostleAgent
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import JostleRuntime
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore

/// Examines the brokers: whether the agent reaches them, who it is there, and what it may do.
final class BrokerExamination {
    private(set) var findings: [Finding] = []

    /// What the agent has published; `nil` if no broker was reached.
    private(set) var device: FleetBoard?

    /// Whether the broker retains what the agent has published.
    private(set) var retains = true

    private let settings: JostleSettings
    private let id: String

    /// What follows the address of a broker.
    private let note: String

    /// Connects to every configured broker.
    ///
    /// A broker may take the user name as the client id. Then a second client would end the connection of an agent that
    /// runs, so the broker for commands is used instead, if there is one.
    /// - Throws: status 75 if the user interrupts.
    init(_ settings: JostleSettings, id: String, isRunning: Bool, signals: SignalWaiter) throws {
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
            do {
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
                retains = outcome.connection?.limits.retains ?? true
                judgeTopics(outcome)
                judgeDiscovery(outcome)
            }
        }
        // One broker is enough.
        findings += device == nil ? others : others.map(\.asWarning)
    }

    /// The agent's connection settings; `nil` after a finding if a secret cannot be read.
    private func options(for broker: MosquittoClient.BrokerAddress) -> MQTTOptions? {
        do {
            var options = try settings.mqttOptions(name: "doctor-\(RunName.new())", brokers: [broker])
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

    private func judge(
        _ outcome: BrokerProbe.Outcome, of broker: MosquittoClient.BrokerAddress, userName: String?
    ) {
        guard let connection = outcome.connection else { return }
        findings.append(.ok(.broker, "\(broker) answers, with MQTT \(connection.version)\(note)"))
        findings += connection.costs.map {
            .warning(.broker, $0, "In mosquitto's configuration: remove retain_available false, or max_qos 0")
        }
        if broker.usesTLS {
            findings.append(
                settings.mqtt.checksServerName
                    ? .ok(.tls, "the certificate of \(broker.host) is valid")
                    : .warning(
                        .tls, "the certificate is valid, but its name is not checked: mqtt.server_name_check is false",
                        "Use a certificate with the broker's name, and remove mqtt.server_name_check"))
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
        case .hostNotFound(let host, _):
            let services = FileContents.text(ofOptional: "/etc/nsswitch.conf", limit: 1 << 14)
            steps = Self.steps(forUnknown: host, nameServices: services ?? "", steps)
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

    /// What to do about a host that was not found. `nameServices` is nsswitch.conf(5), which says who answers for `.local`.
    static func steps(forUnknown host: String, nameServices: String, _ others: [String]) -> [String] {
        let look = "getent hosts \(host)"
        guard host.lowercased().hasSuffix(".local") else { return others + [look] }
        let hosts = nameServices.split(separator: "\n").first { $0.hasPrefix("hosts:") } ?? ""
        // mdns4_minimal and the like are of libnss-mdns; resolve is systemd-resolved, which can answer too.
        guard !hosts.contains(text: "mdns"), !hosts.contains(text: "resolve") else { return others + [look] }
        return ["Names that end with .local need multicast DNS: sudo apt install libnss-mdns", look]
            + ["Or use the broker's address in numbers"]
    }

    // MARK: Topics

    private func judgeTopics(_ outcome: BrokerProbe.Outcome) {
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

    private func judgeDiscovery(_ outcome: BrokerProbe.Outcome) {
        guard settings.homeAssistant.discovery else {
            findings.append(.ok(.homeAssistant, "home_assistant.discovery is off"))
            return
        }
        let prefix = settings.homeAssistant.prefix
        switch outcome.hasDiscoveryReader {
        case true?:
            let offer = "; from version 2024.11 on, home_assistant.discovery_form: device makes one message of ninety"
            findings.append(
                .ok(
                    .homeAssistant,
                    "somebody reads the discovery messages under \(prefix)/"
                        + (settings.homeAssistant.discoveryForm == .component ? offer : "")))
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

/// Connects to one broker as the agent does, but with a client id of its own, and tries what the agent does there.
///
/// Its messages are empty. They are not retained, or remove a retained message that nobody has published.
final class BrokerProbe {
    /// What was learnt.
    struct Outcome {
        /// The connection; `nil` if there was none.
        var connection: MQTTConnection?
        /// Why there is no connection.
        var failure: MQTTFailure?
        /// The filters and topics that the broker refused, with its reasons.
        var refusals: [Refusal] = []
        /// Whether the test message came back: the device may read its own topics.
        var hasEcho = false
        /// Whether somebody reads discovery messages; `nil` if the broker does not say.
        var hasDiscoveryReader: Bool?
        /// What the agent has published.
        var device: FleetBoard
    }

    /// A subscription or a message that the broker refused.
    struct Refusal: Equatable {
        var topic: String
        var reason: String
    }

    /// The longest time that the parts of the test may take, s. The connection has a time limit of its own.
    private static let answerTime = 5.0
    private static let echoTime = 2.0
    private static let readingTime = 6.0

    private let view: BrokerView
    private let topics: Topics
    /// The topic of the message that comes back.
    private let echo: String
    private let discoveryPrefix: String?
    private let signals: SignalWaiter
    private var model: FleetModel
    private var outcome: Outcome

    /// Prepares a probe. `options` are the agent's, for this broker alone.
    ///
    /// - Throws: `MQTTError` if the options are invalid.
    init(_ options: MQTTOptions, _ settings: JostleSettings, id: String, signals: SignalWaiter) throws {
        topics = Topics(prefix: settings.mqtt.prefix, id: id)
        echo = "\(topics.events)doctor"
        discoveryPrefix = settings.homeAssistant.discovery ? settings.homeAssistant.prefix : nil
        model = FleetModel(prefix: settings.mqtt.prefix, onlyDevice: id)
        outcome = Outcome(device: FleetBoard(id: id))
        view = try BrokerView(options)
        self.signals = signals
    }

    /// Runs the test, which blocks for some seconds.
    ///
    /// - Throws: status 75 if the user interrupts.
    func run(id: String) throws -> Outcome {
        try Failure.with(.configuration) {
            try view.subscribe(to: ([echo] + topics.retained).map { BrokerView.Filter($0, isReliable: true) })
            try view.start()
        }
        defer { view.stop() }
        try wait(30) { status in
            outcome.connection = status.connection
            return outcome.connection != nil || status.isHopeless
        }
        if outcome.connection != nil {
            try wait(Self.answerTime) { $0.pending.isEmpty }
            // Retained messages follow the answers. An agent that has just connected has not sent its report yet.
            try wait(0.5) { _ in model.boards[id]?.isOnline != nil }
            if model.boards[id]?.isOnline == true {
                try wait(Self.answerTime) { _ in model.boards[id]?.health != nil }
            }
            try testEvents()
            try testDiscovery(id)
        }
        outcome.failure = view.status.failure
        outcome.device = model.boards[id] ?? outcome.device
        return outcome
    }

    /// Publishes like an event, and waits until it comes back.
    private func testEvents() throws {
        guard try publish(MQTTMessage(topic: echo, payload: [], qos: .atLeastOnce)) else { return }
        try wait(Self.echoTime) { _ in outcome.hasEcho }
    }

    /// Whether somebody reads discovery messages. MQTT 5 brokers may say of a message that nobody subscribes to its topic.
    /// A message that nobody can want shows whether this one says so.
    private func testDiscovery(_ id: String) throws {
        guard let discoveryPrefix else { return }
        let control = MQTTMessage(topic: "\(topics.events)nobody", payload: [], qos: .atLeastOnce)
        guard try isUnmatched(control) == true else { return }
        let topic = "\(discoveryPrefix)/sensor/\(id)/doctor/config"
        let message = MQTTMessage(topic: topic, payload: [], qos: .atLeastOnce, retain: true)
        guard var isUnread = try isUnmatched(message) else { return }
        // In its first seconds, the agent itself reads what the broker holds.
        if !isUnread, let device = model.boards[id], device.isOnline == true, device.health?.uptime ?? 0 < 60 {
            try wait(Self.readingTime) { _ in false }
            isUnread = try isUnmatched(message) ?? false
        }
        outcome.hasDiscoveryReader = !isUnread
    }

    /// Whether the broker says that nobody subscribes to the topic; `nil` if it refused the message.
    private func isUnmatched(_ message: MQTTMessage) throws -> Bool? {
        let before = view.statistics.unmatched
        return try publish(message) ? view.statistics.unmatched > before : nil
    }

    /// Publishes a message and waits for the broker's answer.
    ///
    /// - Returns: whether it was accepted.
    private func publish(_ message: MQTTMessage) throws -> Bool {
        let token: MQTTToken
        do {
            token = try view.publish(message)
        } catch {
            // The connection has just ended, which the outcome shows.
            return false
        }
        try wait(Self.answerTime) { $0.acknowledged.contains(token) || $0.rejected[token] != nil }
        let status = view.status
        if let failure = status.rejected[token] {
            outcome.refusals.append(Refusal(topic: message.topic, reason: failure.messageDescription))
        }
        return status.acknowledged.contains(token)
    }

    /// Waits until `isDone`, at most some seconds.
    private func wait(_ seconds: Double, _ isDone: (BrokerView.Status) -> Bool) throws {
        try view.wait(until: WallClock.monotonic.advanced(bySeconds: seconds), signals) {
            take()
            return isDone(view.status)
        }
    }

    private func take() {
        for report in view.takeReports().reports {
            switch report {
            case .refused(let filter, let reason): outcome.refusals.append(Refusal(topic: filter, reason: reason))
            case .message(let message):
                if message.topic == echo, !message.retain { outcome.hasEcho = true }
                _ = model.update(with: message, at: WallClock.monotonic)
            case .connecting, .connected, .failed, .listening: break
            }
        }
    }
}
