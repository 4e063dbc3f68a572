internal import JostleConfiguration
internal import JostleRuntime
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore

/// Publishes Home Assistant discovery messages, and removes those that no longer apply.
///
/// After connecting, it first reads the device's discovery messages back from the broker, then publishes those that the
/// broker lacks or has with another content, and removes ours that are obsolete. A broker that kept everything gets
/// nothing. The first time in a run this happens at once. After a reconnection it happens at a random time, because all
/// devices lose a broker that restarts at the same moment, and each has dozens of messages; availability, events and
/// settings do not wait.
///
/// It stays subscribed, and reports which messages others have replaced or removed since. `RetainedWatch` says when to correct
/// them, because another device may have the same id.
///
/// If `home_assistant.discovery_form` has changed, it first replaces the messages of the other form by one that makes Home
/// Assistant keep their entities and forget where they came from, and waits; then it removes them and publishes its own.
///
/// A device with a new id first removes the messages under the former one, because Home Assistant refuses entities whose ids it
/// has, and then publishes the same entities under the new id. Automations go on as before.
///
/// After Home Assistant's birth message it publishes everything again, once and after a random delay, because a hundred
/// devices may receive the same birth message. Otherwise it publishes only what changed. Topics are saved to disk before
/// they are used, so that they are known after a crash.
struct DiscoveryPublisher: Participant {
    static let owner = Owner.discovery

    enum Request: Equatable, Sendable {
        /// Home Assistant is subscribed now and needs the values that are not retained.
        case repeatTelemetry
        /// The broker has something else than was published to these topics, and to no others.
        case reportAltered([String])
    }

    /// Seconds to wait for retained messages after the broker accepted the subscription.
    private static let readingTime = 1.0
    /// The longest time for all retained messages, s. A broker that sends more and more must not delay discovery.
    private static let longestReading = 5.0
    /// Seconds to wait for the broker's answer to the subscription. A connection without an answer ends soon after that.
    private static let subscriptionTimeout = 10.0
    /// The random delay between Home Assistant's birth message and the repetition, s.
    private static let birthDelay = 0.5...4.0
    /// The random delay between a reconnection and reading and publishing, s.
    static let reconnectionDelay = 0.0...30.0
    /// The most messages that are corrected without a random delay.
    private static let mostAtOnce = 10
    /// The most topics that are noted until the next correction, besides the device's own: anybody can invent more.
    private static let mostAltered = 500
    /// Seconds after the last message until Home Assistant has subscribed to the topics named there.
    private static let subscribingTime = 2.0
    /// Seconds that Home Assistant has to let go of the messages of the other form. One that it still holds would cost the
    /// rest of the message for the whole device.
    private static let migrationTime = 2.0
    /// Seconds until a message is published again for which the client had no room.
    private static let retry = 0.2
    /// Seconds to wait for the disk before publishing on topics that are not saved yet.
    private static let diskTimeout = 1.0

    /// The topic of Home Assistant's birth message.
    let statusTopic: String
    /// The filter that matches the device's discovery messages.
    let readingFilter: String
    private let topicStart: String
    private let topicMiddle: String

    private enum Phase: Equatable {
        case offline
        /// Reconnected; reading starts later.
        case waiting(until: Timestamp)
        /// Retained messages are arriving. Each extends the time, up to the limit.
        case reading(until: Timestamp, limit: Timestamp)
        case announcing
    }

    private var facts: DiscoveryFacts
    private var set: DiscoverySet
    private var memory: RememberedTopics
    /// The topics that may be occupied, according to the memory file. A topic leaves the set when its removal is
    /// acknowledged.
    private var remembered: Set<String>
    /// Former names of the device that another device may have by now. Their messages are kept.
    private var protected: Set<String> = []

    private var phase = Phase.offline
    /// Whether discovery has been read back and published in this run.
    private var hasAnnounced = false
    /// The topics that were found at the broker.
    private var found: Set<String> = []
    /// The payloads at the broker, read back or published on this connection, by topic.
    private var announced: [String: String] = [:]
    /// The topics to which others have published something else since.
    private var altered: Set<String> = []
    private var underWay: [DeliveryToken: DiscoveryMessage] = [:]
    /// The topics that the broker rejected on this connection.
    private(set) var refused: Set<String> = []
    /// Numbers are never reused, so a token from an earlier connection matches nothing.
    private var lastToken: Int64 = 0

