import BrokerTestSupport
import Foundation
import Testing

/// Requirement: with `sensor.magnetometer`, the attitude has a heading, health tells of the magnetometer, and recordings
/// contain its readings. The virtual sensor is then an MPU-9250.
@Suite(.needsBroker) struct MagnetometerTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    @Test func publishesHeading() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try rig.virtualAgent(
            broker: broker.port, "demo", "sensor.magnetometer=true", "publish.attitude.heartbeat=0.5 s",
            "home_assistant.discovery=false", "publish.health.interval=1 s")
        await observer.expect(agent) { $0.messages("attitude").count >= 8 && $0.messages("health").count >= 3 }
        let attitude = try #require(try observer.objects("attitude").last)
        #expect((0..<360).contains(try #require(attitude["heading"] as? Double)))
        #expect(try #require(attitude["heading_deviation"] as? Double) > 0)
        #expect(attitude["heading_quality"] as? String == "tracking")
        let health = try #require(try observer.objects("health").last)
        let magnetometer = try #require(health["magnetometer"] as? [String: Any])
        #expect(magnetometer["name"] as? String == "AK8963" && magnetometer["state"] as? String == "measuring")
        #expect(try #require(magnetometer["readings"] as? Int) > 10)
        #expect(abs(try #require(magnetometer["field"] as? Double) - 48.3) < 3)
        #expect((health["sensor"] as? String)?.hasPrefix("virtual MPU-9250") == true)
        #expect((health["problems"] as? [String])?.contains("magnetometer") == false)
    }

    @Test func withoutTheKeyThereIsNone() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try rig.virtualAgent(broker: broker.port, "demo", "home_assistant.discovery=false")
        let isMeasuring = await observer.sees { !$0.messages("attitude").isEmpty && !$0.messages("health").isEmpty }
        #expect(isMeasuring, "\(agent.errors)")
        #expect(try observer.objects("attitude").allSatisfy { $0["heading"] == nil })
        #expect(try observer.objects("health").allSatisfy { $0["magnetometer"] == nil })
    }

    @Test func recordsReadings() async throws {
        let file = directory.path("with-field.csv")
        try await jostle(
            "record", file, "--for", "3", "--set", "sensor.driver=virtual", "--set", "sensor.magnetometer=true"
        ).expect(status: 0)
        let rows = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
            .filter { !$0.hasPrefix("#") }
        #expect(rows.first == "t_s,ax,ay,az,gx,gy,gz,temp_c,mx,my,mz")
        let fields = rows.dropFirst().filter { !$0.hasSuffix(",,,") }
        #expect((30...70).contains(fields.count), "\(fields.count)")
        let replay = try await jostle("replay", file, "--attitude", "-").expect(status: 0)
        #expect(replay.lines.count == rows.count)
    }
}
