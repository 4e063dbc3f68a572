internal import Documents
internal import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
internal import MosquittoClient
internal import MotionCore

/// Reads back what the broker retains for this device, publishes again what is different, and notices another device with
/// the same id.
///
/// A broker may retain something else than what the device published last: the will of a connection that broke long ago
/// comes late, a bridged broker comes back with what it held before, somebody publishes to the device's topics. An
/// `offline` would then stay, although the device is running. So the device is subscribed to its own availability and
/// state for as long as it is connected. `DiscoveryPublisher` does the same with its messages, and says which of them others
/// have changed.
///
/// Before it publishes anything again, it reads back its report (`config/reported`), whose `run` says who made it. If
/// another device uses the id, the two would correct each other for ever. So that is reported, and nothing is corrected.
///
/// The report may also be one of this device from an earlier run. So only one that was made during this run, and later
/// than one of this run that the broker had, is another device's. If the clocks of two devices differ, at least the one
/// that is behind notices.
struct RetainedWatch: Participant {
    static let owner = Owner.retained

    enum Request: Equatable, Sendable {
        /// Whether another device uses the same id.
        case reportDuplicate(Bool)
        /// Publish the report again.
        case repeatReport
        /// Publish the discovery messages again that are different.
        case correctDiscovery
    }

    /// Seconds that a message may take to come back; until then, a difference says nothing. Also how long the retained
    /// report may take after the broker has accepted the subscription.
    private static let settlingTime = 1.0
    /// Seconds to wait for the broker's answer to the subscription. A connection without an answer ends soon after that.
    private static let subscriptionTimeout = 10.0
    /// Seconds between two corrections: at first, and at most. It doubles while they go on.
    private static let firstPause = 5.0
    private static let longestPause = 300.0
    /// Seconds between two readings of the report while another device uses the id.
    private static let readingInterval = 300.0
    /// Two devices with the same id disconnect each other. The third reading is minutes after the connection began, so
    /// this one has not met another device since.
    private static let readingsUntilGone = 3

    /// A topic's retained message, on this connection.
    private struct Copy {
        /// What this device published last, and what came from the broker last.
        private(set) var sent: MQTTMessage?
        private var received: [UInt8]?
        /// Since when they are different: what others publish meanwhile changes nothing.
        private(set) var differsSince: Timestamp?

        mutating func send(_ message: MQTTMessage, at now: Timestamp) {
            sent = message
            differsSince = nil
            compare(at: now)
        }

        mutating func receive(_ payload: [UInt8], at now: Timestamp) {
            received = payload
            compare(at: now)
        }

        private mutating func compare(at now: Timestamp) {
            let isDifferent = sent.map { sent in received.map { $0 != sent.payload } ?? false } ?? false
            differsSince = isDifferent ? differsSince ?? now : nil
        }
    }

    private let topics: Topics
    private let run: String
    private let start: Timestamp
    /// Of availability and state.
    private var copies: [String: Copy] = [:]
    /// The discovery messages that are different, and since when there are any.
    private var discovery: (topics: [String], since: Timestamp)?

    /// When reading the report ends; `nil` if it is not being read.
    private var reading: Timestamp?
    /// Whether the next connection reads it without another request.
    private var isSubscribed = true
    /// The report of this run that was sent last, as a hash, because reports are long; and what was read back.
    private var sentReport: Int?
    private var receivedReport: Int?
    /// When the latest report of this run that the broker had was made, epoch milliseconds.
    private var lastReport: Int64?

    private var hasDuplicate = false
    /// Readings on this connection without a report of another device, and when the next one is due.
    private var readings = 0
    private var nextReading: Timestamp?

    private var pause = RetainedWatch.firstPause
    private var lastCorrection: Timestamp?
    /// The earliest next reading because of a difference, which may be gone when the report has been read.
    private var nextLook: Timestamp?
    /// Corrections since `pause` was the first one.
    private var corrections = 0

    /// Creates the watch; `run` is the name of this run, which begins now.
    init(topics: Topics, run: String, at now: Timestamp) {
        self.topics = topics
        self.run = run
        start = now
    }

    // MARK: Events

    mutating func start(at now: ClockReading) -> Effects {
        [topics.availability, topics.state, topics.reported].map(optional)
    }

    /// A subscription without which the device works: not every broker lets it read its own topics.
    private func optional(_ filter: String) -> Effect<Self> {
        .subscribe(filter, keepsRetainFlag: false, isOptional: true)
    }

    /// The device has published a message. The clock is only read for one that matters.
    mutating func sent(_ message: MQTTMessage, at now: @autoclosure () -> Timestamp) {
        guard message.retain else { return }
        switch message.topic {
        case topics.availability, topics.state:
            copies[message.topic, default: Copy()].send(message, at: now())
        case topics.reported: sentReport = message.payload.hashValue
        default: break
        }
    }

    /// What this device has published, for a listener that came later than the messages, which the broker does not retain.
    var latest: Effects { copies.values.compactMap(\.sent).sorted { $0.topic < $1.topic }.map { .publish($0) } }

    /// The broker has something else than this device published to these topics of discovery, and to no others.
    mutating func discoveryDiffers(in topics: [String], at now: Timestamp) {
        discovery = topics.isEmpty ? nil : (topics, discovery?.since ?? now)
    }

