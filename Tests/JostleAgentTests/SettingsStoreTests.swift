import BrokerTestSupport
import Foundation
import JostleConfiguration
import JostleMessages
import JostleRuntime
import MotionCore
import StateStorage
import Testing

@testable import JostleAgent

/// Requirement: a value takes effect at once, is stored and is reported; a refused value changes nothing.
@Suite final class SettingsStoreTests {
    private lazy var bench = makeBench()
    private let directory = TemporaryDirectory.new()

    private typealias Bench = ParticipantBench<SettingsStore>

    private static let key = "gestures.shake.sensitivity"

    private func makeBench(in directory: String = "/nonexistent", settings: JostleSettings = JostleSettings()) -> Bench
    {
        let loaded = LoadedConfiguration(settings: settings, provenance: Provenance())
        let stored = StoredConfiguration.open(
            loaded, id: "a", boot: "a", in: StateDirectory(path: directory), log: Log(level: .error))
        var bench = Bench(SettingsStore(stored, topics: Topics(prefix: "jostle", id: "a"), run: "1"))
        bench.deliver(.connected)
        return bench
    }

    /// Sets a value; returns the shake sensitivity that is applied, `nil` if nothing is.
    private func set(_ bench: inout Bench, _ key: String, _ value: String, retain: Bool = false) -> Int? {
        bench.receive("jostle/a/set/\(key)", value, retain: retain)
        guard case .apply(let settings) = bench.takeRequests().last else { return nil }
        return settings.motion.gestures.shake.common.sensitivity
    }

    /// The last report after all due work is done.
    private func report(_ bench: inout Bench) throws -> [String: Any] {
        bench.pass(60)
        let last = try #require(bench.takePublished().last).message
        #expect(last.topic == "jostle/a/config/reported" && last.retain && last.qos == .atLeastOnce)
        return try #require(try JSONSerialization.jsonObject(with: Data(last.payload)) as? [String: Any])
    }

    private func refused(_ report: [String: Any]) throws -> [[String: String]] {
        try #require(report["refused"] as? [[String: String]])
    }

