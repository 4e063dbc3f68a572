internal import Documents
internal import IMUDrivers
internal import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
internal import MosquittoClient
internal import MotionCore

/// Keeps the configuration: receives values on `…/set/<key>` and the fleet's layers, applies and stores them, and
/// reports the settings in force.
///
/// A value that is set at home is applied and written at once. The report waits until it is on disk, but not for long if
/// the disk is slow: then it says `not_kept`, and the next one follows when the value is on disk. So a value that was
/// reported without `not_kept` survives a crash. `FleetLayers` does the same for the fleet's layers, with
/// more care: they are stored before they are applied.
struct SettingsStore: Participant {
    static let owner = Owner.settings

    enum Request: Equatable, Sendable {
        /// Apply these settings.
        case apply(JostleSettings)
        /// Start the agent again, because a changed key is only read at the start.
        case restart
    }

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

    let topics: Topics
    private let run: String
    var stack: ConfigurationStack
    private var fleet: FleetLayers
    /// The version in the file for the upgrade service.
    private var writtenVersion: String?
    /// Keys that were changed and are only read at the start.
    private var keysForRestart: [String] = []
    /// Those among them that were changed in the file, according to the last time it was read.
    private var keysPending: [String] = []
    private var refusals: [SettingRefusal] = []

    private var storage = Storage.stored
    private var writes = TokenBucket(capacity: SettingsStore.writeBurst, rate: 1 / SettingsStore.writeInterval)
    /// Why the layer is not stored; `nil` if it is stored or about to be.
    private var failure: String?
    /// What the last report said of that.
    private var reportedNotKept: String?

    /// When the report is due; `nil` if nothing changed.
    private var reportDue: Timestamp?
    private var lastReport: Timestamp?
    private var isConnected = false

    /// Limits the log lines about values, in case a sender never stops.
    private var lines = TokenBucket(capacity: 5000, rate: 0.2)

    /// Why the sensor refuses settings. Once stored, they would keep the agent from starting again.
    var sensorRefusal: (IMUSettings) -> String? = { _ in nil }

    /// Creates a store with the configuration in force; `run` is the name of this run.
    init(_ opened: StoredConfiguration, topics: Topics, run: String) {
        stack = opened.stack
        fleet = opened.fleet
        writtenVersion = opened.wantedVersion
        self.topics = topics
        self.run = run
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
        for kind in settings.gestureKinds
        where base[kind]?.isEnabled ?? true && stack.layer(governing: "\(kind.section).enabled") == nil {
            settings[kind]?.isEnabled = true
        }
        // Over MQTT, these cannot be switched on.
        let locked = base.actions.filter { $0.reachesOut && !$0.isEnabled }.compactMap(\.name)
        settings.actions.removeAll { $0.name.map(locked.contains) ?? false }
        if settings.publish.attitude.rate == 0 { settings.publish.attitude.rate = base.publish.attitude.rate }
        return settings
    }

    // MARK: Events

    mutating func start(at now: ClockReading) -> Effects {
        // With the retain flag, a value that was retained by mistake is refused when it is published, not only when it is
        // delivered again after a reconnection. The empty message that clears it is not a value.
        SettingMessage.filters(topics).map { .subscribe($0.filter, keepsRetainFlag: true, isOptional: $0.isOptional) }
            + effects(of: fleet.start(at: now.monotonic), at: now) + writeVersion()
    }

    /// Writes the version that the configuration asks for, for the upgrade service, if it has changed.
    private mutating func writeVersion() -> Effects {
        let version = settings.device.version
        guard version != writtenVersion else { return [] }
        writtenVersion = version
        return [.write(.wantedVersion, Array((version.map { "\($0)\n" } ?? "").utf8))]
    }

    mutating func handle(_ event: ParticipantEvent, at now: ClockReading) -> Effects {
        switch event {
        case .connected:
            isConnected = true
            lastReport = nil
            reportDue = now.monotonic
            fleet.connected(at: now.monotonic)
            return report(at: now)
        case .disconnected(_, let failure):
            isConnected = false
            fleet.disconnected(isOwnFault: failure.isOwnFault, at: now.monotonic)
            return []
        case .message(let message): return receive(message, at: now)
        case .subscriptionAnswered(let filter, let isGranted):
            fleet.subscriptionAnswered(filter, isGranted: isGranted, at: now.monotonic)
            return []
        case .notSent:
            reportDue = now.monotonic.advanced(bySeconds: SettingsStore.reportPause)
            return []
        case .fileWritten(.localSettings, let failure): return stored(failure, at: now)
        case .fileWritten(.fleetLayers, let failure):
            return effects(of: fleet.fileWritten(failure, &stack, at: now), at: now) + report(at: now)
        case .fileWritten, .acknowledged, .rejected: return []
        }
    }

