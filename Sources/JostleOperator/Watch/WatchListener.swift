internal import Glibc
package import JostleConfiguration
internal import JostleMessages
package import LinuxSystem
package import MosquittoClient
package import MotionCore
internal import Synchronization

/// Subscribes to devices at the configured broker, and reconnects until it is stopped.
package final class WatchListener: Sendable {
    /// The largest message that is accepted, bytes: ten times an agent's longest.
    static let maximumMessage = 1 << 16

    /// The most reports, and bytes of messages, that are queued for the view; further ones are dropped.
    private static let capacity = (reports: 20_000, bytes: 8 << 20)

    /// A network event.
    package enum Report: Sendable {
        case connecting(broker: String)
        case connected(broker: String, version: String)
        /// Why there is no connection, and the seconds until the next attempt.
        case failed(String, retryAfter: Double?)
        /// The broker refused a subscription.
        case refused(filter: String, reason: String)
        /// Every subscription was granted or refused.
        case listening
        case message(MQTTMessage)
    }

    /// Wakes the view when there are reports.
    package let wake: WakeSignal
    private let prefix: String
    private let client: MQTTClient<Never>
    private let inbox: Inbox

    private final class Inbox: Sendable {
        let state = Mutex(InboxState())
    }

    private struct InboxState {
        var reports: [Report] = []
        var bytes = 0
        var dropped = 0
        /// The subscriptions that the broker has not answered yet.
        var pending: Set<String> = []
        var filters: Set<String> = []
    }

    /// A topic filter, with the quality of service to ask for.
    package struct Filter: Hashable, Sendable {
        package var text: String
        package var isReliable: Bool

        package init(_ text: String, isReliable: Bool = false) {
            self.text = text
            self.isReliable = isReliable
        }
    }

    /// Prepares to listen to the device `id`, or to all devices if it is `nil`. `start()` connects.
    ///
    /// - Throws: if the configuration does not lead to a broker.
    package convenience init(id: String?, settings: JostleSettings) throws {
        try self.init(name: "watch", filters: WatchListener.filters(settings.mqtt.prefix, id), settings: settings)
    }

    /// Prepares to listen to these filters, with `name` in the client id. `start()` connects.
    ///
    /// - Throws: if the configuration does not lead to a broker.
    package init(name: String, filters: [Filter], settings: JostleSettings) throws {
        let settings = settings.forCommands
        if settings.mqtt.broker == .embedded { throw BrokerError.privateAgentBroker }
        guard let wake = WakeSignal() else { throw MQTTError.system("eventfd", code: errno) }
        prefix = settings.mqtt.prefix
        let inbox = Inbox()
        client = try WatchListener.client(settings, clientID: "\(name)-\(RunName.new())") { event in
            WatchListener.take(event, inbox)
            wake.signal()
        }
        self.wake = wake
        self.inbox = inbox
        try listen(to: filters)
    }

    private static func client(
        _ settings: JostleSettings, clientID: String, _ handler: @escaping @Sendable (MQTTEvent<Never>) -> Void
    ) throws -> MQTTClient<Never> {
        var options = try settings.mqttOptions(
            clientID: clientID, brokers: settings.brokers(embeddedPort: nil))
        // Short, because a person is waiting, and a single client does not load the broker.
        options.backoff.cap = .seconds(5)
        options.maximumPacketSize = maximumMessage
        return try MQTTClient<Never>(options: options, handler: handler)
    }

    /// Connects.
    package func start() throws {
        try client.start()
    }

    /// Ends the connection.
    package func stop() {
        _ = client.stop(within: .milliseconds(300))
    }

    /// Subscribes to everything that one device publishes, and unsubscribes from the others.
    package func narrow(to id: String) throws {
        let before = WatchListener.filters(prefix, nil)
        unsubscribe(from: before)
        inbox.state.withLock { state in
            state.filters.subtract(before.map(\.text))
            state.pending.subtract(before.map(\.text))
        }
        try listen(to: WatchListener.filters(prefix, id))
    }

    /// Also listens to further filters. If the broker refuses one, its messages stay away, and nothing is reported.
    package func subscribe(to filters: [Filter]) throws {
        for filter in filters {
            try client.subscribe(to: filter.text, qos: filter.isReliable ? .atLeastOnce : .atMostOnce)
        }
    }

    /// Ends the subscription of filters.
    package func unsubscribe(from filters: [Filter]) {
        for filter in filters { client.unsubscribe(from: filter.text) }
    }

    /// Publishes a message of this user. The broker drops a reliable one after ten seconds without a taker: a command that
    /// waits longer does something that nobody expects any more.
    ///
    /// - Returns: why the client has not accepted it; `nil` if it has.
    package func publish(_ payload: [UInt8], to topic: String, isReliable: Bool = true) -> MQTTError? {
        var message = MQTTMessage(
            topic: topic, payload: payload, qos: isReliable ? .atLeastOnce : .atMostOnce, retain: false)
        message.properties.userProperties = [MQTTMessage.UserProperty("from", "jostle@\(DeviceName.hostName())")]
        if isReliable { message.properties.messageExpiry = 10 }
        do {
            try client.publish(message)
            return nil
        } catch {
            return error
        }
    }

    /// Asks a device for its state. The answer arrives as a message, if this user may send commands and read answers.
    package func askForState(of id: String) {
        // If it is not accepted, the device publishes its state sooner or later anyway.
        let topic = Topics(prefix: prefix, id: id).command(WatchListener.command)
        _ = publish(Array("{}".utf8), to: topic, isReliable: false)
    }

    /// Also subscribes to the availability of the other devices, to tell which ones there are. If the broker refuses
    /// that, they stay unknown.
    package func listenForOthers() throws {
        try subscribe(to: [Filter("\(prefix)/+/availability", isReliable: true)])
    }

    private static let command = "get-state"

    /// Whether a refused subscription is no problem: a user may be allowed to see only what devices publish, or only some
    /// devices.
    private static func isOptional(_ filter: String, _ state: InboxState) -> Bool {
        filter.hasSuffix("/command/\(command)/result") || filter.hasSuffix("/near-miss")
            || !state.filters.contains(filter)
    }

    /// Returns and removes the reports since the last call, in order, with the number of dropped ones.
    package func takeReports() -> (reports: [Report], dropped: Int) {
        inbox.state.withLock { state in
            defer {
                state.reports = []
                state.bytes = 0
                state.dropped = 0
            }
            return (state.reports, state.dropped)
        }
    }

    // MARK: Subscriptions

    /// For a fleet without attitude, motion and near misses: hundreds of devices send thousands of those per second.
    private static func filters(_ prefix: String, _ id: String?) -> [Filter] {
        let root = "\(prefix)/\(id ?? "+")"
        var filters = ["availability", "state", "event/+", "config/reported"].map {
            Filter("\(root)/\($0)", isReliable: true)
        }
        filters += ["health", "command/\(command)/result"].map { Filter("\(root)/\($0)") }
        if id != nil { filters += ["attitude", "motion", "near-miss"].map { Filter("\(root)/\($0)") } }
        return filters
    }

    private func listen(to filters: [Filter]) throws {
        inbox.state.withLock { state in
            state.filters.formUnion(filters.map(\.text))
            state.pending.formUnion(filters.map(\.text))
        }
        try subscribe(to: filters)
    }

    // MARK: From the network thread

    private static func take(_ event: MQTTEvent<Never>, _ inbox: Inbox) {
        inbox.state.withLock { state in
            switch event {
            case .connecting(let broker, _):
                add(.connecting(broker: "\(broker)"), &state)
            case .connected(let connection):
                state.pending = state.filters
                add(.connected(broker: "\(connection.broker)", version: "\(connection.version)"), &state)
            case .subscribed(let filter, _): settle(filter, &state)
            case .subscriptionRefused(let filter, let reason):
                if !isOptional(filter, state) { add(.refused(filter: filter, reason: "\(reason)"), &state) }
                settle(filter, &state)
            case .subscriptionLeftOut(let filter, let omission):
                if !isOptional(filter, state) { add(.refused(filter: filter, reason: "\(omission)"), &state) }
                settle(filter, &state)
            case .message(let message):
                let size = message.payload.count + message.topic.utf8.count
                guard state.bytes + size <= capacity.bytes else {
                    state.dropped += 1
                    return
                }
                add(.message(message), &state)
                state.bytes += size
            case .refused(let end), .disconnected(let end):
                let advice = end.advice.map { "; \($0)" } ?? ""
                let reason = ForeignText.oneLine("\(end.broker): \(end.failure)\(advice)")
                add(.failed(reason, retryAfter: end.retryAfter.map { $0 / .seconds(1) }), &state)
            case .subscriptionRestored, .acknowledged, .rejected, .stopped: break
            }
        }
    }

    private static func settle(_ filter: String, _ state: inout InboxState) {
        guard state.pending.remove(filter) != nil, state.pending.isEmpty else { return }
        add(.listening, &state)
    }

    private static func add(_ report: Report, _ state: inout InboxState) {
        if state.reports.count < capacity.reports { state.reports.append(report) } else { state.dropped += 1 }
    }
}