    @Test func appliesValueNowAndAfterRestart() throws {
        var first = makeBench(in: directory.path)
        #expect(set(&first, Self.key, "7") == 7)
        // The same value again changes nothing.
        #expect(set(&first, Self.key, "7.0") == nil)
        #expect(first.writes == 1)
        let report = try report(&first)
        let settings = try #require(report["settings"] as? [String: Any])
        let gestures = try #require(settings["gestures"] as? [String: [String: Any]])
        #expect(gestures["shake"]?["sensitivity"] as? Int == 7)
        #expect(report["origins"] as? [String: String] == [Self.key: "local"])
        #expect(try refused(report).isEmpty)
        first.deliver(.fileWritten(.localSettings, failure: nil))
        #expect(try self.report(&first)["not_kept"] == nil)

        try directory.write(try #require(first.text(.localSettings)), to: "local-settings.json")
        var second = makeBench(in: directory.path)
        #expect(second.participant.settings.motion.gestures.shake.common.sensitivity == 7)
        #expect(set(&second, Self.key, "") == 5)
        #expect(second.text(.localSettings) == "{}\n")
    }

    /// A stored rate that the chip does not have would keep the agent from starting again.
    @Test func refusesWhatTheSensorRefuses() throws {
        var settings = JostleSettings()
        settings.settings.allow = ["sensor"]
        var bench = makeBench(settings: settings)
        bench.participant.sensorRefusal = { $0.rate > 1000 ? "the chip measures up to 1000 Hz" : nil }
        _ = set(&bench, "sensor.rate", "2000")
        #expect(bench.participant.settings.imu.rate == 200 && bench.writes == 0)
        let refused = try self.refused(try report(&bench))
        #expect(refused.map { $0["key"] } == ["sensor.rate"])
        #expect(refused.first?["reason"] == "the chip measures up to 1000 Hz")
        _ = set(&bench, "sensor.rate", "1000")
        #expect(bench.participant.settings.imu.rate == 1000 && bench.writes == 1)
    }

    /// A reported value survives a crash: the report waits for the disk, and the write is requested at once.
    @Test func reportsAfterWrite() {
        _ = bench.takePublished()
        bench.pass(1)
        _ = set(&bench, Self.key, "7")
        #expect(bench.writes == 1 && bench.takePublished().isEmpty)
        bench.deliver(.fileWritten(.localSettings, failure: nil))
        #expect(bench.topics() == ["jostle/a/config/reported"])
    }

    @Test func reportsWhenDiskIsSlow() throws {
        _ = bench.takePublished()
        bench.pass(1)
        _ = set(&bench, Self.key, "7")
        bench.pass(0.2)
        #expect(bench.takePublished().isEmpty)
        bench.pass(0.06)
        #expect(try self.report(&bench)["not_kept"] as? String == "not written yet")
        bench.pass(5)
        #expect(bench.takePublished().isEmpty)
        bench.deliver(.fileWritten(.localSettings, failure: nil))
        #expect(try self.report(&bench)["not_kept"] == nil)
        bench.pass(5)
        #expect(bench.takePublished().isEmpty)
    }

    /// Changes made during a write are written afterwards, and reported after that.
    @Test func writesChangesMadeDuringWrite() {
        bench.pass(1)
        _ = set(&bench, Self.key, "7")
        _ = set(&bench, Self.key, "8")
        _ = bench.takePublished()
        #expect(bench.writes == 1)
        bench.deliver(.fileWritten(.localSettings, failure: nil))
        #expect(bench.writes == 2 && bench.text(.localSettings)?.contains("8") == true && bench.takePublished().isEmpty)
        bench.deliver(.fileWritten(.localSettings, failure: nil))
        #expect(bench.topics() == ["jostle/a/config/reported"])
    }

    /// The run ends while an older state is being written.
    @Test func flushWritesLatestChanges() {
        _ = set(&bench, Self.key, "7")
        bench.carryOut(bench.participant.flush(at: bench.clocks))
        #expect(bench.writes == 1, "the first write is still in progress")
        _ = set(&bench, Self.key, "8")
        bench.carryOut(bench.participant.flush(at: bench.clocks))
        #expect(bench.writes == 2 && bench.text(.localSettings)?.contains("8") == true)
    }

    /// A slider dragged for five minutes, ten values a second.
    @Test func limitsWritesFromSlider() {
        for number in 0..<3000 {
            _ = set(&bench, Self.key, "\(number % 10 + 1)")
            if bench.text(.localSettings) != nil { bench.deliver(.fileWritten(.localSettings, failure: nil)) }
            bench.pass(0.1)
        }
        #expect(bench.writes < 340, "\(bench.writes) writes")
        bench.pass(2)
        bench.deliver(.fileWritten(.localSettings, failure: nil))
        #expect(bench.text(.localSettings)?.contains(": 10") == true)
    }

    @Test func reportsRefusalsUntilCorrected() throws {
        #expect(set(&bench, Self.key, "11") == nil)
        #expect(set(&bench, "mqtt.broker", "mqtt://elsewhere") == nil)
        #expect(set(&bench, "gestures.shake.cooldown", "1 s", retain: true) == nil)
        #expect(set(&bench, "gestures.tap.sensitivity", String(repeating: "1", count: 1025)) == nil)
        #expect(bench.participant.settings == JostleSettings() && bench.writes == 0)
        let all = try refused(try report(&bench))
        #expect(
            all.map { $0["key"] } == [
                "gestures.shake.sensitivity", "mqtt.broker", "gestures.shake.cooldown", "gestures.tap.sensitivity",
            ])
        #expect(all[0]["value"] == "11" && all[0]["allowed"] == "1 … 10" && all[0]["layer"] == "local")
        #expect(all[1]["reason"] == "cannot be set over MQTT" && all[1]["value"] == nil)
        #expect(all[2]["reason"]?.hasPrefix("must not be retained") == true)
        #expect(all[3]["reason"] == "is longer than 1024 bytes")
        _ = set(&bench, Self.key, "6")
        #expect(try refused(try report(&bench)).count == 3 && bench.writes == 1)
    }

    /// Somebody who knows MQTT separates levels with a slash.
    @Test(arguments: ["gestures/shake/sensitivity", "gestures.shake/sensitivity", "gestures/shake.sensitivity/"])
    func acceptsKeyAsLevels(key: String) throws {
        #expect(set(&bench, key, "7") == 7)
        let report = try report(&bench)
        #expect(report["origins"] as? [String: String] == [Self.key: "local"])
        #expect(try refused(report).isEmpty)
        #expect(set(&bench, key, "") == 5)
        #expect(set(&bench, key, "11") == nil)
        #expect(try refused(try self.report(&bench)).map { $0["key"] } == [Self.key])
    }

    /// The filters do not overlap: otherwise a broker may deliver a message twice.
    @Test func subscribesToEveryTopicOnce() throws {
        let loaded = LoadedConfiguration(settings: JostleSettings(), provenance: Provenance())
        let stored = StoredConfiguration.open(
            loaded, id: "a", boot: "a", in: StateDirectory(path: "/nonexistent"), log: Log(level: .error))
        var store = SettingsStore(stored, topics: Topics(prefix: "jostle", id: "a"), run: "1")
        var filters: [String: Bool] = [:]
        for effect in store.start(at: ParticipantBench(store).clocks) {
            if case .subscribe(let filter, true, let isOptional) = effect { filters[filter] = isOptional }
        }
        #expect(filters == ["jostle/a/set/+": false, "jostle/a/set": true, "jostle/a/set/+/+/#": true])
    }

