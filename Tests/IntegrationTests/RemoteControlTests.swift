import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: allowed commands are carried out over MQTT, with progress if they take time; others are refused.
@Suite(.needsBroker) struct RemoteControlTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    @Test func defaultsExcludeLongRunningCommands() async throws {
        let rig = try await AgentRig()
        for name in ["record", "calibrate", "restart"] {
            try rig.send(name)
            #expect(await rig.replies(name) { $0["error"] as? String == "not_allowed" })
        }
        try rig.send("ping") { $0.properties.userProperties = [MQTTMessage.UserProperty("from", "the living room")] }
        #expect(await rig.replies("ping") { $0["ok"] as? Bool == true && $0["version"] as? String != nil })
        #expect(await rig.agent.logs("command ping (from=the living room)"), "\(rig.agent.errors)")
        try rig.send("get-state")
        #expect(await rig.replies("get-state") { $0["stopped"] as? Bool == false })
        #expect(await rig.agent.terminate() == 0)
    }

    @Test func restartsThroughSupervisor() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let restart = MQTTMessage(topic: "jostle/dut/command/restart", text: "", qos: .atLeastOnce)
        func agent(_ environment: [String: String]) throws -> JostleProgram {
            try rig.agent(
                broker: broker.port, ["sensor.driver=virtual", "commands.allow=[restart]"], environment: environment)
        }
        let alone = try agent([:])
        #expect(await observer.availability("online"), "\(alone.errors)")
        try observer.publish(restart)
        await observer.expect { try $0.objects("command/restart/result").last?["error"] as? String == "unavailable" }
        #expect(await alone.terminate() == 0)

        let service = try agent(["JOSTLE_SUPERVISED": "1"])
        #expect(await observer.availability("online", count: 3), "\(service.errors)")
        try observer.publish(restart)
        #expect(await service.exitStatus() == 75, "\(service.errors)")
        try await observer.catchUp()
        #expect(try observer.objects("command/restart/result").last?["ok"] as? Bool == true)
        #expect(await observer.availability("offline", count: 4))
    }

    @Test func recordsOnBoard() async throws {
        let rig = try await AgentRig.measuring("rest", "commands.allow=[record]", state: directory.path("state"))
        try rig.send("record", "{\"seconds\":1}")
        #expect(await rig.replies("record") { $0["done"] as? Bool == true }, "\(rig.agent.errors)")
        let answer = try #require(try rig.results("record").last)
        #expect(answer["file"] as? String == "recording-1.csv" && answer["end"] as? String == "time", "\(answer)")
        let file = directory.path("state/recordings/recording-1.csv")
        let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int
        #expect(size == answer["bytes"] as? Int)
        let replay = try await jostle("replay", file, "--attitude", "-").expect(status: 0)
        #expect(replay.lines.count == (answer["samples"] as? Int ?? 0) + 1, "\(replay.errors)")
        #expect(await rig.agent.terminate() == 0)
    }

    /// The requester cannot choose where a recording is stored.
    @Test func recordsOnlyInStateDirectory() async throws {
        let rig = try await AgentRig.measuring("rest", "commands.allow=[record]", state: directory.path("state"))
        for argument in ["file", "path", "name"] {
            try rig.send("record", "{\"seconds\":1,\"\(argument)\":\"../../tmp/x.csv\"}")
            #expect(
                await rig.replies("record") {
                    ($0["message"] as? String)?.contains("record has no argument \"\(argument)\"") == true
                })
        }
        #expect(!FileManager.default.fileExists(atPath: directory.path("state/recordings")))
        #expect(await rig.agent.terminate() == 0)
    }

    /// A person would place the board as the replies instruct; this virtual one changes sides by itself.
    @Test func calibratesAccelerometerPoseByPose() async throws {
        let rig = try await AgentRig.measuring(
            "calibration-poses", "commands.allow=[calibrate]", "publish.health.interval=1 s")
        try rig.send("calibrate", "{\"what\":\"accelerometer\",\"poses\":6}")
        #expect(await rig.replies("calibrate") { $0["advice"] as? String != nil }, "\(rig.agent.errors)")
        try rig.send("calibrate", "{\"what\":\"gyroscope\"}")
        #expect(await rig.replies("calibrate") { $0["error"] as? String == "busy" })
        #expect(
            await rig.replies("calibrate") { $0["done"] as? Bool == true },
            "\(rig.observer.texts("command/calibrate/result")) \(rig.agent.errors)")
        let answer = try #require(try rig.results("calibrate").last)
        #expect(answer["before_mg"] as? Double ?? 0 > answer["after_mg"] as? Double ?? .infinity, "\(answer)")
        #expect(try rig.results("calibrate").contains { $0["pose"] as? Int == 3 })
        await rig.observer.expect {
            (try $0.objects("health").last?["calibration"] as? [String: Any])?["accelerometer"] != nil
        }
        #expect(await rig.agent.terminate() == 0)
    }

    @Test func calibratesGyroscopeAndCancelChangesNothing() async throws {
        let rig = try await AgentRig.measuring(
            "rest", "commands.allow=[calibrate, stop, start]", "publish.health.interval=1 s")
        try rig.send("calibrate", "{\"what\":\"magnetometer\"}")
        #expect(
            await rig.replies("calibrate") {
                $0["error"] as? String == "sensor_unavailable"
                    && ($0["message"] as? String)?.contains("no magnetometer is read") == true
            })
        try rig.send("calibrate", "{\"what\":\"gyroscope\"}")
        #expect(await rig.replies("calibrate") { $0["done"] as? Bool == false })
        try rig.send("calibrate", "{\"stop\":true}")
        #expect(await rig.replies("calibrate") { $0["stopped"] as? Bool == true }, "\(rig.agent.errors)")
        #expect(
            try rig.results("calibrate").contains {
                ($0["message"] as? String)?.contains("cancelled; nothing was changed") == true
            })

        try rig.send("calibrate", "{\"what\":\"gyroscope\"}")
        #expect(
            await rig.replies("calibrate") { $0["done"] as? Bool == true },
            "\(rig.observer.texts("command/calibrate/result")) \(rig.agent.errors)")
        let answer = try #require(try rig.results("calibrate").last)
        // The bias estimated at rest in the meantime is about as good.
        #expect((0...0.1).contains(answer["after_deg_s"] as? Double ?? .nan), "\(answer)")
        await rig.observer.expect {
            (try $0.objects("health").last?["calibration"] as? [String: Any])?["gyroscope"] as? String
                == "rest: 10 s"
        }
        #expect(await rig.agent.terminate() == 0)
    }
}

