internal import LinuxSystem
internal import MosquittoClient
internal import Synchronization

/// What a session's client received: written by the network thread, taken by the session.
final class FleetInbox: Sendable {
    /// The most bytes of messages that wait to be taken; further messages are dropped.
    private static let capacity = 64 << 20

    /// The state of the connection.
    struct Status {
        var isConnected = false
        /// The number of connections so far.
        var connections = 0
        /// Whether the connection supports response topics, as MQTT 5 does.
        var hasProperties = false
        /// The subscriptions that the broker has not answered yet.
        var pending: Set<String> = []
        var filters: Set<String> = []
        var refused: [String: MQTTReason] = [:]
        var lastFailure: String?
        /// The broker refused the user, so that another attempt would not help.
        var isBarred = false
        var acknowledged: Set<Int> = []
        var rejected: [Int: MQTTFailure] = [:]
        var dropped = 0
    }

    private struct State {
        var status = Status()
        var messages: [MQTTMessage] = []
        var bytes = 0
    }

    let wake: WakeSignal
    private let state = Mutex(State())

    init(wake: WakeSignal) {
        self.wake = wake
    }

    var status: Status { state.withLock { $0.status } }

    /// Returns and removes the messages since the last call, in order.
    func takeMessages() -> [MQTTMessage] {
        state.withLock { state in
            defer {
                state.messages = []
                state.bytes = 0
            }
            return state.messages
        }
    }

    /// Notes a subscription that is about to be requested.
    func expect(_ filter: String) {
        state.withLock { state in
            state.status.filters.insert(filter)
            state.status.pending.insert(filter)
            state.status.refused[filter] = nil
        }
    }

    func forget(_ filter: String) {
        state.withLock { state in
            state.status.filters.remove(filter)
            state.status.pending.remove(filter)
        }
    }

    /// Records an event of the client. Called on the network thread.
    func handle(_ event: MQTTEvent<Int>) {
        state.withLock { state in
            switch event {
            case .connected(let connection):
                state.status.isConnected = true
                state.status.connections += 1
                state.status.hasProperties = connection.version == .v5
                state.status.pending = state.status.filters
            case .subscribed(let filter, _): state.status.pending.remove(filter)
            case .subscriptionRefused(let filter, let reason):
                state.status.refused[filter] = reason
                state.status.pending.remove(filter)
            case .subscriptionLeftOut(let filter, let omission):
                state.status.refused[filter] = omission.reason
                state.status.pending.remove(filter)
            case .message(let message):
                let size = message.payload.count + message.topic.utf8.count
                guard state.bytes + size <= FleetInbox.capacity else {
                    state.status.dropped += 1
                    return
                }
                state.messages.append(message)
                state.bytes += size
            case .acknowledged(let token): state.status.acknowledged.insert(token)
            case .rejected(let token, _, let failure): if let token { state.status.rejected[token] = failure }
            case .refused(let end):
                if case .refused(let reason) = end.failure, [.notAuthorised, .badUserNameOrPassword].contains(reason) {
                    state.status.isBarred = true
                }
                FleetInbox.end(end, &state.status)
            case .disconnected(let end): FleetInbox.end(end, &state.status)
            case .connecting, .subscriptionRestored, .stopped: break
            }
        }
        wake.signal()
    }

    private static func end(_ end: MQTTDisconnection<Int>, _ status: inout Status) {
        status.isConnected = false
        let advice = end.advice.map { "; \($0)" } ?? ""
        status.lastFailure = ForeignText.oneLine("\(end.broker): \(end.failure)\(advice)")
    }
}