    private func send(_ bench: inout Bench, _ topic: String, _ document: String, retain: Bool = false) -> Int {
        bench.receive("jostle/a/\(topic)", document, retain: retain)
        return bench.takeRequests().count
    }

    @Test(
        arguments: [
            ("set", #"{"gestures": {"shake": {"sensitivity": 7, "cooldown": "2 s"}}}"#),
            ("set", #"{"gestures.shake": {"sensitivity": 7}, "gestures.shake.cooldown": 2}"#),
            ("set/gestures", #"{"shake": {"sensitivity": 7, "cooldown": 2}}"#),
            ("set/gestures/shake", #"{"sensitivity": 7, "cooldown": 2}"#),
        ])
    func acceptsDocument(topic: String, document: String) throws {
        #expect(send(&bench, topic, document) == 1, "applied in one step")
        #expect(bench.writes == 1)
        let shake = bench.participant.settings.motion.gestures.shake.common
        #expect(shake.sensitivity == 7 && shake.cooldown == 2)
        let report = try report(&bench)
        let origins = report["origins"] as? [String: String]
        #expect(origins == [Self.key: "local", "gestures.shake.cooldown": "local"])
        #expect(try refused(report).isEmpty)
    }

    /// Windows programs put a byte order mark before a text.
    @Test func acceptsByteOrderMark() {
        #expect(set(&bench, Self.key, "\u{FEFF}7") == 7)
        #expect(send(&bench, "set", "\u{FEFF}" + #"{"gestures.shake.sensitivity": 8}"#) == 1)
    }

    /// openHAB, Homebridge and wall switches send words of their own.
    @Test(arguments: ["OFF", "off", "Off\n", "0", "False", "false"], ["ON", "on", "1", "True", "true"])
    func acceptsWordsOfSwitches(off: String, on: String) {
        for key in ["set/gestures.shake.enabled", "set/gestures/shake/enabled"] {
            #expect(send(&bench, key, off) == 1)
            #expect(!bench.participant.settings.motion.gestures.shake.common.isEnabled)
            #expect(send(&bench, key, on) == 1)
            #expect(bench.participant.settings.motion.gestures.shake.common.isEnabled)
        }
        // A document is JSON.
        #expect(send(&bench, "set", #"{"gestures.shake.enabled": "OFF"}"#) == 0)
        #expect(send(&bench, "set/gestures.shake.enabled", "offf") == 0)
    }

    /// The others are in force.
    @Test func refusesValuesOfDocument() throws {
        let document = #"""
            {"gestures": {"shake": {"sensitivity": 7, "cooldown": "never"}, "shack": {"sensitivity": 3}},
             "mqtt": {"broker": "mqtt://elsewhere"}}
            """#
        #expect(send(&bench, "set", document) == 1)
        #expect(bench.participant.settings.motion.gestures.shake.common.sensitivity == 7)
        let keys = try refused(try report(&bench)).map { $0["key"] }
        #expect(keys == ["gestures.shake.cooldown", "gestures.shack", "mqtt.broker"])
        #expect(bench.takeLines().count { $0.contains(" not set: ") } == 3)
    }

    @Test(
        arguments: [
            ("set", "7", ""), ("set", "{}", ""), ("set", "", ""), ("set", "[1]", ""), ("set", #"{"gestures":"#, ""),
            ("set/", "7", ""), ("set", #"{"gestures": {"shake": {}}}"#, ""),
            ("set/gestures/shake", "7", "gestures.shake"),
        ])
    func refusesWhatIsNoDocument(topic: String, payload: String, key: String) throws {
        #expect(send(&bench, topic, payload) == 0 && bench.writes == 0)
        let all = try refused(try report(&bench))
        #expect(all.map { $0["key"] } == [key])
        let isBroken = payload == #"{"gestures":"#
        #expect(isBroken || all[0]["reason"]?.contains("jostle/a/set/gestures.shake.sensitivity") == true, "\(all)")
        #expect(isBroken || all[0]["allowed"]?.contains("on jostle/a/set") == true)
        #expect(bench.takeLines().count { $0.contains(" not set: ") } == 1)
        // Corrected.
        #expect(
            send(
                &bench, key.isEmpty ? "set" : topic,
                key.isEmpty
                    ? #"{"gestures.shake.sensitivity":7}"#
                    : #"{"sensitivity":7}"#) == 1)
        #expect(try refused(try report(&bench)).isEmpty)
    }

    @Test func refusesRetainedAndLongDocument() throws {
        let document = #"{"gestures.shake.sensitivity":7}"#
        #expect(send(&bench, "set", document, retain: true) == 0)
        #expect(try refused(try report(&bench))[0]["reason"]?.hasPrefix("must not be retained") == true)
        #expect(send(&bench, "set", document + String(repeating: " ", count: 16_384)) == 0)
        #expect(try refused(try report(&bench))[0]["reason"] == "is longer than 16384 bytes")
        #expect(send(&bench, "set", document + String(repeating: " ", count: 2000)) == 1)
    }

    /// The tilt from which a shake counts must stay below the one up to which it counts, whatever the order.
    @Test(arguments: [(50, 60), (2, 5)]) func setsValuesOfDocumentTogether(above: Int, below: Int) throws {
        func document(_ above: Int, _ below: Int) -> String {
            #"{"gestures": {"shake": {"when": {"tilt_above": \#(above), "tilt_below": \#(below)}}}}"#
        }
        #expect(send(&bench, "set", document(10, 20)) == 1)
        #expect(send(&bench, "set", document(30, 25)) == 1)
        #expect(try refused(try report(&bench)).count == 1)
        #expect(send(&bench, "set", document(10, 20)) == 1)
        #expect(try refused(try report(&bench)).isEmpty)
        #expect(send(&bench, "set", document(above, below)) == 1)
        #expect(try refused(try report(&bench)).isEmpty)
    }

    /// After a connection a report is published at once, and no deadline remains.
    @Test func immediateReportClearsDeadline() throws {
        #expect(Timestamp(nanoseconds: .min).remaining(at: WallClock.monotonic) == 0)
        let now = WallClock.monotonic
        #expect(now.advanced(bySeconds: 2).remaining(at: now) == 2)
        #expect(bench.topics() == ["jostle/a/config/reported"])
        // What remains is the end of reading the fleet's layers.
        #expect(bench.participant.nextDeadline == bench.now.advanced(bySeconds: FleetLayers.longestReading))
    }

    @Test func ignoresOtherTopics() {
        _ = bench.takePublished()
        for topic in ["jostle/a/command/tare", "jostle/b/set/attitude.low_pass", "homeassistant/status"] {
            bench.receive(topic, "1")
        }
        bench.pass(10)
        #expect(bench.takePublished().isEmpty && bench.takeLines().isEmpty)
    }

    @Test func retriesUnsentReport() {
        _ = bench.takePublished()
        bench.deliver(.notSent([.report]))
        bench.pass(4.9)
        #expect(bench.takePublished().isEmpty)
        bench.pass(0.2)
        #expect(bench.topics().count == 1)
    }

    @Test func setsTornFileAside() throws {
        try directory.write("{\"gestures.shake.sensitivity\": 7, \"gest", to: "local-settings.json")
        var bench = makeBench(in: directory.path)
        #expect(bench.participant.settings == JostleSettings())
        #expect(FileManager.default.fileExists(atPath: directory.path("local-settings.json.bad")))
        #expect(!FileManager.default.fileExists(atPath: directory.path("local-settings.json")))
        _ = set(&bench, Self.key, "4")
        #expect(bench.text(.localSettings)?.contains("4") == true)
    }

    /// Opening a FIFO blocks until the other end is opened. The start must not block.
    @Test(.timeLimit(.minutes(1))) func doesNotBlockOnFIFO() throws {
        for file in StateFile.allCases { #expect(mkfifo(directory.path(file.rawValue), 0o600) == 0) }
        #expect(makeBench(in: directory.path).participant.settings == JostleSettings())
        let state = StateDirectory(path: directory.path)
        #expect(RememberedTopics.announced(in: state).topics.isEmpty)
        #expect(RememberedTopics.deviceNames(in: state).topics.isEmpty)
    }

    @Test func appliesAndReportsUnsavedLayer() throws {
        #expect(set(&bench, Self.key, "7") == 7)
        bench.deliver(.fileWritten(.localSettings, failure: "No space left on device"))
        #expect(try report(&bench)["not_kept"] as? String == "No space left on device")
        // The writer retries by itself; a new value replaces the waiting one.
        #expect(set(&bench, Self.key, "8") == 8)
        #expect(bench.writes == 2)
        bench.deliver(.fileWritten(.localSettings, failure: nil))
        #expect(try report(&bench)["not_kept"] == nil)
        #expect(bench.takeLines().count { $0.contains("cannot save") } == 1)
    }

    @Test func limitsStoredRefusals() throws {
        _ = bench.takePublished()
        for number in 0..<1000 { #expect(set(&bench, "garbage\(number)", "\(number)") == nil) }
        #expect(bench.takePublished().count < 3, "reports are a quarter of a second apart")
        let report = try report(&bench)
        #expect(try refused(report).map { $0["key"] } == (980..<1000).map { "garbage\($0)" })
    }
}