    private var birth: Timestamp?
    private var settled: Timestamp?
    private var retryDue: Timestamp?
    /// When to stop waiting for the disk; `nil` if not waiting.
    private var diskDeadline: Timestamp?
    /// Whether the list of topics is being written, and the contents to write after that.
    private var isWriting = false
    private var nextContent: [UInt8]?
    private let randomDelay: @Sendable (ClosedRange<Double>) -> Double

    /// Creates a publisher for these settings; `memory` lists the topics used before.
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
        set.settings.homeAssistant.discovery ? [optional(statusTopic)] : []
    }

    mutating func handle(_ event: ParticipantEvent, at now: ClockReading) -> Effects {
        switch event {
        case .connected:
            let effects = disconnected()
            guard hasAnnounced else { return effects + startReading(at: now.monotonic) }
            let delay = randomDelay(DiscoveryPublisher.reconnectionDelay)
            phase = .waiting(until: now.monotonic.advanced(bySeconds: delay))
            return effects
        case .disconnected: return disconnected()
        case .subscriptionAnswered(readingFilter, _):
            guard case .reading = phase else { return [] }
            let limit = now.monotonic.advanced(bySeconds: DiscoveryPublisher.longestReading)
            phase = .reading(until: now.monotonic.advanced(bySeconds: DiscoveryPublisher.readingTime), limit: limit)
        case .message(let message): return receive(message, at: now.monotonic)
        case .acknowledged(let token):
            guard let message = underWay.removeValue(forKey: token) else { return [] }
            if message.payload.isEmpty {
                remembered.remove(message.topic)
                found.remove(message.topic)
            } else if message.payload == DiscoveryMessage.migration {
                retryDue = now.monotonic.advanced(bySeconds: DiscoveryPublisher.migrationTime)
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
                effects += [.log(.warning, "cannot save the list of discovery topics: \(failure)")]
            }
            return effects + announce(at: now.monotonic)
        case .fileWritten(BoardIdentity.file, let failure?):
            return [.log(.warning, "cannot save how Home Assistant knows the board: \(failure)")]
        case .subscriptionAnswered, .fileWritten: break
        }
        return []
    }

    /// The connection is lost, and with it every message in flight.
    private mutating func disconnected() -> Effects {
        var effects: Effects = []
        // The next connection reads at a time of its own.
        switch phase {
        case .reading, .announcing: effects = [.unsubscribe(readingFilter)]
        case .offline, .waiting: break
        }
        phase = .offline
        found = []
        announced = [:]
        altered = []
        underWay = [:]
        refused = []
        birth = nil
        settled = nil
        retryDue = nil
        return effects
    }

    /// Subscribes to the device's own discovery messages.
    private mutating func startReading(at now: Timestamp) -> Effects {
        let end = now.advanced(bySeconds: DiscoveryPublisher.subscriptionTimeout)
        phase = .reading(until: end, limit: end)
        return [optional(readingFilter)]
    }

    /// A subscription without which the device works: not every broker lets it read Home Assistant's topics.
    private func optional(_ filter: String) -> Effect<Self> {
        .subscribe(filter, keepsRetainFlag: false, isOptional: true)
    }

    /// A message may be Home Assistant's birth message, or a discovery message: one to read back, our own, or one of others.
    private mutating func receive(_ message: MQTTMessage, at now: Timestamp) -> Effects {
        if message.topic == statusTopic {
            // A retained birth message may be hours old, and what Home Assistant lacks is published anyway.
            if !message.retain, message.payload == Array("online".utf8), birth == nil {
                birth = now.advanced(bySeconds: randomDelay(DiscoveryPublisher.birthDelay))
            }
            return []
        }
        let topic = message.topic
        guard topic.hasPrefix(topicStart), topic.contains(text: topicMiddle),
            topic.hasSuffix(DiscoveryMessage.topicEnd)
        else { return [] }
        let text = String(decoding: message.payload, as: UTF8.self)
        switch phase {
        case .offline, .waiting: return []
        case .reading(let end, let limit):
            let extended = min(now.advanced(bySeconds: DiscoveryPublisher.readingTime), limit)
            phase = .reading(until: max(end, extended), limit: limit)
            let isOurs = DiscoveryMessage.isOurs(message.payload)
            if isOurs { found.insert(topic) }
            announced[topic] = isOurs ? text : nil
            return []
        case .announcing:
            // It would not be published again.
            guard !refused.contains(topic) else { return [] }
            let hasChanged: Bool
            if text == announced[topic] ?? "" {
                hasChanged = altered.remove(topic) != nil
            } else if announced[topic] != nil
                || altered.count < DiscoveryPublisher.mostAltered && DiscoveryMessage.isOurs(message.payload)
            {
                hasChanged = altered.insert(topic).inserted
            } else {
                hasChanged = false
            }
            return hasChanged ? [.request(.reportAltered(altered.sorted()))] : []
        }
    }

    private mutating func rejected(_ token: DeliveryToken, _ topic: String, _ failure: MQTTFailure) -> Effects {
        guard let message = underWay.removeValue(forKey: token) else { return [] }
        // A broker that rejects one message rejects most of them, so only the first rejection is logged.
        let isFirst = refused.isEmpty
        // Not tried again on this connection.
        refused.insert(message.topic)
        let effects = DiscoveryMessage.device(ofTopic: topic)?.id == facts.identity.former ? renewIdentity() : []
        guard isFirst else { return effects }
        let reason = "\(topic): \(failure.messageDescription)"
        return [.log(.warning, "the broker rejects Home Assistant discovery messages: \(reason)")] + effects
    }

    /// Becomes another device for Home Assistant than the one under the former id.
    private mutating func renewIdentity() -> Effects {
        guard let former = facts.identity.former else { return [] }
        facts.identity.renew()
        set = DiscoverySet(set.settings, facts)
        return [
            .log(
                .warning,
                "Home Assistant's messages of the former name \(former) stay: there, \(facts.id) is another device, and "
                    + "automations of \(former) do not see it")
        ]
    }

    // MARK: Changes

    /// Publishes again what others have replaced or removed, and removes what they have added.
    mutating func correct(at now: ClockReading) -> Effects {
        for topic in altered { announced[topic] = nil }
        // Many have changed when a bridged broker comes back, and then those of all devices.
        if altered.count > DiscoveryPublisher.mostAtOnce {
            retryDue = now.monotonic.advanced(bySeconds: randomDelay(DiscoveryPublisher.reconnectionDelay))
        }
        found.formUnion(altered)
        altered = []
        return [.request(.reportAltered([]))] + announce(at: now.monotonic)
    }

    /// Publishes what differs under the new settings.
    mutating func change(_ settings: JostleSettings, at now: ClockReading) -> Effects {
        guard set.settings != settings else { return [] }
        let isSwitchedOn = settings.homeAssistant.discovery && !set.settings.homeAssistant.discovery
        set = DiscoverySet(settings, facts)
        let effects = isSwitchedOn ? start(at: now) : []
        if case .waiting = phase { return effects + startReading(at: now.monotonic) }
        return effects + announce(at: now.monotonic)
    }

    /// Keeps the discovery messages of these former names, and removes those of others. Another device is online under those
    /// `inUse`.
    mutating func protect(_ devices: Set<String>, inUse: Set<String> = [], at now: ClockReading) -> Effects {
        let isTaken = facts.identity.former.map(inUse.contains) ?? false
        guard protected != devices || isTaken else { return [] }
        protected = devices
        return (isTaken ? renewIdentity() : []) + announce(at: now.monotonic)
    }

    // MARK: Deadlines

    var nextDeadline: Timestamp? {
        switch phase {
        case .offline: nil
        case .waiting(let end): min(end, birth ?? end)
        case .reading(let end, _): end
        // Nothing else is due while the client has no room or the disk is awaited.
        case .announcing: retryDue.earlier(diskDeadline) ?? birth.earlier(settled)
        }
    }

    mutating func handleDeadline(at now: ClockReading) -> Effects {
        let now = now.monotonic
        guard let due = nextDeadline, now >= due else { return [] }
        if case .waiting = phase { return startReading(at: now) }
        if case .reading = phase {
            phase = .announcing
            hasAnnounced = true
        }
        if let due = birth, now >= due {
            birth = nil
            announced = [:]
        }
        if let due = retryDue, now >= due { retryDue = nil }
        if let due = diskDeadline, now >= due { diskDeadline = nil }
        return announce(at: now)
    }

    /// Publishes the messages that differ from those at the broker, and removes obsolete ones.
    private mutating func announce(at now: Timestamp) -> Effects {
        guard phase == .announcing, retryDue == nil else { return [] }
        let topics = Set(set.messages.map(\.topic))
        let hasNewTopics = !topics.isSubset(of: memory.topics)
        remembered.formUnion(topics)
        var effects: Effects = []
        if let content = memory.remember(remembered) {
            nextContent = content
            effects += writeNext()
            if hasNewTopics { diskDeadline = now.advanced(bySeconds: DiscoveryPublisher.diskTimeout) }
        }
        return diskDeadline == nil ? effects + send(topics, at: now) : effects
    }

    /// Writes the latest list. One write at a time, so that a result belongs to the list that was written.
    private mutating func writeNext() -> Effects {
        guard !isWriting, let content = nextContent else { return [] }
        nextContent = nil
        isWriting = true
        return [.write(memory.file, content)]
    }

    private mutating func send(_ topics: Set<String>, at now: Timestamp) -> Effects {
        var effects: Effects = []
        let busy = Set(underWay.values.map(\.topic)).union(refused)
        let obsolete = remembered.union(found).union(announced.keys).subtracting(topics).subtracting(busy)
        let removable = obsolete.sorted().filter { topic in
            DiscoveryMessage.device(ofTopic: topic).map { !protected.contains($0.id) } ?? true
        }
        if let former = facts.identity.former, protected.contains(former) { return [] }
        let migrating = removable.filter(givesWay)
        guard migrating.isEmpty else {
            retryDue = now.advanced(bySeconds: DiscoveryPublisher.migrationTime)
            return migrating.map { publish(DiscoveryMessage(topic: $0, payload: DiscoveryMessage.migration)) }
        }
        for topic in removable { effects.append(publish(DiscoveryMessage(topic: topic, payload: ""))) }
        if facts.identity.former != nil, !effects.isEmpty {
            retryDue = now.advanced(bySeconds: DiscoveryPublisher.migrationTime)
            return effects
        }
        for message in set.messages where announced[message.topic] != message.payload && !busy.contains(message.topic) {
            effects.append(publish(message))
        }
        if !effects.isEmpty {
            settled = now.advanced(bySeconds: DiscoveryPublisher.subscribingTime)
        } else if let due = settled, now >= due {
            settled = nil
            effects.append(.request(.repeatTelemetry))
        }
        if !set.messages.isEmpty, let content = facts.identity.settle() {
            effects.append(.write(BoardIdentity.file, content))
        }
        return effects
    }

    /// Whether a message of this device to this topic gives way to one of the other form, or to one under the new id, and Home
    /// Assistant has not been told. Versions that do not know the form for whole devices do not understand it.
    private func givesWay(_ topic: String) -> Bool {
        guard !set.messages.isEmpty, topic.hasPrefix(topicStart), announced[topic] != DiscoveryMessage.migration,
            let (id, form) = DiscoveryMessage.device(ofTopic: topic)
        else { return false }
        let present = set.settings.homeAssistant.discoveryForm
        return id == facts.id && form != present || id == facts.identity.former && present == .device
    }

    private mutating func publish(_ message: DiscoveryMessage) -> Effect<Self> {
        lastToken += 1
        let token = DeliveryToken(number: lastToken)
        underWay[token] = message
        announced[message.topic] = message.payload.isEmpty ? nil : message.payload
        let outgoing = MQTTMessage(topic: message.topic, text: message.payload, qos: .atLeastOnce, retain: true)
        return .publish(outgoing, token)
    }
}
