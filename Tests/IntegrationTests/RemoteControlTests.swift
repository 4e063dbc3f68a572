import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: what the configuration allows is done over MQTT, step by step where it takes time, and the rest refused.
@Suite(.needsBroker) struct RemoteControlTests {
    private func command(_ name: String, _ arguments: String = "") -> MQTTMessage {
        var message = MQTTMessage(topic: "jostle/dut/command/\(name)", text: arguments, qos: .atLeastOnce)
        message.properties.userProperties = [MQTTMessage.UserProperty("from", "the living room")]
        return message
    }

    private func result(_ name: String, _ observer: Observer) throws -> [String: Any]? {
        try observer.objects("command/\(name)/result").last
    }

    @Test func theDefaultsLeaveOutWhatLasts() async throws {
        let broker = try await TestBroker.started()
        defer { broker.kill() }
        let observer = try await Observer(broker.port)
        let agent = try JostleProgram.virtualAgent(broker: broker.port, "rest")
        defer { agent.kill() }
        #expect(await observer.availability("online"), "\(agent.errors)")
        for name in ["record", "calibrate", "restart"] {
            try observer.publish(command(name))
            #expect(await observer.sees { try result(name, $0)?["error"] as? String == "not_allowed" })
        }
        try observer.publish(command("ping"))
        #expect(await observer.sees { try result("ping", $0)?["ok"] as? Bool == true })
        #expect(try result("ping", observer)?["version"] as? String != nil)
        #expect(await agent.logs("command ping (from=the living room)"), "\(agent.errors)")
        try observer.publish(command("get-state"))
        #expect(await observer.sees { try result("get-state", $0)?["stopped"] as? Bool == false })
        #expect(await agent.terminate() == 0)
    }

    @Test func aRestartIsAskedOfTheServiceManager() async throws {
        let broker = try await TestBroker.started()
        defer { broker.kill() }
        let observer = try await Observer(broker.port)
        func agent(_ environment: [String: String]) throws -> JostleProgram {
            let settings = [
                "device.id=dut", "mqtt.broker=mqtt://127.0.0.1:\(broker.port)", "sensor.driver=virtual",
                "commands.allow=[restart]",
            ]
            return try JostleProgram(
                ["run", "--for", "120"] + settings.flatMap { ["--set", $0] }, environment: environment)
        }
        let alone = try agent([:])
        defer { alone.kill() }
        #expect(await observer.availability("online"), "\(alone.errors)")
        try observer.publish(command("restart"))
        #expect(await observer.sees { try result("restart", $0)?["error"] as? String == "unavailable" })
        #expect(await alone.terminate() == 0)

        let service = try agent(["JOSTLE_SUPERVISED": "1"])
        defer { service.kill() }
        #expect(await observer.availability("online", count: 3), "\(service.errors)")
        try observer.publish(command("restart"))
        #expect(await service.exitStatus() == 75, "\(service.errors)")
        #expect(try result("restart", observer)?["ok"] as? Bool == true)
        #expect(await observer.availability("offline", count: 4))
    }

    @Test func aRecordingIsMadeOnTheBoard() async throws {
        let broker = try await TestBroker.started()
        defer { broker.kill() }
        let directory = try TemporaryDirectory()
        let observer = try await Observer(broker.port)
        let settings = [
            "device.id=dut", "mqtt.broker=mqtt://127.0.0.1:\(broker.port)", "sensor.driver=virtual",
            "sensor.trajectory=rest", "commands.allow=[record]",
        ]
        let agent = try JostleProgram(
            ["run", "--for", "120"] + settings.flatMap { ["--set", $0] },
            environment: ["STATE_DIRECTORY": directory.path("state")])
        defer { agent.kill() }
        #expect(await observer.sees { !$0.messages("attitude").isEmpty }, "\(agent.errors)")
        try observer.publish(command("record", "{\"seconds\":1}"))
        #expect(await observer.sees { try result("record", $0)?["done"] as? Bool == true }, "\(agent.errors)")
        let answer = try #require(try result("record", observer))
        #expect(answer["file"] as? String == "recording-1.csv" && answer["end"] as? String == "time", "\(answer)")
        let file = directory.path("state/recordings/recording-1.csv")
        let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int
        #expect(size == answer["bytes"] as? Int)
        let replay = try await jostle("replay", file, "--attitude", "-")
        #expect(replay.status == 0 && replay.lines.count == (answer["samples"] as? Int ?? 0) + 1, "\(replay.errors)")
        #expect(await agent.terminate() == 0)
    }

