internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore
internal import Synchronization

/// Takes values off `…/set/<key>`, puts them into the local layer and reports what is in force.
///
/// What is accepted is in force at once, and kept half a second later: a slider that is dragged writes once. All on the main
/// thread: a disk that stalls holds up no event.
final class SettingsDesk: Sendable {
    /// The largest value that is looked at, bytes.
    private static let largest = 1024

    /// Refusals that are remembered; more nobody reads.
    private static let rememberedRefusals = 20

    /// Seconds between two reports, at least.
    private static let reportInterval = 0.25

    /// Seconds for which changes are gathered before they are kept.
    private static let gathering = 0.5

    /// Seconds until a report that the client did not take is tried again; a new connection does so at once.
    private static let reportPause = 5.0

    /// Seconds until a layer that could not be kept is tried again.
    private static let savingPause = 30.0

    private let topics: Topics
    private let store: LocalLayerStore
    private let log: Log
    private let lines = Mutex(Lines())
    private let send: Publisher.Send
    private let state: Mutex<State>

    /// Lines about values: each is told, but for what somebody gone wild sends.
    private struct Lines {
        var budget = CommandBudget(capacity: 5000, rate: 0.2)
        var leftOut = 0

        /// How many lines were left out before the next one; `nil` where it is left out as well.
        mutating func admit(at now: Timestamp) -> Int? {
            guard budget.spend(at: now) else {
                leftOut += 1
                return nil
            }
            defer { leftOut = 0 }
            return leftOut
        }
    }

    /// Behind a reference, touched under the lock only: Swift 6.0.3 crashes on a mutex around so large a structure.
    private final class State: @unchecked Sendable {
        var stack: ConfigurationStack
        var refusals: [SettingRefusal] = []
        var isReportDue = true
        var nextReport = Timestamp(nanoseconds: .min)
        var isKept = true
        var nextSaving = Timestamp(nanoseconds: .min)
        /// Why the layer is not kept.
        var savingFailure: String?

        init(_ stack: ConfigurationStack) {
            self.stack = stack
        }
    }

    /// Makes a desk for what is in force now.
    init(
        _ stack: ConfigurationStack, topics: Topics, store: LocalLayerStore, log: Log, send: @escaping Publisher.Send
    ) {
        self.topics = topics
        self.store = store
        self.log = log
        self.send = send
        state = Mutex(State(stack))
    }

    /// What is in force.
    var settings: JostleSettings { state.withLock { $0.stack.resolution.settings } }

    /// What is in force, except that what was only switched off in the home counts as switched on: it is offered there on.
    ///
    /// An entity that disappears sets off the automations that look at it, and takes what was made of it with it: not at
    /// every press of a switch.
    var settingsToOffer: JostleSettings {
        state.withLock { state in
            let base = state.stack.base.settings
            var settings = state.stack.resolution.settings
            for gesture in Gesture.allCases where base.motion.gestures[gesture].isEnabled {
                settings.motion.gestures[gesture].isEnabled = true
            }
            if settings.publish.attitude.rate == 0 { settings.publish.attitude.rate = base.publish.attitude.rate }
            return settings
        }
    }

    // MARK: What arrives

    /// Deals with a message that may be a value; false where it is none.
    ///
    /// `apply` is called with the new settings where something changed.
    func take(_ message: MQTTMessage, apply: (JostleSettings) -> Void) -> Bool {
        let start = topics.set("")
        guard message.topic.hasPrefix(start) else { return false }
        let key = SettingsDesk.shown(String(message.topic.dropFirst(start.count)))
        do throws(ConfigurationProblem) {
            let value = try value(in: message, of: key)
            if let changed = try set(key, to: value) { apply(changed) }
            if let note = admitLine() {
                log.info("\(key) is \(value.map(\.compactText) ?? "as the configuration file says")\(note)")
            }
        } catch {
            refuse(error, key: key)
        }
        reportIfDue(at: WallClock.monotonic)
        return true
    }

    /// A connection was made: it is told anew what is in force.
    func connected() {
        state.withLock { state in
            state.isReportDue = true
            state.nextReport = Timestamp(nanoseconds: .min)
        }
        reportIfDue(at: WallClock.monotonic)
    }

    private func value(in message: MQTTMessage, of key: String) throws(ConfigurationProblem) -> JSONValue? {
        let position = ConfigurationPosition(.layer(LocalLayerStore.layerName))
        guard !message.retain else {
            throw ConfigurationProblem(
                at: position, path: key, "must not be retained: it would be set again at every connection")
        }
        guard message.payload.count <= SettingsDesk.largest else {
            throw ConfigurationProblem(at: position, path: key, "is longer than \(SettingsDesk.largest) bytes")
        }
        guard !message.payload.isEmpty else { return nil }
        return try JSONValue(message: message.payload, topic: topics.set(key))
    }

