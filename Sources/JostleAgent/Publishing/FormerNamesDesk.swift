internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore
internal import Synchronization

/// Sees to it that nothing stays at the broker under names that the device had before: brings what the network thread hears
/// to `FormerNames`, and on the main thread carries out what that decides.
final class FormerNamesDesk: Sendable {
    /// Seconds until what the client had no room for is handed to it again.
    private static let retry = 0.2

    private let client: MQTTClient<MQTTToken>
    private let send: Publisher.Send
    private let memory: RememberedTopics
    private let current: String
    private let bell: WakeSignal
    private let log: Log
    private let state: Mutex<State>

    /// Behind a reference, touched under the lock only: Swift 6.0.3 crashes on a mutex around so large a structure.
    private final class State: @unchecked Sendable {
        var names: FormerNames
        /// Whether the client did not take everything: when to try again.
        var retry: Timestamp?

        init(_ names: FormerNames) {
            self.names = names
        }
    }

    /// Makes a desk, and remembers the name that the device has now; `nil` where it had no other, by neither what it
    /// published nor the topics that it `announced`.
    init?(
        _ settings: JostleSettings, topics: Topics, memory: TopicMemory, announced: Set<String>,
        client: MQTTClient<MQTTToken>,
        bell: WakeSignal, log: Log, send: @escaping Publisher.Send
    ) {
        // What the embedded broker keeps ends with it.
        guard settings.mqtt.broker != .embedded else { return nil }
        self.memory = RememberedTopics(memory, complaint: "the device's name cannot be remembered", log: log)
        let kept = self.memory.topics
        let known = Set(kept.map { Topics(root: $0).device })
        let others = Set(announced.compactMap(Announcer.device(ofTopic:))).subtracting(known)
        let former = kept.union(others.map { Topics(prefix: settings.mqtt.prefix, id: $0).root })
            .subtracting([topics.root])
        self.client = client
        self.send = send
        self.bell = bell
        self.log = log
        current = topics.root
        state = Mutex(State(FormerNames(former)))
        keep()
        if former.isEmpty { return nil }
    }

    // MARK: On the network thread

    /// Hears what happens; true where nobody else need hear of it.
    func take(_ event: MQTTEvent<MQTTToken>) -> Bool {
        let before = nextWork
        defer { if nextWork != before { bell.ring() } }
        return hear(event, at: WallClock.monotonic)
    }

    private func hear(_ event: MQTTEvent<MQTTToken>, at now: Timestamp) -> Bool {
        switch event {
        case .connected:
            for filter in state.withLock({ $0.names.connected(at: now) }) { client.subscribe(to: filter, orTell: log) }
            return false
        case .subscribed(let filter, _), .subscriptionRefused(let filter, _):
            state.withLock { $0.names.answered(filter, at: now) }
            return false
        case .message(let message):
            switch state.withLock({ $0.names.take(message, at: now) }) {
            case .unrelated: return false
            case .nothing: return true
            case .inUse(let root):
                log.info("another device is online as \(root), as this one once was: what it says stays at the broker")
                return true
            }
        case .acknowledged(let token):
            let answer = state.withLock { $0.names.acknowledged(token) }
            if let cleared = answer.root {
                log.info("what was retained under the former name \(cleared) is taken away")
                state.withLock { $0.retry = now }
            }
            return answer.isOurs
        case .rejected(let token?, _, let failure):
            let answer = state.withLock { $0.names.rejected(token) }
            if let refused = answer.root {
                log.warning(
                    "what was retained under the former name \(refused) stays at the broker, which does not let this device "
                        + "take it away (\(failure.ofMessage)); who may can do it: mosquitto_pub -r -n -t \(refused)/availability, "
                        + "and so on with state, health and config/reported")
            }
            return answer.isOurs
        case .disconnected, .refused, .stopped:
            state.withLock { state in
                state.names.disconnected()
                state.retry = nil
            }
            return false
        case .connecting, .rejected(nil, _, _): return false
        }
    }

    // MARK: On the main thread

    /// When there is something to do although nothing more happens; the bell is rung where it changes.
    var nextWork: Timestamp? {
        state.withLock { state in [state.names.nextWork, state.retry].compactMap { $0 }.min() }
    }

    /// The devices' names, but for this one's, that somebody else has, or may have for all that is known yet.
    var spared: Set<String> { state.withLock { $0.names.spared }.subtracting([Topics(root: current).device]) }

    /// Does what is due.
    func work(at now: Timestamp) {
        guard let due = nextWork, now >= due else { return }
        let work = state.withLock { state in
            state.retry = nil
            return state.names.work(at: now)
        }
        for filter in work.unsubscriptions { client.unsubscribe(from: filter) }
        // Under the lock, since the broker may answer at once.
        let areTaken = work.messages.allSatisfy { message, token in
            state.withLock { state in
                guard send(message, token) else { return false }
                state.names.sent(message, token)
                return true
            }
        }
        if !areTaken { state.withLock { $0.retry = now.advanced(bySeconds: FormerNamesDesk.retry) } }
        keep()
    }

    /// Remembers the names under which something is.
    private func keep() {
        memory.keep(state.withLock { $0.names.roots.union([current]) })
    }
}
