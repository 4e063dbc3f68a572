import BrokerTestSupport
import Foundation
import JostleConfiguration
import JostleMessages
import MosquittoClient
import MotionCore
import Synchronization
import Testing

@testable import JostleAgent

/// Requirement: a value that is set is in force at once, kept, and reported; what is refused changes nothing.
@Suite struct SettingsDeskTests {
    private final class Outgoing: Sendable {
        let messages = Mutex<[MQTTMessage]>([])
    }

    private let directory: TemporaryDirectory
    private let outgoing = Outgoing()

    init() throws {
        directory = try TemporaryDirectory()
    }

    private var file: String { directory.path("local-settings.json") }

    private func desk() -> SettingsDesk {
        let store = LocalLayerStore(stateDirectory: directory.path)
        let log = Log(level: .error)
        let loaded = LoadedConfiguration(settings: JostleSettings(), provenance: Provenance())
        return SettingsDesk(
            store.stack(upon: loaded, log: log), topics: Topics(prefix: "jostle", id: "a"), store: store, log: log
        ) { [outgoing] message, _ in
            outgoing.messages.withLock { $0.append(message) }
            return true
        }
    }

    /// Sets a value; returns the sensitivity to shakes that is put in force, `nil` where nothing is.
    private func set(_ desk: SettingsDesk, _ key: String, _ value: String, retain: Bool = false) -> Int? {
        var applied: Int?
        let message = MQTTMessage(topic: "jostle/a/set/\(key)", text: value, qos: .atLeastOnce, retain: retain)
        let isTaken = desk.take(message) { applied = $0.motion.gestures.shake.common.sensitivity }
        #expect(isTaken)
        return applied
    }

    /// The last report after all that is due was done, so many minutes from now.
    private func report(_ desk: SettingsDesk, after minutes: Double = 1) throws -> [String: Any] {
        desk.work(at: WallClock.monotonic.advanced(bySeconds: 60 * minutes))
        let last = try #require(outgoing.messages.withLock { $0.last })
        #expect(last.topic == "jostle/a/config/reported" && last.retain && last.qos == .atLeastOnce)
        return try #require(try JSONSerialization.jsonObject(with: Data(last.payload)) as? [String: Any])
    }

    private func refused(_ report: [String: Any]) throws -> [[String: String]] {
        try #require(report["refused"] as? [[String: String]])
    }

    @Test func aValueIsInForceAtOnceAndAfterARestart() throws {
        let first = desk()
        #expect(set(first, "gestures.shake.sensitivity", "7") == 7)
        // The same again changes nothing.
        #expect(set(first, "gestures.shake.sensitivity", "7.0") == nil)
        let report = try report(first)
        let settings = try #require(report["settings"] as? [String: Any])
        let gestures = try #require(settings["gestures"] as? [String: [String: Any]])
        #expect(gestures["shake"]?["sensitivity"] as? Int == 7)
        #expect(report["origins"] as? [String: String] == ["gestures.shake.sensitivity": "local"])
        #expect(try refused(report).isEmpty && report["not_kept"] == nil)

        let second = desk()
        #expect(second.settings.motion.gestures.shake.common.sensitivity == 7)
        #expect(set(second, "gestures.shake.sensitivity", "") == 5)
        second.keep(at: WallClock.monotonic, isLast: true)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "{}\n")
    }

    @Test func whatIsRefusedChangesNothingAndIsReportedUntilItIsSetRightly() throws {
        let desk = desk()
        #expect(set(desk, "gestures.shake.sensitivity", "11") == nil)
        #expect(set(desk, "mqtt.broker", "mqtt://elsewhere") == nil)
        #expect(set(desk, "gestures.shake.cooldown", "1 s", retain: true) == nil)
        #expect(set(desk, "gestures.tap.sensitivity", String(repeating: "1", count: 1025)) == nil)
        #expect(desk.settings == JostleSettings())
        let all = try refused(try report(desk))
        #expect(
            all.map { $0["key"] } == [
                "gestures.shake.sensitivity", "mqtt.broker", "gestures.shake.cooldown", "gestures.tap.sensitivity",
            ])
        #expect(all[0]["value"] == "11" && all[0]["allowed"] == "1 … 10" && all[0]["layer"] == "local")
        #expect(all[1]["reason"] == "may not be set from outside" && all[1]["value"] == nil)
        #expect(all[2]["reason"]?.hasPrefix("must not be retained") == true)
        #expect(all[3]["reason"] == "is longer than 1024 bytes")
        _ = set(desk, "gestures.shake.sensitivity", "6")
        #expect(try refused(try report(desk, after: 2)).count == 3)
        #expect(FileManager.default.fileExists(atPath: file))
    }

    /// At a connection a report is due since ever, and the main thread asks how long it may sleep.
    @Test func whatIsDueAtOnceLeavesNoTime() throws {
        let now = WallClock.monotonic
        let due = try #require(desk().nextWork)
        #expect(due.remaining(at: now) == 0)
        #expect(Timestamp(nanoseconds: .min).remaining(at: now) == 0)
        #expect(now.advanced(bySeconds: 2).remaining(at: now) == 2)
    }

    @Test func otherTopicsAreNotItsOwn() {
        let desk = desk()
        for topic in ["jostle/a/command/tare", "jostle/b/set/attitude.low_pass", "homeassistant/status"] {
            let isTaken = desk.take(MQTTMessage(topic: topic, text: "1")) { _ in }
            #expect(!isTaken, "\(topic)")
        }
    }

    @Test func aTornFileIsPutAsideAndTheNextChangeIsKept() throws {
        try directory.write("{\"gestures.shake.sensitivity\": 7, \"gest", to: "local-settings.json")
        let first = desk()
        #expect(first.settings == JostleSettings())
        #expect(FileManager.default.fileExists(atPath: file + ".bad"))
        #expect(!FileManager.default.fileExists(atPath: file))
        _ = set(first, "gestures.shake.sensitivity", "4")
        first.keep(at: WallClock.monotonic, isLast: true)
        #expect(desk().settings.motion.gestures.shake.common.sensitivity == 4)
    }

    @Test func aLayerThatCannotBeKeptIsInForceAndReportedAsSuch() throws {
        // A directory in the place of the file cannot be replaced by one.
        try FileManager.default.createDirectory(atPath: file + "/x", withIntermediateDirectories: true)
        let desk = desk()
        #expect(set(desk, "gestures.shake.sensitivity", "7") == 7)
        #expect(try report(desk)["not_kept"] is String)
        try FileManager.default.removeItem(atPath: file)
        let report = try report(desk, after: 2)
        #expect(try String(contentsOfFile: file, encoding: .utf8).contains("7"))
        #expect(report["not_kept"] == nil)
    }

    @Test func garbageIsRememberedWithinBounds() throws {
        let desk = desk()
        for number in 0..<1000 { #expect(set(desk, "garbage\(number)", "\(number)") == nil) }
        let report = try report(desk)
        #expect(try refused(report).map { $0["key"] } == (980..<1000).map { "garbage\($0)" })
        // One at the first of them, one in the end, and what the clock let through.
        #expect(outgoing.messages.withLock { $0.count } < 100)
    }
}
