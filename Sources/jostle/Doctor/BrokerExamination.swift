internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore
internal import Synchronization

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
                judgeTopics(outcome)
                judgeDiscovery(outcome)
            }
        }
        // One broker is enough.
        findings += device == nil ? others : others.map(\.asWarning)
    }

    /// The agent's connection settings; `nil` after a finding if a secret cannot be read.
    private mutating func options(for broker: MosquittoClient.BrokerAddress) -> MQTTOptions? {
        do {
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
        var device: WatchedDevice
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

    private let client: MQTTClient<Token>
    private let inbox: Inbox
    private let topics: Topics
    private let discoveryPrefix: String?
    private let signals: SignalWaiter

    /// Prepares a probe. `options` are the agent's, for this broker alone.
    ///
    /// - Throws: `MQTTError` if the options are invalid.
    init(_ options: MQTTOptions, _ settings: JostleSettings, id: String, signals: SignalWaiter) throws {
        topics = Topics(prefix: settings.mqtt.prefix, id: id)
        discoveryPrefix = settings.homeAssistant.discovery ? settings.homeAssistant.prefix : nil
        let inbox = Inbox(
            echo: "\(topics.events)doctor", model: WatchModel(prefix: settings.mqtt.prefix, onlyDevice: id))
        client = try MQTTClient<Token>(options: options) { inbox.take($0) }
        self.inbox = inbox
        self.signals = signals
    }

    /// Runs the test, which blocks for some seconds.
    ///
    /// - Throws: status 75 if the user interrupts.
    func run(id: String) throws -> Outcome {
        let filters = [inbox.echo] + topics.retained
        try Failure.with(.configuration) {
            for filter in filters { try client.subscribe(to: filter, qos: .atLeastOnce) }
            try client.start()
        }
        defer { _ = client.stop(within: .milliseconds(500)) }
        try wait(30) { $0.connection != nil || $0.isHopeless }
        guard inbox.seen.connection != nil else { return outcome(id) }
        try wait(Self.answerTime) { $0.answered.count >= filters.count }
        // Retained messages follow the answers. An agent that has just connected has not sent its report yet.
        try wait(0.5) { $0.model.devices[id]?.isOnline != nil }
        if inbox.seen.model.devices[id]?.isOnline == true {
            try wait(Self.answerTime) { $0.model.devices[id]?.health != nil }
        }
        try testEvents()
        try testDiscovery(id)
        return outcome(id)
    }

    private func outcome(_ id: String) -> Outcome {
        let seen = inbox.seen
        return Outcome(
            connection: seen.connection, failure: seen.failure, refusals: seen.refusals, hasEcho: seen.hasEcho,
            hasDiscoveryReader: seen.hasDiscoveryReader, device: seen.model.devices[id] ?? seen.model.emptyDevice(id))
    }

    /// Publishes like an event, and waits until it comes back.
    private func testEvents() throws {
        try publish(MQTTMessage(topic: inbox.echo, payload: [], qos: .atLeastOnce), .echo)
        guard inbox.seen.results[.echo] == true else { return }
        try wait(Self.echoTime) { $0.hasEcho }
    }

    /// Whether somebody reads discovery messages. MQTT 5 brokers may say of a message that nobody subscribes to its topic.
    /// A message that nobody can want shows whether this one says so.
    private func testDiscovery(_ id: String) throws {
        guard let discoveryPrefix else { return }
        let control = MQTTMessage(topic: "\(topics.events)nobody", payload: [], qos: .atLeastOnce)
        guard try isUnmatched(control, .control) == true else { return }
        let topic = "\(discoveryPrefix)/sensor/\(id)/doctor/config"
        let message = MQTTMessage(topic: topic, payload: [], qos: .atLeastOnce, retain: true)
        guard var isUnread = try isUnmatched(message, .discovery) else { return }
        // In its first seconds, the agent itself reads what the broker holds.
        if !isUnread, let device = inbox.seen.model.devices[id], device.isOnline == true,
            device.health?.uptime ?? 0 < 60
        {
            try wait(Self.readingTime) { _ in false }
            isUnread = try isUnmatched(message, .discoveryAgain) ?? false
        }
        inbox.found(discoveryReader: !isUnread)
    }

    /// Whether the broker says that nobody subscribes to the topic; `nil` if it refused the message.
    private func isUnmatched(_ message: MQTTMessage, _ token: Token) throws -> Bool? {
        let before = client.statistics.unmatched
        try publish(message, token)
        guard inbox.seen.results[token] == true else { return nil }
        return client.statistics.unmatched > before
    }

    /// Publishes a message and waits for the broker's answer.
    private func publish(_ message: MQTTMessage, _ token: Token) throws {
        do {
            try client.publish(message, token: token)
        } catch {
            // The connection has just ended, which the outcome shows.
            return
        }
        try wait(Self.answerTime) { $0.results[token] != nil }
    }

    /// Waits until `isDone`, at most some seconds.
    private func wait(_ seconds: Double, _ isDone: (Inbox.Seen) -> Bool) throws {
        let deadline = WallClock.monotonic.advanced(bySeconds: seconds)
        while !isDone(inbox.seen), WallClock.monotonic < deadline {
            if signals.wait(seconds: 0.01) { throw Failure(.temporary, "interrupted") }
        }
    }
}

// MARK: - Events

extension BrokerProbe {
    /// The messages of the test.
    enum Token: Hashable, Sendable {
        case echo
        case control
        case discovery
        case discoveryAgain
    }

    /// What the client reports: written by the network thread, read by the waiting caller.
    final class Inbox: Sendable {
        struct Seen: Sendable {
            var connection: MQTTConnection?
            var failure: MQTTFailure?
            var failures = 0
            /// The filters that the broker has answered.
            var answered: Set<String> = []
            var refusals: [Refusal] = []
            /// Whether a message was accepted.
            var results: [Token: Bool] = [:]
            var hasEcho = false
            var hasDiscoveryReader: Bool?
            var model: WatchModel

            /// Whether another attempt would fail too. The first one may only show that the broker speaks MQTT 3.1.1.
            var isHopeless: Bool {
                switch failure {
                case nil: false
                case .hostNotFound, .timedOut, .file, .refused(.badUserNameOrPassword), .refused(.notAuthorised): true
                // A name may have several addresses, and the broker may listen on one of them.
                case .network, .tls: failures > 2
                default: failures > 1
                }
            }
        }

        /// The topic of the message that comes back.
        let echo: String
        private let state: Mutex<Seen>

        init(echo: String, model: WatchModel) {
            self.echo = echo
            state = Mutex(Seen(model: model))
        }

        var seen: Seen { state.withLock { $0 } }

        func found(discoveryReader: Bool) {
            state.withLock { $0.hasDiscoveryReader = discoveryReader }
        }

        func take(_ event: MQTTEvent<Token>) {
            state.withLock { seen in
                switch event {
                case .connected(let connection): seen.connection = connection
                case .subscribed(let filter, _): seen.answered.insert(filter)
                case .subscriptionRefused(let filter, let reason):
                    seen.answered.insert(filter)
                    seen.refusals.append(Refusal(topic: filter, reason: "\(reason)"))
                case .subscriptionLeftOut(let filter, let omission):
                    seen.answered.insert(filter)
                    seen.refusals.append(Refusal(topic: filter, reason: "\(omission)"))
                case .message(let message):
                    if message.topic == echo, !message.retain { seen.hasEcho = true }
                    _ = seen.model.update(with: message, at: WallClock.monotonic)
                case .acknowledged(let token): seen.results[token] = true
                case .rejected(let token, let topic, let failure):
                    if let token { seen.results[token] = false }
                    seen.refusals.append(Refusal(topic: topic, reason: failure.messageDescription))
                case .refused(let end), .disconnected(let end):
                    seen.failures += 1
                    // One address may refuse the connection, and another one say more.
                    if case .network = end.failure, seen.failure != nil { break }
                    seen.failure = end.failure
                case .connecting, .subscriptionRestored, .stopped: break
                }
            }
        }
    }
}