/// Decides which devices a view asks for their state, so that it does not have to wait for their next message: the
/// attitude of a device at rest comes only every half minute.
package struct StateRequests: Equatable, Sendable {
    /// The most requests per second, and at once: a fleet must not answer all together.
    private static let rate = 5.0

    /// Seconds until a device that did not answer is asked again.
    private static let pause = 30.0

    /// The most requests to a device while it is online: it may not be allowed to answer, or this user to ask.
    private static let attempts = 3

    private struct Request: Equatable {
        var time: Timestamp
        var count: Int
    }

    private var asked: [String: Request] = [:]
    private var budget = TokenBucket(capacity: rate, rate: rate)

    package init() {}

    /// The devices to ask now. A device is asked if it is online and has told the view nothing of what it shows: the
    /// attitude for a single device, the state in a list.
    package mutating func due(_ model: WatchModel, at now: Timestamp) -> [String] {
        asked = asked.filter { model.devices[$0.key]?.isOnline == true }
        var due: [String] = []
        for device in model.devices.values.sorted(by: { $0.id < $1.id }) where isMissing(device, model) {
            let last = asked[device.id]
            if let last {
                let isTired = last.count >= StateRequests.attempts
                if isTired || now.seconds(since: last.time) < StateRequests.pause { continue }
            }
            guard budget.spend(at: now) else { break }
            asked[device.id] = Request(time: now, count: (last?.count ?? 0) + 1)
            due.append(device.id)
        }
        return due
    }

    private func isMissing(_ device: WatchedDevice, _ model: WatchModel) -> Bool {
        guard device.isOnline == true else { return false }
        return model.onlyDevice == nil ? device.state == nil : device.attitude == nil
    }
}
