import BrokerTestSupport
import Glibc
import MosquittoClient
import Synchronization
import Testing

/// A client and all events that it reported.
final class RecordedClient: Sendable {
    let client: MQTTClient
    private let log: EventLog

    init(_ options: MQTTOptions) throws {
        let log = EventLog()
        self.log = log
        client = try MQTTClient(options: options) { log.append($0) }
    }

    /// A client that was started.
    static func started(_ options: MQTTOptions, subscribingTo filters: [String] = []) throws -> RecordedClient {
        let client = try RecordedClient(options)
        for filter in filters { try client.client.subscribe(to: filter, qos: .atLeastOnce) }
        try client.client.start()
        return client
    }

    /// Starts a client and waits until it is connected and subscribed.
    static func connected(_ options: MQTTOptions, subscribingTo filters: [String] = []) async throws -> RecordedClient {
        let client = try started(options, subscribingTo: filters)
        // Several times, if a busy machine let the first attempt time out.
        try #require(await eventually { !client.connections.isEmpty && client.granted.isSuperset(of: filters) })
        return client
    }

    /// Publishes a text with QoS 1.
    func publish(_ topic: String, _ text: String = "", retain: Bool = false, token: Int? = nil) throws(MQTTError) {
        let message = MQTTMessage(topic: topic, text: text, qos: .atLeastOnce, retain: retain)
        try client.publish(message, token: token.map { MQTTToken(Int64($0)) })
    }

    var connections: [MQTTConnection] { log.all { if case .connected(let it) = $0 { it } else { nil } } }
    var subscribed: [String] { log.all { if case .subscribed(let it, _) = $0 { it } else { nil } } }
    /// The filters that the broker has granted on the last connection.
    var granted: Set<String> {
        let changes: [String?] = log.all {
            switch $0 {
            case .connected: .some(nil)
            case .subscribed(let filter, _): filter
            default: nil
            }
        }
        return Set(changes.reversed().prefix { $0 != nil }.compactMap { $0 })
    }
    var messages: [MQTTMessage] { log.all { if case .message(let it) = $0 { it } else { nil } } }
    var acknowledged: [Int] { log.all { if case .acknowledged(let it) = $0 { Int(it.number) } else { nil } } }
    private var ends: [MQTTDisconnection] { log.all { if case .disconnected(let it) = $0 { it } else { nil } } }
    var refusals: [MQTTDisconnection] { ends.filter { if case .refused = $0.failure { true } else { false } } }
    /// The other ends of a connection.
    var disconnections: [MQTTDisconnection] { ends.filter { if case .refused = $0.failure { false } else { true } } }
    var versionsTried: [MQTTVersion] { log.all { if case .connecting(_, let it) = $0 { it } else { nil } } }
    var rejected: [(token: Int?, topic: String, failure: MQTTFailure)] {
        log.all { if case .rejected(let a, let b, let c) = $0 { (a.map { Int($0.number) }, b, c) } else { nil } }
    }
    var subscriptionRefusals: [MQTTReason] {
        log.all { if case .subscriptionRefused(_, let it) = $0 { it } else { nil } }
    }
    var leftOut: [String] { log.all { if case .subscriptionLeftOut(let it, _) = $0 { it } else { nil } } }
    var omissions: [MQTTOmission] { log.all { if case .subscriptionLeftOut(_, let it) = $0 { it } else { nil } } }
    var stopped: [[Int]] { log.all { if case .stopped(let it) = $0 { it.map { Int($0.number) } } else { nil } } }
}

/// A client whose network thread is stuck in the handler of its `connected` event until `release()`.
final class StuckClient: Sendable {
    let client: MQTTClient
    let log = EventLog()
    private let isStuck: SharedSwitch
    private let mayGoOn: SharedSwitch

    init(_ options: MQTTOptions) throws {
        let isStuck = SharedSwitch()
        let mayGoOn = SharedSwitch()
        self.isStuck = isStuck
        self.mayGoOn = mayGoOn
        client = try MQTTClient(options: options) { [log] event in
            log.append(event)
            guard case .connected = event else { return }
            isStuck.turnOn()
            while !mayGoOn.isOn { waitShortly() }
        }
    }

    /// Starts it. Returns `true` once it is stuck.
    func start() async throws -> Bool {
        try client.start()
        return await eventually { isStuck.isOn }
    }

    func release() {
        mayGoOn.turnOn()
    }
}

/// A flag that one thread sets and others read.
private final class SharedSwitch: Sendable {
    private let state = Mutex(false)

    var isOn: Bool { state.withLock { $0 } }

    func turnOn() {
        state.withLock { $0 = true }
    }
}

/// Events in order, from any thread.
final class EventLog: Sendable {
    private let events = Mutex<[MQTTEvent]>([])

    func append(_ event: MQTTEvent) {
        events.withLock { $0.append(event) }
    }

    func all<T>(_ select: (MQTTEvent) -> T?) -> [T] {
        events.withLock { $0 }.compactMap(select)
    }
}

extension MQTTOptions {
    /// Options for a local broker that make failures show quickly.
    static func local(_ port: UInt16, id: String, host: String = "127.0.0.1", tls: Bool = false) -> MQTTOptions {
        var options = MQTTOptions(brokers: [BrokerAddress(host: host, port: port, usesTLS: tls)], clientID: id)
        options.backoff.base = .milliseconds(20)
        options.backoff.cap = .milliseconds(100)
        return options
    }
}

extension MQTTPublisher {
    func publish(_ message: MQTTMessage, token: Int) throws(MQTTError) {
        try publish(message, token: MQTTToken(Int64(token)))
    }
}

extension MQTTMessage {
    /// The payload as text.
    var text: String { String(decoding: payload, as: UTF8.self) }
}

/// Waits a moment in synchronous code.
func waitShortly() {
    usleep(2000)
}
