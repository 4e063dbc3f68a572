internal import Documents
internal import JostleMessages
internal import JostleRuntime
internal import MosquittoClient
internal import MotionCore

/// Reads back what the broker retains for this device, publishes again what is different, and notices another device with
/// the same id.
///
/// A broker may retain something else than what the device published last: the will of a connection that broke long ago
/// comes late, a bridged broker comes back with what it held before, somebody publishes to the device's topics. An
/// `offline` would then stay, although the device is running, and a report of older settings. So the device is subscribed
/// to its own availability, state and report (`config/reported`) for as long as it is connected. `DiscoveryPublisher` does
/// the same with its messages, and says which of them others have changed.
///
/// The `run` of a report says who made it. If another device uses the id, the two would correct each other for ever. So
/// that is reported, and nothing is corrected.
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

    /// Seconds that a message may take to come back, and another device's report after its other messages; until then, a
    /// difference says nothing.
    private static let settlingTime = 2.0
    /// Seconds to wait for the broker's answer to the subscription to the report. A connection without an answer ends soon
    /// after that.
    private static let subscriptionTimeout = 10.0
    /// Seconds between two corrections: at first, and at most. It doubles while they go on.
    private static let firstPause = 5.0
    private static let longestPause = 300.0
    /// Seconds between two looks at the report while another device uses the id.
    private static let lookInterval = 300.0
    /// Two devices with the same id disconnect each other. The third look is minutes after the connection began, so this
    /// one has not met another device since.
    private static let looksUntilGone = 3

    /// A topic's retained message, on this connection: a hash of each payload, because reports are long.
    private struct Copy {
        private var sent: Int?
        private var received: Int?
        /// Since when they are different: what others publish meanwhile changes nothing.
        private(set) var differsSince: Timestamp?

        mutating func send(_ payload: [UInt8], at now: Timestamp) {
            sent = payload.hashValue
            differsSince = nil
            compare(at: now)
        }

        mutating func receive(_ payload: [UInt8], at now: Timestamp) {
            received = payload.hashValue
            compare(at: now)
        }

        private mutating func compare(at now: Timestamp) {
            let isDifferent = sent.map { sent in received.map { $0 != sent } ?? false } ?? false
            differsSince = isDifferent ? differsSince ?? now : nil
        }
    }

    private let topics: Topics
    private let run: String
    private let start: Timestamp
    /// Of availability, state and report.
    private var copies: [String: Copy] = [:]
    /// The availability and the state that this device published last, on this connection.
    private var messages: [String: MQTTMessage] = [:]
    /// The discovery messages that are different, and since when there are any.
    private var discovery: (topics: [String], since: Timestamp)?
    /// Before that, the broker may not have sent the report.
    private var reportDue: Timestamp?
    /// When the latest report of this run that the broker had was made, epoch milliseconds.
    private var lastReport: Int64?

    private var hasDuplicate = false
    /// Looks since the latest report of another device, and when the next one is due while another device uses the id.
    private var looks = 0
    private var nextLook: Timestamp?

    private var pause = RetainedWatch.firstPause
    private var lastCorrection: Timestamp?
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
        guard message.retain, isWatched(message.topic) else { return }
        copies[message.topic, default: Copy()].send(message.payload, at: now())
        if message.topic != topics.reported { messages[message.topic] = message }
    }

    private func isWatched(_ topic: String) -> Bool {
        topic == topics.availability || topic == topics.state || topic == topics.reported
    }

    /// What this device has published, for a listener that came later than the messages, which the broker does not retain.
    var latest: Effects { publish(messages.values) }

    private func publish(_ messages: some Sequence<MQTTMessage>) -> Effects {
        messages.sorted { $0.topic < $1.topic }.map { .publish($0) }
    }

    /// The broker has something else than this device published to these topics of discovery, and to no others.
    mutating func discoveryDiffers(in topics: [String], at now: Timestamp) {
        discovery = topics.isEmpty ? nil : (topics, discovery?.since ?? now)
    }

    mutating func handle(_ event: ParticipantEvent, at now: ClockReading) -> Effects {
        switch event {
        case .connected:
            reportDue = now.monotonic.advanced(bySeconds: RetainedWatch.subscriptionTimeout)
            if hasDuplicate { nextLook = reportDue }
        case .disconnected:
            copies = [:]
            messages = [:]
            discovery = nil
            looks = 0
            nextLook = nil
        case .subscriptionAnswered(topics.reported, let isGranted):
            reportDue = now.monotonic.advanced(bySeconds: isGranted ? RetainedWatch.settlingTime : 0)
        case .message(let message) where isWatched(message.topic):
            copies[message.topic, default: Copy()].receive(message.payload, at: now.monotonic)
            if message.topic == topics.reported { return receiveReport(message.payload, at: now) }
        case .message, .subscriptionAnswered, .acknowledged, .rejected, .notSent, .fileWritten: break
        }
        return []
    }

    // MARK: Deadlines

    var nextDeadline: Timestamp? { hasDuplicate ? nextLook : correctionDue }

    /// When what reads back different is corrected.
    private var correctionDue: Timestamp? {
        var earliest = discovery?.since
        for copy in copies.values { earliest = earliest.earlier(copy.differsSince) }
        guard let since = earliest else { return nil }
        var due = since.advanced(bySeconds: RetainedWatch.settlingTime)
        if let reportDue { due = max(due, reportDue) }
        return lastCorrection.map { max(due, $0.advanced(bySeconds: pause)) } ?? due
    }

    mutating func handleDeadline(at now: ClockReading) -> Effects {
        guard let due = nextDeadline, now.monotonic >= due else { return [] }
        return hasDuplicate ? look(at: now.monotonic) : correct(at: now.monotonic)
    }

    /// Publishes the report again if the broker has another device's: if that is gone, its report would stay; if not, it
    /// learns of this one.
    private mutating func look(at now: Timestamp) -> Effects {
        looks += 1
        nextLook = now.advanced(bySeconds: RetainedWatch.lookInterval)
        if looks < RetainedWatch.looksUntilGone {
            return copies[topics.reported]?.differsSince == nil ? [] : [.request(.repeatReport)]
        }
        hasDuplicate = false
        return [
            .log(.info, "no other device reports under the id \(topics.device) any more"),
            .request(.reportDuplicate(false)),
        ]
    }

    /// Publishes again what reads back different.
    private mutating func correct(at now: Timestamp) -> Effects {
        let isSettled = { (since: Timestamp?) in
            since.map { now.seconds(since: $0) >= RetainedWatch.settlingTime } ?? false
        }
        let different = copies.filter { isSettled($0.value.differsSince) }.keys.sorted()
        let correctsDiscovery = isSettled(discovery?.since)
        if let last = lastCorrection, now.seconds(since: last) < 2 * pause + RetainedWatch.subscriptionTimeout {
            pause = min(2 * pause, RetainedWatch.longestPause)
        } else {
            pause = RetainedWatch.firstPause
            corrections = 0
        }
        lastCorrection = now
        corrections += 1
        let topics = different + (correctsDiscovery ? discovery?.topics ?? [] : [])
        let more = topics.count > 3 ? " and \(topics.count - 3) more topics" : ""
        let names = topics.prefix(3).joined(separator: " and ") + more
        let times = corrections > 1 ? "; \(corrections) times so far" : ""
        var effects = publish(different.compactMap { messages[$0] })
        effects.append(
            .log(
                ConnectionLog.isLogged(corrections) ? .warning : .debug,
                "the broker had another message for \(names) than this device published: publishing again\(times)"))
        if different.contains(self.topics.reported) { effects.append(.request(.repeatReport)) }
        return effects + (correctsDiscovery ? [.request(.correctDiscovery)] : [])
    }

    // MARK: The report

    private mutating func receiveReport(_ payload: [UInt8], at now: ClockReading) -> Effects {
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
        looks = 0
        guard !hasDuplicate else {
            nextLook = now.monotonic.advanced(bySeconds: RetainedWatch.lookInterval)
            return []
        }
        hasDuplicate = true
        nextLook = now.monotonic.advanced(bySeconds: RetainedWatch.settlingTime)
        return [
            .log(
                .error,
                "another device reports under the same id, \(topics.device); give each device a device.id of its own"),
            .request(.reportDuplicate(true)),
        ]
    }
}
