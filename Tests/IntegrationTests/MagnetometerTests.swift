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

    /// Requirement: a stream has the readings of the magnetometer, corrected, as often as it measures, for who asks for them.
    @Test func streamsTheField() async throws {
        let rig = try await AgentRig.measuring("slow-turn", "sensor.magnetometer=true", "sensor.mount_matrix=[[0,-1,0],[1,0,0],[0,0,1]]")
        try rig.send("stream", #"{"duration":100,"interval":0.02,"fields":["acceleration","field"]}"#)
        #expect(
            await rig.observer.sees { try $0.objects("stream").count { $0["field"] != nil } >= 40 },
            "\(rig.agent.errors)")
        try rig.send("stream", #"{"stop":true}"#)
        #expect(await rig.replies("stream") { $0["done"] as? Bool == true })
        let messages = try rig.observer.objects("stream")
        let readings = messages.flatMap { $0["field"] as? [[Double]] ?? [] }
        let times = messages.compactMap { $0["t"] as? Double }
        let seconds = (try #require(times.last) - (try #require(times.first))) / 1000
        #expect((10...30).contains(Double(readings.count) / seconds), "\(readings.count) in \(seconds) s")
        for reading in readings {
            try #require(reading.count == 3)
            // 20 µT north and 44 µT down, however it is mounted and turned.
            #expect(abs(reading[2] + 44) < 3 && abs(hypot(reading[0], reading[1]) - 20) < 3, "\(reading)")
        }
        // Again without: the payload is the one of a board that has none.
        try rig.send("stream", #"{"duration":100,"interval":0.02}"#)
        #expect(await rig.observer.sees { $0.messages("stream").count >= messages.count + 20 })
        let others = try rig.observer.objects("stream").dropFirst(messages.count)
        #expect(others.allSatisfy { $0["field"] == nil && $0["acceleration"] != nil && $0["rotation"] != nil })
        #expect(await rig.agent.terminate() == 0)
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
