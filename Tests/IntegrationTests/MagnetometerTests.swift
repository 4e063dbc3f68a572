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
        let rig = try await AgentRig.measuring(
            "slow-turn", "sensor.magnetometer=true", "sensor.mount_matrix=[[0,-1,0],[1,0,0],[0,0,1]]")
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

    /// Requirement: the command `calibrate` leads through the turning; what it finds is in force at once, and stored.
    @Test func isCalibratedOverMQTT() async throws {
        let state = directory.path("state")
        // One that was made with a magnet nearby.
        try directory.write(
            """
            jostle calibration 1
            accelerometer-source poses: 8, residual: 0.40 mg
            accelerometer-offset 0.0 0.0 0.0
            accelerometer-matrix 1.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0 1.0
            gyroscope-source rest: 10 s
            gyroscope-bias 0.0 0.0 0.0
            gyroscope-bias-slope 0.0 0.0 0.0
            gyroscope-temperature 25.0
            gyroscope-matrix 1.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0 1.0
            magnetometer-source readings: 312, residual: 0.45 uT, heading: 0.8 degrees
            magnetometer-hard-iron 30.0 0.0 0.0
            magnetometer-matrix 1.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0 1.0
            magnetometer-strength 48.0
            magnetometer-dip 1.1
            end

            """, to: "state/calibration/virtual.txt")
        let rig = try await AgentRig.measuring(
            try directory.write(Recording.turned, to: "turned.csv"), "sensor.magnetometer=true", "sensor.rate=50Hz",
            "commands.allow=[calibrate, stream]", "publish.health.interval=1 s", state: state)
        try rig.send("calibrate", #"{"what":"magnetometer","seconds":300}"#)
        #expect(
            await rig.replies("calibrate", within: .seconds(150)) { $0["done"] as? Bool == true },
            "\(rig.observer.texts("command/calibrate/result")) \(rig.agent.errors)")
        let answers = try rig.results("calibrate")
        #expect((answers.first?["advice"] as? String)?.hasPrefix("keep it still for 3 s") == true, "\(answers)")
        let turning = answers.filter { $0["coverage"] is Double }
        #expect(turning.count >= 3 && turning.allSatisfy { $0["done"] as? Bool == false }, "\(answers)")
        #expect((turning.last?["coverage"] as? Double ?? 0) > 0.3, "\(answers)")
        #expect(
            turning.contains { ($0["advice"] as? String)?.contains(/best with [+-][xyz] up/) == true }, "\(answers)")
        let end = try #require(answers.last)
        #expect(abs((end["before_ut"] as? Double ?? 0) - 30) < 1, "\(end)")
        #expect((0...0.31).contains(end["after_ut"] as? Double ?? .nan), "\(end)")
        #expect(
            try String(contentsOfFile: "\(state)/calibration/virtual.txt", encoding: .utf8)
                .contains(/magnetometer-hard-iron -?[01]\.\d+ -?[01]\.\d+ -?[01]\.\d+\n/))
        // The heading is computed with it: that of the wrong one has another strength in each direction.
        let reports = try rig.observer.objects("health").count
        await rig.observer.expect {
            let later = try $0.objects("health").dropFirst(reports + 1)
            let fields = later.compactMap { ($0["magnetometer"] as? [String: Any])?["field"] as? Double }
            return fields.count >= 3 && fields.allSatisfy { abs($0 - 48.3) < 3 }
        }
        let calibration = try rig.observer.objects("health").last?["calibration"] as? [String: Any]
        #expect((calibration?["magnetometer"] as? String)?.hasPrefix("readings: 2") == true, "\(calibration ?? [:])")
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
