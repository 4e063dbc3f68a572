internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore
internal import MotionKit
internal import Synchronization

/// Announces the device to Home Assistant: brings what the network thread hears to the announcer, and on the main thread
/// carries out what that decides.
final class AnnouncementDesk: Sendable {
    /// Seconds until what the client had no room for is handed to it again.
    private static let retry = 0.2

    private let client: MQTTClient<MQTTToken>
    private let send: Publisher.Send
    private let memory: RememberedTopics
    private let facts: DiscoveryFacts
    private let bell: WakeSignal
    private let log: Log
    private let state: Mutex<State>

    /// Behind a reference, touched under the lock only: Swift 6.0.3 crashes on a mutex around so large a structure.
    private final class State: @unchecked Sendable {
        var announcer: Announcer
        var set: DiscoverySet
        /// Whether the client did not take everything: when to try again.
        var retry: Timestamp?

        init(_ announcer: Announcer, _ set: DiscoverySet) {
            self.announcer = announcer
            self.set = set
        }
    }

    /// Makes a desk, and subscribes to Home Assistant's birth message; `nil` where there is nothing to announce and nothing
    /// to take away.
    init?(
        _ settings: JostleSettings, _ facts: DiscoveryFacts, memory: RememberedTopics, client: MQTTClient<MQTTToken>,
        bell: WakeSignal, log: Log, send: @escaping Publisher.Send
    ) {
        // Nobody but programs on this machine ever hears the embedded broker.
        guard settings.mqtt.broker != .embedded else { return nil }
        let remembered = memory.topics
        guard settings.homeAssistant.discovery || !remembered.isEmpty else { return nil }
        let announcer = Announcer(prefix: settings.homeAssistant.prefix, id: facts.id, remembered: remembered)
        self.client = client
        self.send = send
        self.memory = memory
        self.facts = facts
        self.bell = bell
        self.log = log
        state = Mutex(State(announcer, DiscoverySet(settings, facts)))
        if settings.homeAssistant.discovery { client.subscribe(to: announcer.statusTopic, orTell: log) }
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
            let filter = state.withLock { state in
                state.announcer.connected(at: now)
                return state.announcer.readingFilter
            }
            client.subscribe(to: filter, orTell: log)
            return false
        case .subscribed(let filter, _), .subscriptionRefused(let filter, _):
            state.withLock { $0.announcer.answered(filter, at: now) }
            return false
        case .message(let message):
            let delay = Double.random(in: Announcer.birthDelay)
            return state.withLock { $0.announcer.take(message, at: now, delay: delay) }
        case .acknowledged(let token): return state.withLock { $0.announcer.acknowledged(token) }
        case .rejected(let token?, let topic, let failure):
            let (isOurs, isFirst) = state.withLock { state in
                let hadNone = state.announcer.refused.isEmpty
                return (state.announcer.rejected(token), hadNone)
            }
            // A broker that refuses one refuses most of them: told once.
            if isOurs, isFirst {
                log.warning("the broker does not take announcements to Home Assistant: \(topic): \(failure.ofMessage)")
            }
            return isOurs
        case .disconnected, .refused, .stopped:
            state.withLock { state in
                state.announcer.disconnected()
                state.retry = nil
            }
            return false
        case .connecting, .rejected(nil, _, _): return false
        }
    }

    // MARK: On the main thread

    /// When there is something to do although nothing more happens; the bell is rung where it changes.
    var nextWork: Timestamp? {
        state.withLock { state in [state.announcer.nextWork, state.retry].compactMap { $0 }.min() }
    }

    /// Announces what is due under these settings, and takes away what is not to be announced, except of the devices in
    /// `spared`.
    ///
    /// - Returns: whether what is not retained should be told anew, since somebody listens who did not before.
    func work(at now: Timestamp, settings: JostleSettings, sparing spared: Set<String>) -> Bool {
        let (work, filter) = state.withLock { state in
            if state.set.settings != settings { state.set = DiscoverySet(settings, facts) }
            let work = state.announcer.work(at: now, wanted: state.set.messages, sparing: spared)
            return (work, state.announcer.readingFilter)
        }
        if work.endsReading { client.unsubscribe(from: filter) }
        // Before it is sent: what a crash leaves behind is known then.
        if let remember = work.remember { memory.keep(remember) }
        state.withLock { $0.retry = nil }
        // Under the lock, since the broker may answer at once.
        let areTaken = work.messages.allSatisfy { message, token in
            state.withLock { state in
                guard send(message, token) else { return false }
                state.announcer.sent(message, token, at: now)
                return true
            }
        }
        if !areTaken { state.withLock { $0.retry = now.advanced(bySeconds: AnnouncementDesk.retry) } }
        return work.tellsAnew
    }
}