    var nextDeadline: Timestamp? {
        let report = fleet.nextDeadline.earlier(isConnected ? reportEarliest : nil)
        return if case .due(let time) = storage { report.earlier(time) } else { report }
    }

    mutating func handleDeadline(at now: ClockReading) -> Effects {
        var effects: Effects = []
        if case .due(let time) = storage, now.monotonic >= time {
            _ = writes.spend(at: now.monotonic)
            effects += write()
        }
        effects += self.effects(of: fleet.handleDeadline(&stack, at: now), at: now)
        return effects + report(at: now)
    }

    /// Writes what is being held back. Call it at the end of a run.
    mutating func flush(at now: ClockReading) -> Effects {
        let end = effects(of: fleet.end(), at: now)
        switch storage {
        case .due, .writing(hasChanged: true): return end + write()
        case .stored, .writing(hasChanged: false), .failed: return end
        }
    }

    // MARK: Fleet

    /// The sensor delivered a sample.
    mutating func sampleArrived(at time: Timestamp) { fleet.lastSample = time }

    /// Sensing was stopped or started by a command.
    mutating func setSensingStopped(_ isStopped: Bool) { fleet.isSensingStopped = isStopped }

    /// The settings in force cannot be applied. New revisions on probation are undone.
    mutating func applicationFailed(_ reason: String, at now: ClockReading) -> Effects {
        let steps = fleet.fail(reason, &stack, at: now)
        guard !steps.isEmpty else { return [.log(.error, "the sensor keeps its old settings: \(reason)")] }
        return effects(of: steps, at: now) + report(at: now)
    }

    /// Carries out the steps that the fleet's layers ask for.
    private mutating func effects(of steps: [FleetLayers.Step], at now: ClockReading) -> Effects {
        var effects: Effects = []
        for step in steps {
            switch step {
            case .subscribe(let filter, let isOptional):
                effects.append(.subscribe(filter, keepsRetainFlag: false, isOptional: isOptional))
            case .unsubscribe(let filter): effects.append(.unsubscribe(filter))
            case .store(let content): effects.append(.write(.fleetLayers, content))
            case .log(let level, let text): effects.append(.log(level, text))
            case .apply(let changes):
                guard !changes.isEmpty else { continue }
                effects.append(.request(.apply(settings)))
                effects += writeVersion()
                let keys = changes.filter { $0.effect == .agentRestart }.map(\.key)
                keysForRestart += keys.filter { !keysForRestart.contains($0) }
                if !keys.isEmpty { effects.append(.request(.restart)) }
            }
        }
        if fleet.takeNews() { makeReportDue(at: now.monotonic) }
        return effects
    }

    // MARK: Values

    private mutating func receive(_ message: MQTTMessage, at now: ClockReading) -> Effects {
        if let steps = fleet.receive(message, &stack, at: now) {
            return effects(of: steps, at: now) + report(at: now)
        }
        guard let key = SettingMessage.key(of: message.topic, topics) else { return [] }
        let origin = CommandHandler.origin(of: message)
        let entries: [SettingMessage.Entry]
        do {
            entries = try SettingMessage.entries(in: message, key: key, topics)
        } catch {
            return refuse(error, key: key, origin: origin, at: now) + report(at: now)
        }
        // A valid document takes back the refusal of another one.
        refusals.removeAll { $0.key == key }
        return set(entries, origin: origin, at: now)
    }

