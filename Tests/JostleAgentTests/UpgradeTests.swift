import BrokerTestSupport
import Documents
import Foundation
import JostleConfiguration
import Testing

@testable import JostleAgent

/// Requirement: the upgrade service learns which version the configuration asks for, and the board reports what became of
/// it. What a fleet may ask for is decided on the board.
@Suite struct UpgradeTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test(arguments: [
        (
            #"{"state":"failed","wanted":"1.2","installed":"1.1","reason":"it does not start","seconds":14}"#,
            UpgradeStatus(state: .failed, wanted: "1.2", reason: "it does not start", seconds: 14)
        ),
        (
            #"{"state":"installed","wanted":"1.2","installed":"1.2","reason":"","seconds":null}"#,
            UpgradeStatus(state: .installed, wanted: "1.2")
        ),
        // Of another version, or nothing that can be understood: the service has not answered.
        (#"{"state":"installed","wanted":"1.1","reason":""}"#, UpgradeStatus(state: .waiting, wanted: "1.2")),
        (#"{"state":"exploded","wanted":"1.2","reason":""}"#, UpgradeStatus(state: .waiting, wanted: "1.2")),
        (#"{"state":"#, UpgradeStatus(state: .waiting, wanted: "1.2")),
    ])
    func statusOfTheServiceIsRead(text: String, status: UpgradeStatus) throws {
        try directory.write(text, to: "status.json")
        #expect(UpgradeStatus.read(wanted: "1.2", at: directory.path("status.json")) == status)
        #expect(UpgradeStatus.read(wanted: "1.2", at: directory.path("none")).state == .waiting)
    }

    @Test func failedUpgradeIsAProblemInHealth() throws {
        let now = ClockReading(
            boot: "a", monotonic: .init(seconds: 100), wall: 0, isSet: true)
        var health = HealthReporter(version: "1.1", interval: 60, processorTime: 0, at: now)
        var facts = HealthFacts()
        facts.isStopped = true
        func report() throws -> [String: Any] {
            let bytes = health.report(facts, at: now).bytes
            return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        }
        #expect(try report()["upgrade"] == nil)
        facts.upgrade = UpgradeStatus(state: .failed, wanted: "1.2", reason: "it does not start", seconds: 14)
        let failed = try report()
        let upgrade = try #require(failed["upgrade"] as? [String: Any])
        #expect(failed["problems"] as? [String] == ["upgrade"] && upgrade["seconds"] as? Int == 14)
        #expect(upgrade["state"] as? String == "failed" && upgrade["reason"] as? String == "it does not start")
        facts.upgrade?.state = .waiting
        #expect(try report()["problems"] as? [String] == [])
    }

    private static func layer(_ revision: Int, _ config: String) -> String {
        #"{"schema":1,"revision":\#(revision),"config":\#(config)}"#
    }

    private func wanted(_ board: FleetBench) -> String? {
        try? String(contentsOfFile: board.directory.path("wanted-version"), encoding: .utf8)
    }

    @Test func layerSetsTheVersionIfTheFileListsExactlyThatKey() throws {
        var board = try FleetBench("fleet: { remote: [gestures, device.version] }")
        #expect(wanted(board) == nil)
        try board.publish(.all, Self.layer(1, #"{"device":{"version":"1.2"}}"#))
        #expect(try board.status("all") == "applied 1")
        #expect(wanted(board) == "1.2\n")
        try board.restart()
        #expect(board.settings.device.version == "1.2" && wanted(board) == "1.2\n")
        // Its neighbours stay out of reach.
        try board.publish(.all, Self.layer(2, #"{"device":{"version":"1.3","id":"b"}}"#))
        #expect(try board.layer("all")["status"] as? String == "rejected" && wanted(board) == "1.2\n")
        try board.publish(.all, Self.layer(3, "{}"))
        #expect(board.settings.device.version == nil && wanted(board) == "")
    }

    @Test(arguments: ["{}", "fleet: { remote: [gestures, publish] }", "fleet: { remote: ['gestures.*'] }"])
    func layerCannotSetTheVersionOtherwise(yaml: String) throws {
        var board = try FleetBench(yaml)
        try board.publish(.all, Self.layer(1, #"{"device":{"version":"1.2"}}"#))
        #expect(try board.layer("all")["status"] as? String == "rejected")
        #expect(wanted(board) == nil)
    }

    @Test(arguments: [
        ("settings: { allow: [device.version] }", "can be set only on the device itself"),
        ("fleet: { remote: [device] }", "can be set only on the device itself"),
        ("fleet: { remote: ['device.*'] }", "can be set only on the device itself"),
    ])
    func noOtherListCanPermitIt(yaml: String, reason: String) throws {
        var builder = ConfigurationBuilder()
        builder.apply(try YAMLReader.read(Array(yaml.utf8), source: .file("jostle.yaml")))
        #expect {
            try builder.finish()
        } throws: { error in
            "\(error)".contains(reason)
        }
    }
}