    /// Sets a key; returns what is in force now where that is something else.
    private func set(_ key: String, to value: JSONValue?) throws(ConfigurationProblem) -> JostleSettings? {
        let result: Result<JostleSettings?, ConfigurationProblem> = state.withLock { state in
            let before = state.stack
            do throws(ConfigurationProblem) {
                try state.stack.set(key, to: value, in: LocalLayerStore.layerName)
            } catch {
                return .failure(error)
            }
            state.refusals.removeAll { $0.key == key }
            state.isReportDue = true
            guard state.stack != before else { return .success(nil) }
            if state.isKept {
                state.nextSaving = WallClock.monotonic.advanced(bySeconds: SettingsDesk.gathering)
            }
            state.isKept = false
            let settings = state.stack.resolution.settings
            return .success(settings == before.resolution.settings ? nil : settings)
        }
        return try result.get()
    }

    /// What follows a line about a value, where one is to be written.
    private func admitLine() -> String? {
        lines.withLock { $0.admit(at: WallClock.monotonic) }.map {
            $0 > 0 ? " (\($0) more values came before, see config/reported)" : ""
        }
    }

    private func refuse(_ problem: ConfigurationProblem, key: String) {
        if let note = admitLine() {
            log.warning("\(key.isEmpty ? "a value without a key" : key) not set: \(problem)\(note)")
        }
        state.withLock { state in
            state.refusals.removeAll { $0.key == key }
            state.refusals.append(SettingRefusal(problem, key: key))
            if state.refusals.count > SettingsDesk.rememberedRefusals { state.refusals.removeFirst() }
            state.isReportDue = true
        }
    }

    /// A key as it can be shown: its topic may be anything.
    private static func shown(_ key: String) -> String {
        let scalars = key.unicodeScalars.prefix(129)
        return String(String.UnicodeScalarView(scalars))
    }

    // MARK: What is due

    /// When there is something to do; `nil` where nothing changed.
    var nextWork: Timestamp? {
        state.withLock { state in
            let saving = state.isKept ? nil : state.nextSaving
            let report = state.isReportDue ? state.nextReport : nil
            return [saving, report].compactMap { $0 }.min()
        }
    }

    /// Keeps and reports what changed.
    func work(at now: Timestamp) {
        keep(at: now)
        reportIfDue(at: now)
    }

    /// Keeps what changed since the last time, where it is due or the last chance.
    func keep(at now: Timestamp, isLast: Bool = false) {
        let layer: ConfigurationLayer? = state.withLock { state in
            guard !state.isKept, isLast || now >= state.nextSaving else { return nil }
            state.isKept = true
            return state.stack.layers.first { $0.name == LocalLayerStore.layerName }
        }
        guard let layer else { return }
        let code = store.save(layer)
        let failure = code == 0 ? nil : systemMessage(code)
        if let failure { log.error("what was set cannot be kept: \(failure)") }
        state.withLock { state in
            if failure != nil {
                state.isKept = false
                state.nextSaving = now.advanced(bySeconds: SettingsDesk.savingPause)
            }
            if failure != state.savingFailure { state.isReportDue = true }
            state.savingFailure = failure
        }
    }

    /// Reports where something changed, not too often; what the client does not take now is tried again.
    private func reportIfDue(at now: Timestamp) {
        // Sent under the lock, which takes no time, so that an older report never comes last.
        state.withLock { state in
            guard state.isReportDue, now >= state.nextReport else { return }
            state.nextReport = now.advanced(bySeconds: SettingsDesk.reportInterval)
            let report = SettingsDesk.report(state, at: now)
            let message = MQTTMessage(topic: topics.reported, payload: report, qos: .atLeastOnce, retain: true)
            state.isReportDue = !send(message, nil)
            if state.isReportDue { state.nextReport = now.advanced(bySeconds: SettingsDesk.reportPause) }
        }
    }

    private static func report(_ state: State, at now: Timestamp) -> [UInt8] {
        let stack = state.stack
        let kept = stack.resolution.refused.map { SettingRefusal($0, key: $0.path) }
        var members: [JSONValue.Member] = [
            .init("t", .number("\(WallClock.milliseconds(at: now))")),
            .init("settings", stack.values), .init("origins", stack.origins),
            .init("refused", .array((kept + state.refusals).map { $0.json })),
        ]
        if let failure = state.savingFailure { members.append(.init("not_kept", .string(failure))) }
        return Array(JSONValue.object(members).compactText.utf8)
    }
}