    /// Sets the valid ones of these values, and refuses the others.
    private mutating func set(_ entries: [SettingMessage.Entry], origin: String, at now: ClockReading) -> Effects {
        let before = stack
        var lines: Effects = []
        var waiting = entries
        while !waiting.isEmpty {
            var refused: [(entry: SettingMessage.Entry, problem: DocumentProblem)] = []
            for entry in waiting {
                do {
                    lines += try set(entry, origin: origin, at: now)
                } catch {
                    refused.append((entry, error))
                }
            }
            guard refused.count < waiting.count else {
                for (entry, problem) in refused { lines += refuse(problem, key: entry.key, origin: origin, at: now) }
                break
            }
            // Some may be valid only together with values that came after them.
            waiting = refused.map(\.entry)
        }
        return changed(since: before, at: now) + lines + report(at: now)
    }

    /// Applies and stores what was set since the stack was `before`.
    private mutating func changed(since before: ConfigurationStack, at now: ClockReading) -> Effects {
        var effects: Effects = []
        if stack != before {
            if settings != before.resolution.settings { effects.append(.request(.apply(settings))) }
            effects += layerChanged(at: now.monotonic)
        }
        makeReportDue(at: now.monotonic)
        return effects
    }

    /// Sets a value in memory.
    ///
    /// - Returns: the line for the log.
    private mutating func set(
        _ entry: SettingMessage.Entry, origin: String, at now: ClockReading
    ) throws(DocumentProblem) -> Effects {
        let old = stack.value(of: entry.key)
        let before = stack
        try stack.set(entry.key, to: entry.value, in: LocalLayer.name)
        if entry.value != nil, settings.imu != before.resolution.settings.imu, let reason = sensorRefusal(settings.imu)
        {
            stack = before
            throw DocumentProblem(at: DocumentPosition(.layer(LocalLayer.name)), path: entry.key, reason)
        }
        refusals.removeAll { $0.key == entry.key }
        guard let note = admitLine(at: now.monotonic) else { return [] }
        let new = stack.value(of: entry.key)
        let values = old == new ? "still \(new.text)" : "\(old.text) -> \(new.text)"
        let reason = entry.value == nil ? ", no longer set" : ""
        return [.log(.info, "\(entry.key): \(values)\(reason)\(origin)\(note)")]
    }

    /// A suffix for a log line about a value; `nil` if the line is suppressed.
    private mutating func admitLine(at now: Timestamp) -> String? {
        lines.admit(at: now).map { $0 > 0 ? " (\($0) earlier values not logged, see config/reported)" : "" }
    }

    private mutating func refuse(
        _ problem: DocumentProblem, key: String, origin: String, at now: ClockReading
    ) -> Effects {
        refusals.removeAll { $0.key == key }
        refusals.append(SettingRefusal(problem, key: key))
        if refusals.count > SettingsStore.rememberedRefusals { refusals.removeFirst() }
        makeReportDue(at: now.monotonic)
        guard let note = admitLine(at: now.monotonic) else { return [] }
        let title = key.isEmpty ? "the document on \(topics.setDocument)" : key
        return [.log(.warning, "\(title) not set: \(problem)\(origin)\(note)")]
    }

    // MARK: Learned gestures

    /// - Throws: why a gesture of this name that is learned here could not be kept.
    func checkRoom(for name: GestureName) throws(DocumentProblem) {
        try stack.checkRoom(for: name, in: LocalLayer.name)
    }

    /// Keeps a gesture that was learned of the device's own samples.
    mutating func keep(_ template: GestureTemplate, at now: ClockReading) throws(DocumentProblem) -> Effects {
        let before = stack
        try stack.set(
            GestureKind(.learned, template.name).templateKey, to: .string(template.text), in: LocalLayer.name,
            isLearned: true)
        return changed(since: before, at: now) + report(at: now)
    }

