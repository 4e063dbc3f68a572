internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient
internal import MotionCore

/// Receives values on `…/set/<key>`, applies them, stores them in the local layer, and reports the settings in force.
///
/// An accepted value is applied and written at once. The report waits until the value is on disk, so that a reported
/// value survives a crash, but not for long if the disk is slow.
struct SettingsStore: Participant {
    /// Only the report has a token: if the client had no room for it, it is published later.
    enum Token: Hashable, Sendable {
        case report
    }

    enum Request: Equatable, Sendable {
        /// Apply these settings.
        case apply(JostleSettings)
    }

    /// The maximum size of a value, bytes.
    private static let maximumBytes = 1024
    /// The maximum number of refusals in a report.
    private static let rememberedRefusals = 20
    /// The minimum time between reports, and the time that a report waits for the disk, s.
    private static let reportInterval = 0.25
    /// Seconds until a report is published again for which the client had no room. A new connection publishes it at
    /// once.
    private static let reportPause = 5.0
    /// A burst of this many writes, then one write per interval (s), so that a slider dragged for minutes does not wear
    /// out the memory card.
    private static let writeBurst = 20.0
    private static let writeInterval = 1.0

    /// The state of the local layer's file.
    private enum Storage: Equatable {
        case stored
        /// The layer changed and is written at this time.
        case due(Timestamp)
        /// The layer is being written; it may have changed since.
        case writing(hasChanged: Bool)
        /// A write failed and is being retried.
        case failed
    }

    private let topics: Topics
    private var stack: ConfigurationStack
    private var refusals: [SettingRefusal] = []

    private var storage = Storage.stored
    private var writes = TokenBucket(capacity: SettingsStore.writeBurst, rate: 1 / SettingsStore.writeInterval)
    /// Why the layer is not stored; `nil` if it is stored or about to be.
    private var failure: String?

    /// When the report is due; `nil` if nothing changed.
    private var reportDue: Timestamp?
    private var lastReport: Timestamp?
    private var isConnected = false

    /// Limits the log lines about values, in case a sender never stops.
    private var lines = TokenBucket(capacity: 5000, rate: 0.2)

    /// Creates a store with the configuration in force.
    init(_ stack: ConfigurationStack, topics: Topics) {
        self.stack = stack
        self.topics = topics
    }

    /// The settings in force.
    var settings: JostleSettings { stack.resolution.settings }

    /// The settings in force, but with gestures and attitude still enabled that were only disabled locally.
    ///
    /// Discovery uses these. If an entity disappeared whenever its switch was turned off, automations that use it would
    /// fire and dashboards would lose it.
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
        // With the retain flag, a value that was retained by mistake is refused when it is published, not only when it is
        // delivered again after a reconnection. The empty message that clears it is not a value.
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
        case .message(let message): return receive(message, at: now)
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

    /// Writes a change that is being held back. Call it at the end of a run.
    mutating func flush() -> Effects {
        switch storage {
        case .due, .writing(hasChanged: true): write()
        case .stored, .writing(hasChanged: false), .failed: []
        }
    }

    // MARK: Values

    private mutating func receive(_ message: MQTTMessage, at now: ClockReading) -> Effects {
        let start = topics.set("")
        guard message.topic.hasPrefix(start) else { return [] }
        let key = SettingsStore.displayable(String(message.topic.dropFirst(start.count)))
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
        guard message.payload.count <= SettingsStore.maximumBytes else {
            throw ConfigurationProblem(at: position, path: key, "is longer than \(SettingsStore.maximumBytes) bytes")
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
            effects += layerChanged(at: now.monotonic)
        }
        if let note = admitLine(at: now.monotonic) {
            let text = value.map(\.compactText) ?? "as the configuration file says"
            effects.append(.log(.info, "\(key) is \(text)\(note)"))
        }
        makeReportDue(at: now.monotonic)
        return effects + report(at: now)
    }

    /// A suffix for a log line about a value; `nil` if the line is suppressed.
    private mutating func admitLine(at now: Timestamp) -> String? {
        lines.admit(at: now).map { $0 > 0 ? " (\($0) earlier values not logged, see config/reported)" : "" }
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

    /// A key in a form that is safe to log: the topic may be anything.
    private static func displayable(_ key: String) -> String {
        let scalars = key.unicodeScalars.prefix(129)
        return String(String.UnicodeScalarView(scalars))
    }

    // MARK: File

    /// Writes the changed layer, or schedules the write.
    private mutating func layerChanged(at now: Timestamp) -> Effects {
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
        if let failure, self.failure == nil {
            effects = [.log(.error, "cannot save the locally set values: \(failure)")]
        }
        if failure != self.failure { makeReportDue(at: now.monotonic) }
        self.failure = failure
        switch storage {
        case .writing(let hasChanged):
            storage = failure == nil ? .stored : .failed
            if hasChanged { effects += layerChanged(at: now.monotonic) }
        case .failed: if failure == nil { storage = .stored }
        // An earlier state was written; the present one is still due.
        case .due, .stored: break
        }
        return effects + report(at: now)
    }

    // MARK: Report

    private mutating func makeReportDue(at now: Timestamp) {
        reportDue = reportDue ?? max(now, lastReport?.advanced(bySeconds: SettingsStore.reportInterval) ?? now)
    }

    /// When the report may be published. It waits for a write in progress, but not for long.
    private var reportEarliest: Timestamp? {
        guard case .writing = storage else { return reportDue }
        return reportDue?.advanced(bySeconds: SettingsStore.reportInterval)
    }

    /// Publishes the settings in force, if a report is due.
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