    mutating func handle(_ event: ParticipantEvent, at now: ClockReading) -> Effects {
        switch event {
        case .connected:
            reading = now.monotonic.advanced(bySeconds: RetainedWatch.subscriptionTimeout)
        case .disconnected:
            copies = [:]
            discovery = nil
            reading = nil
            receivedReport = nil
            readings = 0
            nextReading = nil
            defer { isSubscribed = true }
            return isSubscribed ? [] : [optional(topics.reported)]
        case .subscriptionAnswered(topics.reported, let isGranted):
            guard reading != nil else { return [] }
            reading = now.monotonic.advanced(bySeconds: isGranted ? RetainedWatch.settlingTime : 0)
        case .message(let message):
            switch message.topic {
            case topics.availability, topics.state:
                copies[message.topic, default: Copy()].receive(message.payload, at: now.monotonic)
            case topics.reported: return receiveReport(message.payload, at: now)
            default: break
            }
        case .subscriptionAnswered, .acknowledged, .rejected, .notSent, .fileWritten: break
        }
        return []
    }

    // MARK: Deadlines

    var nextDeadline: Timestamp? { reading ?? nextReading.earlier(nextComparison) }

    /// When the topics that read back different are looked into.
    private var nextComparison: Timestamp? { correctionDue.map { max($0, nextLook ?? $0) } }

    /// From when on they may be corrected.
    private var correctionDue: Timestamp? {
        guard !hasDuplicate else { return nil }
        var earliest = discovery?.since
        for copy in copies.values { earliest = earliest.earlier(copy.differsSince) }
        guard let since = earliest else { return nil }
        let settled = since.advanced(bySeconds: RetainedWatch.settlingTime)
        return lastCorrection.map { max(settled, $0.advanced(bySeconds: pause)) } ?? settled
    }

    mutating func handleDeadline(at now: ClockReading) -> Effects {
        guard let due = nextDeadline, now.monotonic >= due else { return [] }
        if reading != nil { return endReading(at: now.monotonic) }
        isSubscribed = true
        receivedReport = nil
        reading = now.monotonic.advanced(bySeconds: RetainedWatch.subscriptionTimeout)
        nextLook = now.monotonic.advanced(bySeconds: RetainedWatch.firstPause)
        return [optional(topics.reported)]
    }

    /// The report was read back, if the broker has one and lets this device read it.
    private mutating func endReading(at now: Timestamp) -> Effects {
        reading = nil
        isSubscribed = false
        readings += 1
        var effects: Effects = [.unsubscribe(topics.reported)]
        if hasDuplicate, readings >= RetainedWatch.readingsUntilGone {
            hasDuplicate = false
            effects += [
                .log(.info, "no other device reports under the id \(topics.device) any more"),
                .request(.reportDuplicate(false)),
            ]
        }
        guard hasDuplicate else {
            nextReading = nil
            return effects + correct(at: now)
        }
        nextReading = now.advanced(bySeconds: RetainedWatch.readingInterval)
        return effects + correctReport()
    }

    /// Publishes again what reads back different.
    private mutating func correct(at now: Timestamp) -> Effects {
        guard let due = correctionDue, now >= due else { return [] }
        let isSettled = { (since: Timestamp?) in
            since.map { now.seconds(since: $0) >= RetainedWatch.settlingTime } ?? false
        }
        let different = copies.values.filter { isSettled($0.differsSince) }.compactMap(\.sent)
            .sorted { $0.topic < $1.topic }
        let correctsDiscovery = isSettled(discovery?.since)
        if let last = lastCorrection, now.seconds(since: last) < 2 * pause + RetainedWatch.subscriptionTimeout {
            pause = min(2 * pause, RetainedWatch.longestPause)
        } else {
            pause = RetainedWatch.firstPause
            corrections = 0
        }
        lastCorrection = now
        corrections += 1
        let topics = different.map(\.topic) + (correctsDiscovery ? discovery?.topics ?? [] : [])
        let more = topics.count > 3 ? " and \(topics.count - 3) more topics" : ""
        let names = topics.prefix(3).joined(separator: " and ") + more
        let times = corrections > 1 ? "; \(corrections) times so far" : ""
        var effects: Effects = different.map { .publish($0) }
        effects.append(
            .log(
                ConnectionLog.isLogged(corrections) ? .warning : .debug,
                "the broker had another message for \(names) than this device published: publishing again\(times)"))
        return effects + correctReport() + (correctsDiscovery ? [.request(.correctDiscovery)] : [])
    }

    /// Publishes the report again if it read back different: one of an earlier run, or of another device. If that is gone,
    /// its report would stay; if not, it learns of this one.
    private func correctReport() -> Effects {
        receivedReport.map { $0 != sentReport } ?? false ? [.request(.repeatReport)] : []
    }

    // MARK: The report

    private mutating func receiveReport(_ payload: [UInt8], at now: ClockReading) -> Effects {
        receivedReport = payload.hashValue
        guard let tree = try? JSONReader.read(payload, source: .message(topics.reported)),
            let other = tree["run"]?.text,
            let time = tree["t"]?.text.flatMap({ Int64($0) }),
            // Nobody's clock is that far ahead.
            !now.isSet || time <= now.wall + DocumentRevision.clockTolerance
        else { return [] }
        if other == run {
            lastReport = max(time, lastReport ?? time)
            return []
        }
        let beginning = now.wall - Int64(now.monotonic.seconds(since: start) * 1000)
        guard now.isSet, let lastReport, time > max(lastReport, beginning) else { return [] }
        readings = 0
        nextReading = now.monotonic.advanced(bySeconds: RetainedWatch.readingInterval)
        guard !hasDuplicate else { return [] }
        hasDuplicate = true
        return [
            .log(
                .error,
                "another device reports under the same id, \(topics.device); give each device a device.id of its own"),
            .request(.reportDuplicate(true)),
        ]
    }
}