/// Requirement: samples are streamed on demand over a real broker without gaps.
@Suite(.needsBroker) struct StreamTests {
    private let rig = Rig()

    @Test func streamHasNoGapAndStopsOnCommand() async throws {
        let rig = try await AgentRig.measuring("demo")
        let (observer, agent) = (rig.observer, rig.agent)
        try rig.send("stream", "{\"duration\":100,\"fields\":[\"acceleration\",\"rotation\",\"attitude\"]}")
        #expect(await observer.sees { $0.messages("stream").count >= 30 }, "\(agent.errors)")
        try rig.send("stream", "{\"stop\":true}")
        #expect(await rig.replies("stream") { $0["stopped"] as? Bool == true })
        let end = try #require(
            try rig.results("stream").first { $0["done"] as? Bool == true }, "\(agent.errors)")
        #expect(end["end"] as? String == "stopped" && end["refused"] as? Int == 0, "\(end)")

        let messages = try observer.objects("stream")
        #expect(messages.count == end["messages"] as? Int)
        var next = 0
        var last = 0.0
        var periods: [Double] = []
        for (index, message) in messages.enumerated() {
            let count = try #require(message["rotation"] as? [[Double]]).count
            #expect((message["attitude"] as? [[Double]])?.count == count)
            #expect(message["seq"] as? Int == index && message["n"] as? Int == next, "\(message)")
            let time = try #require(message["t"] as? Double)
            #expect(time > last)
            if let period = message["period"] as? Double { periods.append(period) }
            last = time
            next += count
        }
        #expect(next == end["samples"] as? Int)
        // 50 Hz within the tolerance of the chip's oscillator; a few are off while the machine is busy.
        #expect(abs(periods.sorted()[periods.count / 2] - 0.02) < 0.002, "\(periods)")
        #expect(await agent.terminate() == 0)
    }

    /// As a viewer does that stays: the stream runs on past its first end, and ends without a renewal.
    @Test func secondCommandExtendsStream() async throws {
        let rig = try await AgentRig.measuring("rest", "sensor.rate=200Hz", "log.level=info")
        try rig.send("stream", "{\"duration\":2,\"interval\":0.02}")
        #expect(await rig.replies("stream") { $0["done"] as? Bool == false })
        try rig.send("stream", "{\"duration\":5,\"interval\":0.02}")
        #expect(await rig.replies("stream") { $0["extended"] as? Bool == true && $0["interval"] as? Double == 0.02 })
        try rig.send("stream", "{\"duration\":5}")
        #expect(await rig.replies("stream") { $0["error"] as? String == "busy" })
        #expect(await rig.replies("stream") { $0["done"] as? Bool == true }, "\(rig.agent.errors)")
        let end = try #require(try rig.results("stream").last)
        #expect(end["end"] as? String == "time" && end["refused"] as? Int == 0, "\(end)")
        let messages = try rig.observer.objects("stream")
        #expect(messages.map { $0["seq"] as? Int } == messages.indices.map { $0 })
        let times = messages.compactMap { $0["t"] as? Double }
        let length = try #require(times.last) - (try #require(times.first))
        #expect((4000...20_000).contains(length), "\(length) ms")
        let counts = messages.compactMap { ($0["acceleration"] as? [[Double]])?.count }
        #expect(counts.filter { $0 == 4 }.count > messages.count / 2, "\(counts)")
        let lines = rig.agent.errors.split(separator: "\n").filter { $0.contains("command stream") }
        // The first command and the refused one. The renewal would fill the log.
        #expect(lines.count == 2, "\(lines)")
        #expect(await rig.agent.terminate() == 0)
    }
}
