internal import JostleConfiguration
internal import MosquittoClient
internal import MotionCore

/// Announces the device to Home Assistant, and takes back announcements that no longer hold.
///
/// After a connection it first reads back what the broker has, so that announcements of ours that nobody remembers are
/// found, then announces everything. When Home Assistant says that it has started everything is announced again, once and
/// after a random time, since a hundred devices hear the same word. In between only what changed is sent. Topics are
/// remembered on disk before they are used: what a crash leaves behind is known then.
struct DiscoveryPublisher: Participant {
    /// An announcement under way, by a number of its own: one of a former connection counts for nothing.
    struct Token: Hashable, Sendable {
        let number: Int
    }

    enum Request: Equatable, Sendable {
        /// Home Assistant listens now, and wants to hear what is not retained.
        case repeatTelemetry
    }

    /// Seconds from the broker's consent until what it has is taken to have been read, and those without an answer.
    private static let reading = 0.3
    private static let patience = 2.0
    /// Seconds after Home Assistant's start at which everything is announced again.
    static let birthDelay = 0.5...4.0
    /// Seconds after announcements at which Home Assistant has subscribed to what they name.
    private static let settling = 2.0
    /// Seconds until what the client had no room for is handed to it again.
    private static let retry = 0.2
    /// Seconds for which announcements wait until their topics are on disk.
    private static let diskPatience = 1.0

    /// Where Home Assistant says that it has started.
    let statusTopic: String
    /// What matches the device's announcements.
    let readingFilter: String
    private let topicStart: String
    private let topicMiddle: String

    private enum Phase: Equatable {
        case offline
        case reading(until: Timestamp)
        case announcing
    }

    private let facts: DiscoveryFacts
    private var set: DiscoverySet
    private var memory: RememberedTopics
    /// What may still be announced, by what is remembered; forgotten when the broker has taken it away.
    private var remembered: Set<String>
    /// Devices whose announcements stay: a former name may be another device's by now.
    private var spared: Set<String> = []

    private var phase = Phase.offline
    /// What was found at the broker.
    private var found: Set<String> = []
    /// What was announced on this connection.
    private var announced: [String: String] = [:]
    private var underWay: [Token: DiscoveryMessage] = [:]
    /// What the broker refused on this connection.
    private(set) var refused: Set<String> = []
    private var lastToken = 0

    private var birth: Timestamp?
    private var settled: Timestamp?
    private var retryDue: Timestamp?
    /// Until when announcements wait for the disk; `nil` if they need not.
    private var diskDeadline: Timestamp?
    /// Whether the list of topics is on its way to the disk, and what is to be written after it.
    private var isWriting = false
    private var nextContent: [UInt8]?
    private let randomDelay: @Sendable (ClosedRange<Double>) -> Double

    /// What is announced of these settings; `memory` has what was announced before.
    init(
        _ settings: JostleSettings, _ facts: DiscoveryFacts, memory: RememberedTopics,
        randomDelay: @escaping @Sendable (ClosedRange<Double>) -> Double = { Double.random(in: $0) }
    ) {
        let prefix = settings.homeAssistant.prefix
        statusTopic = "\(prefix)/status"
        readingFilter = "\(prefix)/+/\(facts.id)/#"
        topicStart = "\(prefix)/"
        topicMiddle = "/\(facts.id)/"
        self.facts = facts
        self.memory = memory
        self.randomDelay = randomDelay
        remembered = memory.topics
        set = DiscoverySet(settings, facts)
    }

    // MARK: Events

    mutating func start(at now: ClockReading) -> Effects {
        set.settings.homeAssistant.discovery ? [.subscribe(statusTopic)] : []
    }

    mutating func handle(_ event: ParticipantEvent<Token>, at now: ClockReading) -> Effects {
        switch event {
        case .connected:
            disconnected()
            phase = .reading(until: now.monotonic.advanced(bySeconds: DiscoveryPublisher.patience))
            return [.subscribe(readingFilter)]
        case .disconnected: disconnected()
        case .subscriptionAnswered(readingFilter):
            guard case .reading = phase else { return [] }
            phase = .reading(until: now.monotonic.advanced(bySeconds: DiscoveryPublisher.reading))
        case .message(let message): hear(message, at: now.monotonic)
        case .acknowledged(let token):
            guard let message = underWay.removeValue(forKey: token) else { return [] }
            if message.payload.isEmpty {
                remembered.remove(message.topic)
                found.remove(message.topic)
            }
            return announce(at: now.monotonic)
        case .rejected(let token, let topic, let failure): return rejected(token, topic, failure)
        case .notSent(let tokens):
            for token in tokens {
                guard let message = underWay.removeValue(forKey: token) else { continue }
                announced[message.topic] = nil
            }
            retryDue = now.monotonic.advanced(bySeconds: DiscoveryPublisher.retry)
        case .fileWritten(memory.file, let failure):
            isWriting = false
            var effects = writeNext()
            if !isWriting { diskDeadline = nil }
            if let failure {
                effects += [.log(.warning, "what Home Assistant was told cannot be remembered: \(failure)")]
            }
            return effects + announce(at: now.monotonic)
        case .subscriptionAnswered, .fileWritten: break
        }
        return []
    }

    /// The connection is lost, and with it what was under way.
    private mutating func disconnected() {
        phase = .offline
        found = []
        announced = [:]
        underWay = [:]
        refused = []
        birth = nil
        settled = nil
        retryDue = nil
    }

