internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient
internal import MotionCore

/// Receives values on `…/set/<key>`, puts them into the local layer, stores that and reports what is in force.
///
/// What is accepted is in force at once and written at once; the report follows when it is on disk, or when the disk takes
/// too long: what was reported is not lost by a crash.
struct SettingsStore: Participant {
    /// The one message whose fate counts: a report that the client did not take is published later.
    enum Token: Hashable, Sendable {
        case report
    }

    enum Request: Equatable, Sendable {
        /// Put these settings in force.
        case apply(JostleSettings)
    }

    /// The largest value that is looked at, bytes.
    private static let largest = 1024
    /// Refusals that are remembered; more nobody reads.
    private static let rememberedRefusals = 20
    /// Seconds between two reports, at least, and for which a report waits for the disk.
    private static let reportInterval = 0.25
    /// Seconds until a report that the client did not take is tried again; a new connection does so at once.
    private static let reportPause = 5.0
    /// Writes at once, and then one in so many seconds: a slider that is dragged for minutes wears no card out.
    private static let writeBurst = 20.0
    private static let writeInterval = 1.0

    /// Where the local layer stands with its file.
    private enum Storage: Equatable {
        case stored
        /// It changed, and is written when the card may be written again.
        case due(Timestamp)
        /// It is on its way to the disk; it may have changed since.
        case writing(hasChanged: Bool)
        /// It could not be written, and is tried again.
        case failed
    }

    private let topics: Topics
    private var stack: ConfigurationStack
    private var refusals: [SettingRefusal] = []

    private var storage = Storage.stored
    private var writes = TokenBucket(capacity: SettingsStore.writeBurst, rate: 1 / SettingsStore.writeInterval)
    /// Why the layer is not stored; `nil` if it is, or will be in a moment.
    private var failure: String?

    /// When the report is due; `nil` if there is nothing new.
    private var reportDue: Timestamp?
    private var lastReport: Timestamp?
    private var isConnected = false

    /// Lines about values: each is logged, except those of somebody gone wild.
    private var lines = TokenBucket(capacity: 5000, rate: 0.2)

    /// A store with what is in force now.
    init(_ stack: ConfigurationStack, topics: Topics) {
        self.stack = stack
        self.topics = topics
    }

    /// What is in force.
    var settings: JostleSettings { stack.resolution.settings }

    /// What is in force, except that what was only switched off in the home counts as switched on: it is offered there.
    ///
    /// An entity that disappears sets off the automations that look at it, and takes what was made of it with it: not at
    /// every press of a switch.
    var settingsToOffer: JostleSettings {
        let base = stack.base.settings
        var settings = stack.resolution.settings
        for gesture in Gesture.allCases where base.motion.gestures[gesture].isEnabled {
            settings.motion.gestures[gesture].isEnabled = true
        }
        if settings.publish.attitude.rate == 0 { settings.publish.attitude.rate = base.publish.attitude.rate }
        return settings
    }

    // MARK: Events

    mutating func start(at now: ClockReading) -> Effects {
        // One that is retained by mistake is to be refused when it comes, not only when it comes again; and taking it away,
        // which is an empty message, is no value.
        [.subscribe(topics.set("+"), keepsRetainFlag: true)]
    }

    mutating func handle(_ event: ParticipantEvent<Token>, at now: ClockReading) -> Effects {
        switch event {
        case .connected:
            isConnected = true
            lastReport = nil
            reportDue = now.monotonic
            return report(at: now)
        case .disconnected:
            isConnected = false
            return []
        case .message(let message): return take(message, at: now)
        case .notSent:
            reportDue = now.monotonic.advanced(bySeconds: SettingsStore.reportPause)
            return []
        case .fileWritten(.localSettings, let failure): return stored(failure, at: now)
        case .fileWritten, .acknowledged, .rejected, .subscriptionAnswered: return []
        }
    }

    var nextDeadline: Timestamp? {
        var deadlines: [Timestamp] = []
        if case .due(let time) = storage { deadlines.append(time) }
        if isConnected, let due = reportEarliest { deadlines.append(due) }
        return deadlines.min()
    }

    mutating func handleDeadline(at now: ClockReading) -> Effects {
        var effects: Effects = []
        if case .due(let time) = storage, now.monotonic >= time {
            _ = writes.spend(at: now.monotonic)
            effects += write()
        }
        return effects + report(at: now)
    }

    /// Writes what is being held back; for the end of a run.
    mutating func flush() -> Effects {
        switch storage {
        case .due, .writing(hasChanged: true): write()
        case .stored, .writing(hasChanged: false), .failed: []
        }
    }

    // MARK: Values

    private mutating func take(_ message: MQTTMessage, at now: ClockReading) -> Effects {
        let start = topics.set("")
        guard message.topic.hasPrefix(start) else { return [] }
        let key = SettingsStore.shown(String(message.topic.dropFirst(start.count)))
        do throws(ConfigurationProblem) {
            let value = try value(in: message, of: key)
            return try set(key, to: value, at: now)
        } catch {
            return refuse(error, key: key, at: now)
        }
    }