    /// Removes what is kept of a gesture; `nil` if there is nothing.
    mutating func forget(_ name: GestureName, at now: ClockReading) -> Effects? {
        let before = stack
        guard stack.forget(name, in: LocalLayer.name) else { return nil }
        return changed(since: before, at: now) + report(at: now)
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
        self.failure = failure
        switch storage {
        case .writing(let hasChanged):
            storage = failure == nil ? .stored : .failed
            if hasChanged { effects += layerChanged(at: now.monotonic) }
        case .failed: if failure == nil { storage = .stored }
        // An earlier state was written; the present one is still due.
        case .due, .stored: break
        }
        if notKept != reportedNotKept { makeReportDue(at: now.monotonic) }
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

    /// Why values that were set at home would be lost in a crash; `nil` if they are on disk.
    private var notKept: String? { failure ?? (storage == .stored ? nil : "not written yet") }

    /// Publishes the settings in force once more, because the broker has another report.
    mutating func repeatReport(at now: ClockReading) -> Effects {
        makeReportDue(at: now.monotonic)
        return report(at: now)
    }

    /// Publishes the settings in force, if a report is due.
    mutating func report(at now: ClockReading) -> Effects {
        guard isConnected, let due = reportEarliest, now.monotonic >= due else { return [] }
        reportDue = nil
        reportedNotKept = notKept
        lastReport = now.monotonic
        let message = MQTTMessage(topic: topics.reported, payload: payload(at: now), qos: .atLeastOnce, retain: true)
        return [.publish(message, .report)]
    }

    private func payload(at now: ClockReading) -> [UInt8] {
        let kept = stack.resolution.refused.map { SettingRefusal($0, key: $0.path) }
        let keys = keysForRestart + keysPending.filter { !keysForRestart.contains($0) }
        let head: JSONValue = [
            "t": .number(now.wall), "run": .string(run), "epochs": true, "settings": stack.values,
            "origins": stack.origins, "refused": .array((kept + refusals).map { $0.json }),
        ]
        let report = head.adding(fleet.report(stack, at: now.monotonic)).adding([
            "not_kept": notKept.map { .string($0) }, "restart_required": keys.isEmpty ? nil : .strings(keys),
        ])
        return Array(report.compactText.utf8)
    }
}

extension JSONValue? {
    /// The value on one line; `none` if there is none.
    fileprivate var text: String {
        switch self {
        case nil, .null?: "none"
        case let value?: value.compactText
        }
    }
}

extension SettingsStore {
    /// The most changed values that are logged one by one.
    private static let loggedChanges = 20

    /// Takes over the stack with the configuration files that were read again: what can change at run time is in force
    /// at once. `pending` are the keys that take effect at the next start.
    mutating func takeOver(_ reloaded: ConfigurationStack, pending: [String], at now: ClockReading) -> Effects {
        let before = stack.resolution
        (stack, keysPending) = (reloaded, pending)
        let after = stack.resolution
        let changes = ConfigurationStack.changedKeys(before.settings, after.settings)
        var effects: Effects = changes.prefix(Self.loggedChanges).map { .log(.info, $0.line) }
        if changes.count > Self.loggedChanges {
            effects.append(.log(.info, "\(changes.count - Self.loggedChanges) more values changed"))
        }
        if !keysPending.isEmpty {
            effects.append(.log(.warning, "takes effect at the next start: \(keysPending.joined(separator: ", "))"))
        } else if changes.isEmpty {
            effects.append(.log(.info, "the configuration was read again; no value in force has changed"))
        }
        for problem in after.refused where !before.refused.contains(problem) {
            effects.append(.log(.warning, "a locally set value is not applied: \(problem)"))
        }
        for outcome in after.outcomes where outcome.chosen == nil && !before.outcomes.contains(outcome) {
            for problem in outcome.problems.last ?? [] {
                effects.append(.log(.warning, "layer \(outcome.name) is not applied: \(problem)"))
            }
        }
        let known = LoadedConfiguration(settings: before.settings, provenance: before.provenance).warnings
        for warning in LoadedConfiguration(settings: after.settings, provenance: after.provenance).warnings
        where !known.contains(warning) {
            effects.append(.log(.warning, "\(warning)"))
        }
        if !changes.isEmpty { effects.append(.request(.apply(after.settings))) }
        effects += writeVersion()
        makeReportDue(at: now.monotonic)
        return effects + report(at: now)
    }
}

extension ConfigurationChange {
    /// The change, for the log. Long values, such as rules, are left out.
    fileprivate var line: String {
        let values = "\(old.compactText) -> \(new.compactText)"
        return values.utf8.count <= 200 ? "\(key): \(values)" : "\(key): changed"
    }
}

/// A message to `set`: which keys it changes, and to what.
///
/// `set/<key>` has one value. A document on `set`, or on `set/<section>`, has the values of any number of keys. The names
/// in a key may also be levels of the topic, as in `set/gestures/shake/sensitivity`.
enum SettingMessage {
    /// A key with its new value; `nil` removes the value.
    struct Entry: Sendable {
        var key: String
        var value: JSONValue?
    }