    /// A message may be Home Assistant's birth, or an announcement that the broker has.
    private mutating func hear(_ message: MQTTMessage, at now: Timestamp) {
        if message.topic == statusTopic {
            // A retained one may be hours old, and everything is announced at a connection anyway.
            if !message.retain, message.payload == Array("online".utf8), birth == nil {
                birth = now.advanced(bySeconds: randomDelay(DiscoveryPublisher.birthDelay))
            }
            return
        }
        let topic = message.topic
        guard message.retain, case .reading = phase, topic.hasPrefix(topicStart), topic.contains(topicMiddle),
            topic.hasSuffix(DiscoveryMessage.topicEnd), DiscoveryPublisher.isOurs(message.payload)
        else { return }
        found.insert(topic)
    }

    /// Whether an announcement is one of Jostle's: another program may use the same name for its device.
    private static func isOurs(_ payload: [UInt8]) -> Bool {
        var limits = ReaderLimits()
        limits.bytes = 65_536
        do throws(ConfigurationProblem) {
            let tree = try JSONReader.read(payload, source: .message("announcement"), limits: limits)
            return tree["origin"]?["name"]?.text == DiscoverySet.originName
        } catch {
            return false
        }
    }

    private mutating func rejected(_ token: Token, _ topic: String, _ failure: MQTTFailure) -> Effects {
        guard let message = underWay.removeValue(forKey: token) else { return [] }
        // A broker that refuses one refuses most of them: it is logged once.
        let isFirst = refused.isEmpty
        // Not tried again on this connection.
        refused.insert(message.topic)
        guard isFirst else { return [] }
        let reason = "\(topic): \(failure.messageDescription)"
        return [.log(.warning, "the broker does not take announcements to Home Assistant: \(reason)")]
    }

    // MARK: What changes

    /// Announces what is different under other settings.
    mutating func change(_ settings: JostleSettings, at now: ClockReading) -> Effects {
        guard set.settings != settings else { return [] }
        set = DiscoverySet(settings, facts)
        return announce(at: now.monotonic)
    }

    /// Leaves the announcements of these devices at the broker, and takes those of others away.
    mutating func spare(_ devices: Set<String>, at now: ClockReading) -> Effects {
        guard spared != devices else { return [] }
        spared = devices
        return announce(at: now.monotonic)
    }

    // MARK: What is due

    var nextDeadline: Timestamp? {
        switch phase {
        case .offline: nil
        case .reading(let end): end
        // Nothing else is done while the client has no room, or the disk is waited for.
        case .announcing: [retryDue, diskDeadline].compactMap { $0 }.min() ?? [birth, settled].compactMap { $0 }.min()
        }
    }

    mutating func handleDeadline(at now: ClockReading) -> Effects {
        let now = now.monotonic
        guard let due = nextDeadline, now >= due else { return [] }
        var effects: Effects = []
        if case .reading = phase {
            phase = .announcing
            effects.append(.unsubscribe(readingFilter))
        }
        if let due = birth, now >= due {
            birth = nil
            announced = [:]
        }
        if let due = retryDue, now >= due { retryDue = nil }
        if let due = diskDeadline, now >= due { diskDeadline = nil }
        return effects + announce(at: now)
    }

    /// Sends what differs from what is announced, and takes away what should not be.
    private mutating func announce(at now: Timestamp) -> Effects {
        guard phase == .announcing, retryDue == nil else { return [] }
        let topics = Set(set.messages.map(\.topic))
        let hasNewTopics = !topics.isSubset(of: memory.topics)
        remembered.formUnion(topics)
        var effects: Effects = []
        if let content = memory.remember(remembered) {
            nextContent = content
            effects += writeNext()
            if hasNewTopics { diskDeadline = now.advanced(bySeconds: DiscoveryPublisher.diskPatience) }
        }
        return diskDeadline == nil ? effects + send(topics, at: now) : effects
    }

    /// Writes the latest list, one at a time: what comes back is about the one that was written.
    private mutating func writeNext() -> Effects {
        guard !isWriting, let content = nextContent else { return [] }
        nextContent = nil
        isWriting = true
        return [.write(memory.file, content)]
    }

    private mutating func send(_ topics: Set<String>, at now: Timestamp) -> Effects {
        var effects: Effects = []
        let busy = Set(underWay.values.map(\.topic)).union(refused)
        let ghosts = remembered.union(found).union(announced.keys).subtracting(topics).subtracting(busy)
        for topic in ghosts.sorted() {
            if let device = DiscoveryMessage.device(ofTopic: topic), spared.contains(device) { continue }
            effects.append(publish(DiscoveryMessage(topic: topic, payload: "")))
        }
        for message in set.messages where announced[message.topic] != message.payload && !busy.contains(message.topic) {
            effects.append(publish(message))
        }
        if !effects.isEmpty {
            settled = now.advanced(bySeconds: DiscoveryPublisher.settling)
        } else if let due = settled, now >= due {
            settled = nil
            effects.append(.request(.repeatTelemetry))
        }
        return effects
    }

    private mutating func publish(_ message: DiscoveryMessage) -> Effect<Token, Request> {
        lastToken += 1
        let token = Token(number: lastToken)
        underWay[token] = message
        announced[message.topic] = message.payload.isEmpty ? nil : message.payload
        let outgoing = MQTTMessage(topic: message.topic, text: message.payload, qos: .atLeastOnce, retain: true)
        return .publish(outgoing, token)
    }
}