    /// Somebody lays the board as the answers say; here a virtual one is laid on its sides anyway.
    @Test func anAccelerometerIsCalibratedPoseByPose() async throws {
        let broker = try await TestBroker.started()
        defer { broker.kill() }
        let observer = try await Observer(broker.port)
        let agent = try JostleProgram.virtualAgent(
            broker: broker.port, "calibration-poses", "commands.allow=[calibrate]", "publish.health.interval=1 s")
        defer { agent.kill() }
        #expect(await observer.sees { !$0.messages("attitude").isEmpty }, "\(agent.errors)")
        try observer.publish(command("calibrate", "{\"what\":\"accelerometer\",\"poses\":6}"))
        #expect(
            await observer.sees { try result("calibrate", $0)?["advice"] as? String != nil }, "\(agent.errors)")
        try observer.publish(command("calibrate", "{\"what\":\"gyroscope\"}"))
        #expect(
            await observer.sees {
                try $0.objects("command/calibrate/result").contains { $0["error"] as? String == "busy" }
            })
        #expect(
            await observer.sees(within: .seconds(90)) { try result("calibrate", $0)?["done"] as? Bool == true },
            "\(observer.texts("command/calibrate/result")) \(agent.errors)")
        let answer = try #require(try result("calibrate", observer))
        #expect(answer["before_mg"] as? Double ?? 0 > answer["after_mg"] as? Double ?? .infinity, "\(answer)")
        #expect(try observer.objects("command/calibrate/result").contains { $0["pose"] as? Int == 3 })
        #expect(
            await observer.sees {
                (try $0.objects("health").last?["calibration"] as? [String: Any])?["accelerometer"] != nil
            })
        #expect(await agent.terminate() == 0)
    }

    @Test func aGyroscopeIsCalibratedAtRestAndABrokenOffTryChangesNothing() async throws {
        let broker = try await TestBroker.started()
        defer { broker.kill() }
        let observer = try await Observer(broker.port)
        let agent = try JostleProgram.virtualAgent(
            broker: broker.port, "rest", "commands.allow=[calibrate, stop, start]", "publish.health.interval=1 s")
        defer { agent.kill() }
        #expect(await observer.sees { !$0.messages("attitude").isEmpty }, "\(agent.errors)")
        try observer.publish(command("calibrate", "{\"what\":\"gyroscope\"}"))
        #expect(await observer.sees { try result("calibrate", $0)?["done"] as? Bool == false })
        try observer.publish(command("calibrate", "{\"stop\":true}"))
        #expect(await observer.sees { try result("calibrate", $0)?["stopped"] as? Bool == true }, "\(agent.errors)")
        #expect(
            try observer.objects("command/calibrate/result").contains {
                ($0["message"] as? String)?.contains("cancelled; nothing was changed") == true
            })

        try observer.publish(command("calibrate", "{\"what\":\"gyroscope\"}"))
        #expect(
            await observer.sees(within: .seconds(60)) { try result("calibrate", $0)?["done"] as? Bool == true },
            "\(observer.texts("command/calibrate/result")) \(agent.errors)")
        let answer = try #require(try result("calibrate", observer))
        // What rests have taught meanwhile is about as good.
        #expect((0...0.1).contains(answer["after_deg_s"] as? Double ?? .nan), "\(answer)")
        #expect(
            await observer.sees {
                (try $0.objects("health").last?["calibration"] as? [String: Any])?["gyroscope"] as? String
                    == "rest: 10 s"
            })
        #expect(await agent.terminate() == 0)
    }
}

/// Requirement: samples are streamed on demand over a real broker, and none is missing.
@Suite(.needsBroker) struct StreamTests {
    @Test func aStreamHasNoGapAndEndsOnDemand() async throws {
        let broker = try await TestBroker.started()
        defer { broker.kill() }
        let observer = try await Observer(broker.port)
        let agent = try JostleProgram.virtualAgent(broker: broker.port, "demo")
        defer { agent.kill() }
        #expect(await observer.sees { !$0.messages("attitude").isEmpty }, "\(agent.errors)")
        func send(_ arguments: String) throws {
            let topic = "jostle/dut/command/stream"
            try observer.publish(MQTTMessage(topic: topic, text: arguments, qos: .atLeastOnce))
        }
        try send("{\"duration\":100,\"fields\":[\"acceleration\",\"rotation\",\"attitude\"]}")
        #expect(await observer.sees { $0.messages("stream").count >= 30 }, "\(agent.errors)")
        try send("{\"stop\":true}")
        #expect(
            await observer.sees { try $0.objects("command/stream/result").last?["stopped"] as? Bool == true })
        let end = try #require(
            try observer.objects("command/stream/result").first { $0["done"] as? Bool == true }, "\(agent.errors)")
        #expect(end["end"] as? String == "stopped" && end["refused"] as? Int == 0, "\(end)")

        let messages = try observer.objects("stream")
        #expect(messages.count == end["messages"] as? Int)
        var next = 0
        var last = 0.0
        for (index, message) in messages.enumerated() {
            let count = try #require(message["rotation"] as? [[Double]]).count
            #expect((message["attitude"] as? [[Double]])?.count == count)
            #expect(message["seq"] as? Int == index && message["n"] as? Int == next, "\(message)")
            let time = try #require(message["t"] as? Double)
            #expect(time > last)
            // 50 Hz, but for the chip's oscillator.
            if let period = message["period"] as? Double { #expect(abs(period - 0.02) < 0.002) }
            last = time
            next += count
        }
        #expect(next == end["samples"] as? Int)
        #expect(await agent.terminate() == 0)
    }
}