    /// The maximum size of a value and of a document, bytes.
    private static let largestValue = 1024
    private static let largestDocument = 16_384

    /// The topics, which do not overlap. A broker's access rules may permit only the first one: then the device works
    /// with that.
    static func filters(_ topics: Topics) -> [(filter: String, isOptional: Bool)] {
        [(topics.set("+"), false), (topics.setDocument, true), (topics.set("+/+/#"), true)]
    }

    /// The key or section to which a topic belongs, empty for all; `nil` for other topics.
    static func key(of topic: String, _ topics: Topics) -> String? {
        if topic == topics.setDocument { return "" }
        let start = topics.set("")
        guard topic.hasPrefix(start) else { return nil }
        let key = topic.dropFirst(start.count).split(separator: "/").joined(separator: ".")
        return shortened(key)
    }

    /// What a message sets.
    ///
    /// - Throws: why the whole message is refused.
    static func entries(
        in message: MQTTMessage, key: String, _ topics: Topics
    ) throws(DocumentProblem) -> [Entry] {
        let position = DocumentPosition(.layer(LocalLayer.name))
        guard !message.retain else {
            throw DocumentProblem(
                at: position, path: key, "must not be retained: it would be set again at every connection")
        }
        let isDocument = ConfigurationSchema.hasSection(key) || ConfigurationSchema.isAboveRuleSwitch(key)
        let limit = isDocument ? largestDocument : largestValue
        guard message.payload.count <= limit else {
            throw DocumentProblem(at: position, path: key, "is longer than \(limit) bytes")
        }
        guard isDocument else {
            guard !message.payload.isEmpty else { return [Entry(key: key, value: nil)] }
            let value = try JSONValue(message: message.payload, topic: topics.set(key))
            return [Entry(key: key, value: ConfigurationSchema.isSwitch(key) ? asSwitch(value) : value)]
        }
        let topic = key.isEmpty ? topics.setDocument : topics.set(key)
        let value = message.payload.isEmpty ? nil : try JSONValue(message: message.payload, topic: topic)
        var entries: [Entry] = []
        if let members = value?.members { add(members, below: key, to: &entries) }
        // The list of rules itself is refused as every key that cannot be set.
        if let value, entries.isEmpty, ConfigurationSchema.isAboveRuleSwitch(key) {
            entries = [Entry(key: key, value: value)]
        }
        guard !entries.isEmpty else {
            throw DocumentProblem(
                at: position, path: key, found: value?.compactText,
                "is not a document with values; one value belongs on \(topics.set("KEY")), for example "
                    + topics.set("gestures.shake.sensitivity"),
                allowed:
                    #"a JSON object, for example {"gestures":{"shake":{"sensitivity":7}}} on \#(topics.setDocument)"#)
        }
        return entries
    }

    /// The value of a switch if it is one of the words that openHAB, Homebridge and others send to one, else as it is.
    private static func asSwitch(_ value: JSONValue) -> JSONValue {
        let words = (value.text ?? "").lowercased().split(whereSeparator: \.isWhitespace)
        switch words.count == 1 ? words[0] : "" {
        case "on", "true", "1": return true
        case "off", "false", "0": return false
        default: return value
        }
    }

    /// Adds the values of an object. A member that is no section is a value, which is judged as on a topic of its own.
    private static func add(_ members: [JSONValue.Member], below key: String, to entries: inout [Entry]) {
        for member in members {
            let path = shortened(key.isEmpty ? member.name : "\(key).\(member.name)")
            if let inner = member.value.members,
                ConfigurationSchema.hasSection(path) || ConfigurationSchema.isAboveRuleSwitch(path)
            {
                add(inner, below: path, to: &entries)
            } else {
                entries.append(Entry(key: path, value: member.value))
            }
        }
    }

    /// A key, shortened: the topic may be anything. The log escapes it.
    private static func shortened(_ key: String) -> String {
        String(String.UnicodeScalarView(key.unicodeScalars.prefix(129)))
    }
}

extension DeliveryToken {
    /// Of the store's messages only the report has a token: if the client had no room for it, it is published later.
    static let report = DeliveryToken(number: 0)
}
