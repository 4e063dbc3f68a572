internal import JostleConfiguration
internal import MosquittoClient
internal import MotionCore

/// Decides what is announced to Home Assistant, and when: a state machine without thread, clock and connection.
///
/// After a connection it first reads back what the broker has, so that announcements of ours that nobody remembers are
/// found, then announces everything. When Home Assistant says that it has started it announces everything again, once and
/// after a random time, since a hundred devices hear the same word. In between only what changed is sent.
struct Announcer {
    /// Seconds from the broker's consent until what it has is taken to have been read, and those without an answer.
    private static let reading = 0.3
    private static let patience = 2.0

    /// Seconds after Home Assistant's start at which is announced again.
    static let birthDelay = 0.5...4.0

    /// Seconds after announcements at which Home Assistant has subscribed to what they name.
    private static let settling = 2.0

    /// How announcements' tokens differ from those of events: none of them counts so far.
    private static let firstToken: UInt64 = 1 << 62

    /// Where Home Assistant says that it has started.
    let statusTopic: String
    /// What matches the device's announcements.
    let readingFilter: String
    private let topicStart: String
    private let topicMiddle: String
    private static let topicEnd = "/config"

    private enum Phase: Equatable {
        case offline
        case reading(until: Timestamp)
        case announcing
    }

    private var phase = Phase.offline
    /// What is remembered from before, and what was found at the broker.
    private var remembered: Set<String>
    private var found: Set<String> = []
    /// What was announced on this connection.
    private var announced: [String: String] = [:]
    /// Announcements under way; those that take something away have no payload.
    private var underWay: [MQTTToken: (topic: String, isRemoval: Bool)] = [:]
    /// What the broker refused on this connection.
    private(set) var refused: Set<String> = []
    private var lastToken = Announcer.firstToken
    private var birth: Timestamp?
    private var settled: Timestamp?

    init(prefix: String, id: String, remembered: Set<String>) {
        statusTopic = "\(prefix)/status"
        readingFilter = "\(prefix)/+/\(id)/#"
        topicStart = "\(prefix)/"
        topicMiddle = "/\(id)/"
        self.remembered = remembered
    }

    /// The device that an announcement's topic names.
    static func device(ofTopic topic: String) -> String? {
        let parts = topic.split(separator: "/")
        return topic.hasSuffix(topicEnd) && parts.count >= 4 ? String(parts[parts.count - 3]) : nil
    }

    // MARK: What happened

    /// A connection was made.
    mutating func connected(at now: Timestamp) {
        disconnected()
        phase = .reading(until: now.advanced(bySeconds: Announcer.patience))
    }

    /// The connection is lost, and with it what was under way.
    mutating func disconnected() {
        phase = .offline
        found = []
        announced = [:]
        underWay = [:]
        refused = []
        birth = nil
        settled = nil
    }

    /// The broker agreed, or refused, to tell of a filter.
    mutating func answered(_ filter: String, at now: Timestamp) {
        guard filter == readingFilter, case .reading = phase else { return }
        phase = .reading(until: now.advanced(bySeconds: Announcer.reading))
    }

    /// Deals with a message that may concern announcements; false where it does not.
    mutating func take(_ message: MQTTMessage, at now: Timestamp, delay: Double) -> Bool {
        if message.topic == statusTopic {
            // A retained one may be hours old, and everything is announced at a connection anyway.
            if !message.retain, message.payload == Array("online".utf8), birth == nil {
                birth = now.advanced(bySeconds: delay)
            }
            return true
        }
        let topic = message.topic
        guard topic.hasPrefix(topicStart), topic.hasSuffix(Announcer.topicEnd), topic.contains(topicMiddle) else {
            return false
        }
        if message.retain, case .reading = phase, Announcer.isOurs(message.payload) { found.insert(topic) }
        return true
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

    /// The broker has a message; false where it is none of these.
    mutating func acknowledged(_ token: MQTTToken) -> Bool {
        guard let entry = underWay.removeValue(forKey: token) else { return token.rawValue > Announcer.firstToken }
        if entry.isRemoval {
            remembered.remove(entry.topic)
            found.remove(entry.topic)
        }
        return true
    }

    /// The broker does not take a message; false where it is none of these.
    mutating func rejected(_ token: MQTTToken) -> Bool {
        guard let entry = underWay.removeValue(forKey: token) else { return token.rawValue > Announcer.firstToken }
        // Not tried again on this connection.
        refused.insert(entry.topic)
        return true
    }

    // MARK: What to do

    /// What is due.
    struct Work {
        /// What has to be remembered before anything is sent; `nil` where nothing is.
        var remember: Set<String>?
        /// Whether reading back is over, so that our own words do not come back.
        var endsReading = false
        var messages: [(message: MQTTMessage, token: MQTTToken)] = []
        /// Whether Home Assistant listens now, and wants to hear what is not retained.
        var tellsAnew = false
    }

    /// When there is something to do although nothing more happens; `nil` where there is not.
    var nextWork: Timestamp? {
        switch phase {
        case .offline: nil
        case .reading(let end): end
        case .announcing: [birth, settled].compactMap { $0 }.min()
        }
    }

    /// What is due at `now`, where these are the announcements that there should be. Each message is to be handed to
    /// `sent` once the client took it. What is announced of the devices in `spared` is not taken away, or not yet: a
    /// former name may be another device's by now.
    mutating func work(at now: Timestamp, wanted: [DiscoveryMessage], sparing spared: Set<String> = []) -> Work {
        var work = Work()
        switch phase {
        case .offline: return work
        case .reading(let end):
            guard now >= end else { return work }
            phase = .announcing
            work.endsReading = true
        case .announcing: break
        }
        if let due = birth, now >= due {
            birth = nil
            announced = [:]
        }
        let busy = Set(underWay.values.map(\.topic)).union(refused)
        let topics = Set(wanted.map(\.topic))
        let ghosts = remembered.union(found).union(announced.keys).subtracting(topics).subtracting(busy)
        for topic in ghosts.sorted() {
            if let device = Announcer.device(ofTopic: topic), spared.contains(device) { continue }
            work.messages.append((Announcer.message(topic, ""), nextToken()))
        }
        for message in wanted where announced[message.topic] != message.payload && !busy.contains(message.topic) {
            work.messages.append((Announcer.message(message.topic, message.payload), nextToken()))
        }
        remembered.formUnion(topics)
        work.remember = remembered
        if let due = settled, now >= due, work.messages.isEmpty {
            settled = nil
            work.tellsAnew = true
        }
        return work
    }

    /// A message was taken by the client.
    mutating func sent(_ message: MQTTMessage, _ token: MQTTToken, at now: Timestamp) {
        let isRemoval = message.payload.isEmpty
        underWay[token] = (message.topic, isRemoval)
        announced[message.topic] = isRemoval ? nil : String(decoding: message.payload, as: UTF8.self)
        settled = now.advanced(bySeconds: Announcer.settling)
    }

    private mutating func nextToken() -> MQTTToken {
        lastToken += 1
        return MQTTToken(rawValue: lastToken)
    }

    private static func message(_ topic: String, _ payload: String) -> MQTTMessage {
        MQTTMessage(topic: topic, text: payload, qos: .atLeastOnce, retain: true)
    }
}