    private func value(in message: MQTTMessage, of key: String) throws(ConfigurationProblem) -> JSONValue? {
        let position = ConfigurationPosition(.layer(LocalLayer.name))
        guard !message.retain else {
            throw ConfigurationProblem(
                at: position, path: key, "must not be retained: it would be set again at every connection")
        }
        guard message.payload.count <= SettingsStore.largest else {
            throw ConfigurationProblem(at: position, path: key, "is longer than \(SettingsStore.largest) bytes")
        }
        guard !message.payload.isEmpty else { return nil }
        return try JSONValue(message: message.payload, topic: topics.set(key))
    }

    private mutating func set(
        _ key: String, to value: JSONValue?, at now: ClockReading
    ) throws(ConfigurationProblem) -> Effects {
        let before = stack
        try stack.set(key, to: value, in: LocalLayer.name)
        refusals.removeAll { $0.key == key }
        var effects: Effects = []
        if stack != before {
            if settings != before.resolution.settings { effects.append(.request(.apply(settings))) }
            effects += change(at: now.monotonic)
        }
        if let note = admitLine(at: now.monotonic) {
            let text = value.map(\.compactText) ?? "as the configuration file says"
            effects.append(.log(.info, "\(key) is \(text)\(note)"))
        }
        makeReportDue(at: now.monotonic)
        return effects + report(at: now)
    }

    /// What follows a line about a value; `nil` if none is to be written.
    private mutating func admitLine(at now: Timestamp) -> String? {
        lines.admit(at: now).map { $0 > 0 ? " (\($0) more values came before, see config/reported)" : "" }
    }

    private mutating func refuse(_ problem: ConfigurationProblem, key: String, at now: ClockReading) -> Effects {
        refusals.removeAll { $0.key == key }
        refusals.append(SettingRefusal(problem, key: key))
        if refusals.count > SettingsStore.rememberedRefusals { refusals.removeFirst() }
        makeReportDue(at: now.monotonic)
        var effects: Effects = []
        if let note = admitLine(at: now.monotonic) {
            let title = key.isEmpty ? "a value without a key" : key
            effects.append(.log(.warning, "\(title) not set: \(problem)\(note)"))
        }
        return effects + report(at: now)
    }

    /// A key as it can be shown: its topic may be anything.
    private static func shown(_ key: String) -> String {
        let scalars = key.unicodeScalars.prefix(129)
        return String(String.UnicodeScalarView(scalars))
    }

    // MARK: The file

    /// The local layer changed.
    private mutating func change(at now: Timestamp) -> Effects {
        switch storage {
        case .writing:
            storage = .writing(hasChanged: true)
            return []
        case .due: return []
        case .stored, .failed:
            guard writes.spend(at: now) else {
                storage = .due(now.advanced(bySeconds: SettingsStore.writeInterval))
                return []
            }
            return write()
        }
    }

    private mutating func write() -> Effects {
        guard let layer = stack.layers.first(where: { $0.name == LocalLayer.name }) else { return [] }
        storage = .writing(hasChanged: false)
        return [.write(.localSettings, Array(layer.text.utf8))]
    }

    private mutating func stored(_ failure: String?, at now: ClockReading) -> Effects {
        var effects: Effects = []
        if let failure, self.failure == nil { effects = [.log(.error, "what was set cannot be kept: \(failure)")] }
        if failure != self.failure { makeReportDue(at: now.monotonic) }
        self.failure = failure
        switch storage {
        case .writing(let hasChanged):
            storage = failure == nil ? .stored : .failed
            if hasChanged { effects += change(at: now.monotonic) }
        case .failed: if failure == nil { storage = .stored }
        // An earlier state was written; the present one waits for its turn.
        case .due, .stored: break
        }
        return effects + report(at: now)
    }

    // MARK: The report

    private mutating func makeReportDue(at now: Timestamp) {
        reportDue = reportDue ?? max(now, lastReport?.advanced(bySeconds: SettingsStore.reportInterval) ?? now)
    }

    /// When the report may be published: a disk that writes what it is about is waited for, but not for long.
    private var reportEarliest: Timestamp? {
        guard case .writing = storage else { return reportDue }
        return reportDue?.advanced(bySeconds: SettingsStore.reportInterval)
    }

    /// Publishes what is in force if it changed.
    private mutating func report(at now: ClockReading) -> Effects {
        guard isConnected, let due = reportEarliest, now.monotonic >= due else { return [] }
        reportDue = nil
        lastReport = now.monotonic
        let message = MQTTMessage(topic: topics.reported, payload: payload(at: now), qos: .atLeastOnce, retain: true)
        return [.publish(message, .report)]
    }

    private func payload(at now: ClockReading) -> [UInt8] {
        let kept = stack.resolution.refused.map { SettingRefusal($0, key: $0.path) }
        var members: [JSONValue.Member] = [
            .init("t", .number("\(now.wall)")),
            .init("settings", stack.values), .init("origins", stack.origins),
            .init("refused", .array((kept + refusals).map { $0.json })),
        ]
        if let failure { members.append(.init("not_kept", .string(failure))) }
        return Array(JSONValue.object(members).compactText.utf8)
    }
}
