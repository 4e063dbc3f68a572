internal import Glibc
package import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem
package import MosquittoClient
internal import Synchronization

/// Listens to devices at the configured broker for as long as somebody watches; a broker that is away is tried again.
package final class WatchListener: Sendable {
    /// The largest message that is looked at, bytes: ten times an agent's longest.
    static let maximumMessage = 1 << 16

    /// Reports, and bytes of messages, that wait for whoever watches; beyond them messages are left out.
    private static let capacity = (reports: 20_000, bytes: 8 << 20)

    /// What happened on the network.
    package enum Report: Sendable {
        case connecting(broker: String)
        case connected(broker: String, version: String)
        /// Why there is no connection, and after how many seconds it is tried again.
        case failed(String, retryAfter: Double?)
        /// The broker does not let this user listen, and to what.
        case refused(filter: String, reason: String)
        /// Everything that was asked for is granted or refused.
        case listening
        case message(MQTTMessage)
    }

    let bell: WakeSignal
    private let prefix: String
    private let client: MQTTClient<Never>
    private let inbox: Inbox

    private final class Inbox: Sendable {
        let state = Mutex(InboxState())
    }

    private struct InboxState {
        var reports: [Report] = []
        var bytes = 0
        var leftOut = 0
        var awaited: Set<String> = []
        var filters: Set<String> = []
    }

    /// Prepares to listen to the device `id`, or to all; nothing is connected yet.
    ///
    /// - Throws: `mqtt`, `secretFile` or `privateBroker` where the configuration leads to no broker.
    package init(id: String?, settings: JostleSettings) throws(RemoteDeviceError) {
        if settings.mqtt.broker == .embedded { throw .privateBroker }
        guard let bell = WakeSignal() else { throw .mqtt(.system("eventfd", code: errno)) }
        prefix = settings.mqtt.prefix
        let inbox = Inbox()
        let mark = RunName.new()
        client = try WatchListener.client(settings, mark: mark) { event in
            WatchListener.take(event, inbox)
            bell.signal()
        }
        self.bell = bell
        self.inbox = inbox
        try listen(to: WatchListener.filters(prefix, id))
    }

    private static func client(
        _ settings: JostleSettings, mark: String, _ handler: @escaping @Sendable (MQTTEvent<Never>) -> Void
    ) throws(RemoteDeviceError) -> MQTTClient<Never> {
        var options: MQTTOptions
        do throws(SecretFileError) {
            options = try settings.mqttOptions(
                clientID: "watch-\(mark)", brokers: settings.brokers(embeddedPort: nil))
        } catch {
            throw .secretFile(error)
        }
        // Somebody waits, and there is one of him.
        options.backoff.cap = .seconds(5)
        options.maximumPacketSize = maximumMessage
        do throws(MQTTError) {
            return try MQTTClient<Never>(options: options, handler: handler)
        } catch {
            throw .mqtt(error)
        }
    }

    /// Connects.
    package func start() throws(RemoteDeviceError) {
        do throws(MQTTError) {
            try client.start()
        } catch {
            throw .mqtt(error)
        }
    }

    /// Ends the connection.
    package func stop() {
        _ = client.stop(within: .milliseconds(300))
    }

    /// Listens to all that one device tells, and no more to the others.
    package func narrow(to id: String) throws(RemoteDeviceError) {
        let before = WatchListener.filters(prefix, nil)
        for filter in before { client.unsubscribe(from: filter.0) }
        inbox.state.withLock { state in
            state.filters.subtract(before.map(\.0))
            state.awaited.subtract(before.map(\.0))
        }
        try listen(to: WatchListener.filters(prefix, id))
    }

    /// What happened since the last call, in order, and how many messages found no room.
    package func takeReports() -> (reports: [Report], leftOut: Int) {
        inbox.state.withLock { state in
            defer {
                state.reports = []
                state.bytes = 0
                state.leftOut = 0
            }
            return (state.reports, state.leftOut)
        }
    }

    // MARK: Subscriptions

    /// Of a fleet, attitude and motion are left alone: hundreds of devices send thousands a second.
    private static func filters(_ prefix: String, _ id: String?) -> [(String, MQTTQoS)] {
        let root = "\(prefix)/\(id ?? "+")"
        var filters: [(String, MQTTQoS)] = [
            ("\(root)/availability", .atLeastOnce), ("\(root)/state", .atLeastOnce), ("\(root)/health", .atMostOnce),
            ("\(root)/event/+", .atLeastOnce),
        ]
        if id != nil { filters += [("\(root)/attitude", .atMostOnce), ("\(root)/motion", .atMostOnce)] }
        return filters
    }

    private func listen(to filters: [(String, MQTTQoS)]) throws(RemoteDeviceError) {
        inbox.state.withLock { state in
            state.filters.formUnion(filters.map(\.0))
            state.awaited.formUnion(filters.map(\.0))
        }
        for (filter, qos) in filters {
            do throws(MQTTError) {
                try client.subscribe(to: filter, qos: qos)
            } catch {
                throw .mqtt(error)
            }
        }
    }

    // MARK: From the network thread

    private static func take(_ event: MQTTEvent<Never>, _ inbox: Inbox) {
        inbox.state.withLock { state in
            switch event {
            case .connecting(let broker, _):
                add(.connecting(broker: "\(broker)"), &state)
            case .connected(let connection):
                state.awaited = state.filters
                add(.connected(broker: "\(connection.broker)", version: "\(connection.version)"), &state)
            case .subscribed(let filter, _): settle(filter, &state)
            case .subscriptionRefused(let filter, let reason):
                add(.refused(filter: filter, reason: "\(reason)"), &state)
                settle(filter, &state)
            case .message(let message):
                let size = message.payload.count + message.topic.utf8.count
                guard state.bytes + size <= capacity.bytes else {
                    state.leftOut += 1
                    return
                }
                add(.message(message), &state)
                state.bytes += size
            case .refused(let end), .disconnected(let end):
                let advice = end.advice.map { "; \($0)" } ?? ""
                let reason = ForeignText.oneLine("\(end.broker): \(end.failure)\(advice)")
                add(.failed(reason, retryAfter: end.retryAfter.map { $0 / .seconds(1) }), &state)
            case .acknowledged, .rejected, .stopped: break
            }
        }
    }

    private static func settle(_ filter: String, _ state: inout InboxState) {
        guard state.awaited.remove(filter) != nil, state.awaited.isEmpty else { return }
        add(.listening, &state)
    }

    private static func add(_ report: Report, _ state: inout InboxState) {
        if state.reports.count < capacity.reports { state.reports.append(report) } else { state.leftOut += 1 }
    }
}
