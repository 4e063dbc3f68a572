import BrokerTestSupport
import Foundation
import IMUDrivers
import JostleConfiguration
import JostleMessages
import JostleRuntime
import MosquittoClient
import MotionKit
import Synchronization
import Testing

@testable import JostleAgent

/// Requirement: every command is carried out and answered, and what the device cannot do is refused with the reason.
@Suite(.timeLimit(.minutes(1))) struct CommandHostTests {
    private final class Outgoing: Sendable {
        let messages = Mutex<[MQTTMessage]>([])
    }

    private let rig = Rig()
    let manager: MotionManager
    private let outgoing = Outgoing()
    let sensor: SensorSwitch
    let directory: TemporaryDirectory
    let host: CommandHost

    init(trajectory: String = "rest") throws {
        directory = try TemporaryDirectory()
        manager = MotionManager(sensor: .virtual(trajectory))
        let outgoing = outgoing
        let topics = Topics(prefix: "jostle", id: "a")
        sensor = SensorSwitch(manager: manager, selection: .virtual(trajectory), imu: IMUSettings(), device: nil)
        let identity = CommandHost.Identity(
            id: "a", version: "1.2.3", stateDirectory: directory.path, isSupervised: false)
        var settings = JostleSettings()
        settings.commands.allow = JostleSettings.Command.allCases
        func output(_ topic: String) -> StreamOutput {
            StreamOutput(
                topic: topic,
                send: { message in
                    outgoing.messages.withLock { $0.append(message) }
                    return true
                }, backlog: { 0 })
        }
        host = CommandHost(
            identity: identity, settings: settings, sensor: sensor, output: output(topics.stream),
            nearMisses: NearMissPublisher(manager: manager, output: output(topics.nearMiss), isSimulated: true),
            log: Log(level: .error, keepsLines: true),
            lights: directory.path("leds")
        ) { messages in
            outgoing.messages.withLock { $0 += messages }
        }
    }

    /// Starts the sensor, which stops at the end of the test, and waits for its first state.
    private func startSensing() async throws {
        #expect(try sensor.start())
        rig.atEnd { [manager] in manager.stop() }
        #expect(await eventually { manager.state != nil })
    }

    /// Parses a command and carries it out, as the loop does.
    func take(_ message: MQTTMessage) {
        var handler = CommandHandler(
            topics: Topics(prefix: "jostle", id: "a"), prefix: "jostle", allowed: JostleSettings.Command.allCases)
        for effect in handler.handle(.message(message), at: .now()) {
            switch effect {
            case .publish(let message, _): outgoing.messages.withLock { $0.append(message) }
            case .request(.carryOut(let request)): host.carryOut(request)
            case .subscribe, .unsubscribe, .write, .log: break
            }
        }
    }

    /// The replies since the last command.
    var answers: [String] {
        outgoing.messages.withLock { $0 }.map { String(decoding: $0.payload, as: UTF8.self) }
    }

    /// Sends a command, and returns the text of its reply.
    func answer(to name: String, _ arguments: String) throws -> String {
        outgoing.messages.withLock { $0 = [] }
        take(MQTTMessage(topic: "jostle/a/command/\(name)", text: arguments, qos: .atLeastOnce))
        let messages = outgoing.messages.withLock { $0 }
        #expect(messages.map(\.topic) == ["jostle/a/command/\(name)/result"])
        return String(decoding: try #require(messages.first).payload, as: UTF8.self)
    }

    /// Requirement: the last lines of the log can be asked for; their number, length and bytes are bounded.
    @Test func answersWithTheLastLinesOfItsLog() throws {
        func lines() throws -> [[String: Any]] {
            let answer = try answer(to: "log", "")
            #expect(answer.utf8.count < 65_536)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any])
            #expect(object["ok"] as? Bool == true)
            return try #require(object["lines"] as? [[String: Any]])
        }
        #expect(try lines().isEmpty)
        host.log.warning("not at this level")
        host.log.with(device: "a").error("one\u{1b}[2J")
        let one = try #require(try lines().first)
        #expect(one["text"] as? String == "one\\u{1b}[2J" && one["level"] as? String == "error")
        #expect(abs((one["t"] as? Double ?? 0) / 1000 - Date().timeIntervalSince1970) < 60)
        for number in 2...300 { host.log.error("\(number)") }
        #expect(try lines().map { $0["text"] as? String } == (101...300).map { "\($0)" })
        // Each character needs two bytes in JSON.
        for _ in 0..<300 { host.log.error(String(repeating: "\"", count: 600)) }
        host.log.error("last")
        let long = try lines()
        #expect(long.count > 50 && long.last?["text"] as? String == "last")
        #expect((long.first?["text"] as? String)?.count == 501)
    }

    @Test func acceptsOneSimulationAtATime() throws {
        #expect(try sensor.start())
        defer { manager.stop() }
        let accepted = try answer(to: "simulate", "{\"movement\":\"shake\"}")
        #expect(accepted.contains("\"ok\":true,\"movement\":\"shake\",\"count\":1,\"seconds\":3."), "\(accepted)")
        let refused = try answer(to: "simulate", "{\"movement\":\"tap\"}")
        #expect(
            refused.contains("\"ok\":false,\"error\":\"busy\",\"message\":\"shake is being simulated"), "\(refused)")
        let unknown = try answer(to: "simulate", "{\"movement\":\"moonwalk\"}")
        #expect(unknown.contains("\"error\":\"bad_arguments\"") && unknown.contains("double-tap"), "\(unknown)")
    }

    @Test func refusesCommandsWithoutRunningSensor() throws {
        for (name, arguments) in [("simulate", "{\"movement\":\"shake\"}"), ("tare", "")] {
            let refused = try answer(to: name, arguments)
            #expect(refused.contains("\"ok\":false,\"error\":\"sensor_unavailable\""), "\(refused)")
        }
    }

    /// Sensing can be stopped and started repeatedly; a command without effect reports so.
    @Test func stopsAndStartsSensing() async throws {
        #expect(sensor.isStopped && sensor.title == nil)
        defer { manager.stop() }
        for _ in 1...3 {
            #expect(try answer(to: "start", "").contains("\"ok\":true,\"stopped\":false,\"changed\":true}"))
            #expect(try answer(to: "start", "{}").contains("\"stopped\":false,\"changed\":false}"))
            #expect(await eventually { manager.state != nil })
            #expect(try answer(to: "stop", "{}").contains("\"ok\":true,\"stopped\":true,\"changed\":true}"))
            #expect(try answer(to: "stop", "").contains("\"stopped\":true,\"changed\":false}"))
            #expect(!manager.isRunning && manager.lastSensorStatus?.state == .asleep)
            let refused = try answer(to: "tare", "")
            #expect(refused.contains("\"error\":\"sensor_unavailable\",\"message\":\"sensing is stopped"), "\(refused)")
        }
        let refused = try answer(to: "stop", "{\"for\":5}")
        #expect(refused.contains("stop has no argument \\\"for\\\"; it has none"), "\(refused)")
    }

    @Test func answersPingAndGetState() async throws {
        let ping = try answer(to: "ping", "")
        #expect(ping.contains("\"ok\":true,\"uptime\":0,\"version\":\"1.2.3\"}"), "\(ping)")
        let asleep = try answer(to: "get-state", "{}")
        #expect(asleep.contains("\"stopped\":true,\"sensor_state\":\"asleep\",\"gestures_open\":[]"), "\(asleep)")
        #expect(!asleep.contains("attitude\":{"))
        try await startSensing()
        let awake = try answer(to: "get-state", "{}")
        #expect(awake.contains("\"sensor\":\"virtual MPU-6050 (rest)\",\"stopped\":false"), "\(awake)")
        #expect(awake.contains("\"state\":{\"t\":") && awake.contains("\"attitude\":{\"t\":"), "\(awake)")
        #expect(awake.contains("\"settings\":{\"rate\":200,\"gestures\":[\"shake\","), "\(awake)")
    }

    @Test func refusesRestartWithoutSupervisor() throws {
        let refused = try answer(to: "restart", "")
        #expect(refused.contains("\"ok\":false,\"error\":\"unavailable\""), "\(refused)")
        #expect(!host.isRestartWanted)
    }

    /// Creates an LED directory like the kernel's.
    func makeLight(_ name: String) throws -> (brightness: String, trigger: String) {
        try FileManager.default.createDirectory(
            atPath: directory.path("leds/\(name)"), withIntermediateDirectories: true)
        try directory.write("255\n", to: "leds/\(name)/max_brightness")
        return (
            try directory.write("7\n", to: "leds/\(name)/brightness"),
            try directory.write("none [mmc0] timer\n", to: "leds/\(name)/trigger")
        )
    }

    private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    @Test func blinksLightAndRestoresIt() throws {
        let none = try answer(to: "identify", "")
        #expect(none.contains("\"error\":\"unavailable\",\"message\":\"this board has no status LED"), "\(none)")

        _ = try makeLight("input3::capslock")
        let light = try makeLight("ACT")
        let started = try answer(to: "identify", "{\"seconds\":2}")
        #expect(started.contains("\"light\":\"ACT\",\"seconds\":2,\"done\":false}"), "\(started)")
        #expect(try text(light.trigger) == "none")
        let start = try #require(host.nextDeadline)
        host.advanceJobs(to: start)
        #expect(try text(light.brightness) == "255")
        host.advanceJobs(to: start.advanced(bySeconds: 0.3))
        #expect(try text(light.brightness) == "0")
        #expect(try answer(to: "identify", "").contains("\"error\":\"busy\""))
        host.advanceJobs(to: start.advanced(bySeconds: 2.1))
        #expect(try text(light.brightness) == "7")
        #expect(try text(light.trigger) == "mmc0")
        #expect(answers.last?.contains("\"light\":\"ACT\",\"done\":true}") == true && host.nextDeadline == nil)

        _ = try makeLight("ACT")
        _ = try answer(to: "identify", "")
        outgoing.messages.withLock { $0 = [] }
        take(MQTTMessage(topic: "jostle/a/command/identify", text: "{\"stop\":true}"))
        #expect(answers.count == 2 && answers.last?.contains("\"ok\":true,\"stopped\":true}") == true)
        #expect(try text(light.brightness) == "7")
        #expect(try text(light.trigger) == "mmc0")
        #expect(try answer(to: "identify", "{\"stop\":true}").contains("\"stopped\":false}"))
    }

    @Test func reportsLightThatCannotBeWritten() throws {
        let light = try makeLight("ACT")
        try FileManager.default.removeItem(atPath: light.brightness)
        try FileManager.default.createDirectory(atPath: light.brightness, withIntermediateDirectories: false)
        let refused = try answer(to: "identify", "")
        #expect(refused.contains("cannot write \(light.brightness): Is a directory"), "\(refused)")
    }

    @Test func reportsFirstFailureToRestoreLight() throws {
        let light = try makeLight("ACT")
        _ = try answer(to: "identify", "{\"seconds\":2}")
        let start = try #require(host.nextDeadline)
        try FileManager.default.removeItem(atPath: light.brightness)
        try FileManager.default.createDirectory(atPath: light.brightness, withIntermediateDirectories: false)
        host.advanceJobs(to: start)
        #expect(host.nextDeadline != nil)
        host.advanceJobs(to: start.advanced(bySeconds: 2.1))
        let last = try #require(answers.last)
        #expect(
            last.contains("\"error\":\"failed\",\"message\":\"ACT blinked and could not be restored: Is a directory\""),
            "\(last)")
        #expect(try text(light.trigger) == "mmc0")
    }

    @Test func recordsOnlyIntoStateDirectory() async throws {
        #expect(try answer(to: "record", "").contains("\"error\":\"sensor_unavailable\""))
        try await startSensing()
        let refused = try answer(to: "record", "{\"file\":\"/etc/passwd\"}")
        #expect(refused.contains("record has no argument"), "\(refused)")
        take(MQTTMessage(topic: "jostle/a/command/record", text: "{\"seconds\":1}"))
        #expect(await eventually { answers.contains { $0.contains("\"done\":false") } })
        let started = try #require(answers.last)
        #expect(started.contains("\"file\":\"recording-1.csv\",\"seconds\":1,\"done\":false}"), "\(started)")
        #expect(try answer(to: "record", "").contains("\"error\":\"busy\""))
        outgoing.messages.withLock { $0 = [] }
        #expect(
            await eventually { answers.contains { $0.contains("\"end\":\"time\",\"done\":true}") } }, "\(answers)")
        let file = try text(directory.path("recordings/recording-1.csv"))
        // The rows follow the sensor, its two ranges and the header.
        let rows = file.split(separator: "\n").count - 4
        #expect(file.hasPrefix("# sensor: MPU-6050\n"))
        #expect(rows > 0 && file.hasSuffix("\n"))
        #expect(answers.contains { $0.contains("\"samples\":\(rows),\"bytes\":\(file.utf8.count),") }, "\(answers)")

        // Stopping the sensor ends running jobs first.
        outgoing.messages.withLock { $0 = [] }
        take(MQTTMessage(topic: "jostle/a/command/record", text: "{\"seconds\":600}"))
        #expect(await eventually { answers.contains { $0.contains("recording-2.csv") } })
        outgoing.messages.withLock { $0 = [] }
        take(MQTTMessage(topic: "jostle/a/command/stop", payload: []))
        #expect(answers.first?.contains("\"end\":\"stopped\",\"done\":true}") == true, "\(answers)")
        #expect(answers.count == 2)
    }

    /// The messages on the stream's topic, as JSON.
    private func streamed() throws -> [[String: Any]] {
        try outgoing.messages.withLock { $0 }.filter { $0.topic == "jostle/a/stream" }.map { message in
            #expect(message.qos == .atMostOnce && !message.retain)
            return try #require(try JSONSerialization.jsonObject(with: Data(message.payload)) as? [String: Any])
        }
    }

    @Test func streamsSamplesWithoutGap() async throws {
        #expect(try answer(to: "stream", "").contains("\"error\":\"sensor_unavailable\""))
        try await startSensing()
        outgoing.messages.withLock { $0 = [] }
        take(
            MQTTMessage(topic: "jostle/a/command/stream", text: "{\"fields\":[\"attitude\",\"acceleration\"]}"))
        let started = try #require(answers.first { $0.contains("\"ok\"") })
        #expect(
            started.contains(
                "\"duration\":60,\"rate\":200,\"fields\":[\"acceleration\",\"attitude\"],\"interval\":0.1,"
                    + "\"done\":false}"),
            "\(started)")
        #expect(await eventually { (try? streamed().count) ?? 0 >= 10 })
        take(MQTTMessage(topic: "jostle/a/command/stream", text: "{}"))
        #expect(answers.last?.contains("\"error\":\"busy\"") == true)
        let deadline = try #require(host.nextDeadline)
        host.advanceJobs(to: deadline)
        let end = try #require(answers.last)
        #expect(end.contains("\"refused\":0,") && end.contains("\"end\":\"time\",\"done\":true}"), "\(end)")

        let messages = try streamed()
        var next = 0
        for (index, message) in messages.enumerated() {
            let rows = try #require(message["acceleration"] as? [[Double]])
            #expect(message["seq"] as? Int == index && message["n"] as? Int == next && message["rotation"] == nil)
            #expect((message["attitude"] as? [[Double]])?.count == rows.count && rows.allSatisfy { $0.count == 3 })
            #expect(rows.allSatisfy { abs($0[2] - 9.8) < 1 })
            next += rows.count
        }
        #expect(end.contains("\"messages\":\(messages.count),\"refused\":0,\"samples\":\(next),"), "\(end)")
        host.advanceJobs(to: deadline)
        #expect(host.nextDeadline == nil)
    }

    /// A viewer renews its stream. The end never moves to an earlier time, and the first requester gets the totals.
    @Test func extendsStreamWithSameArguments() async throws {
        try await startSensing()
        let arguments = "\"rate\":100,\"fields\":[\"rotation\",\"acceleration\"],\"interval\":0.02"
        func send(_ text: String) -> String? {
            let count = results.count
            take(MQTTMessage(topic: "jostle/a/command/stream", text: text, qos: .atLeastOnce))
            return results.count == count + 1 ? results.last : nil
        }
        let started = try #require(send("{\"duration\":20,\(arguments)}"))
        let facts = "\"rate\":100,\"fields\":[\"acceleration\",\"rotation\"],\"interval\":0.02"
        #expect(started.hasSuffix("\"duration\":20,\(facts),\"done\":false}"), "\(started)")
        let first = try #require(host.nextDeadline)

        let extended = try #require(send("{\"duration\":30,\(arguments)}"))
        #expect(extended.hasSuffix("\"ok\":true,\"duration\":30,\(facts),\"extended\":true}"), "\(extended)")
        let second = try #require(host.nextDeadline)
        #expect((9.9...30).contains(second.seconds(since: first)), "\(second.seconds(since: first))")
        #expect(send("{\"duration\":1,\(arguments)}")?.contains("\"extended\":true") == true)
        #expect(host.nextDeadline == second)

        for other in [
            "", "{}", "{\"rate\":50,\"interval\":0.02}", "{\"rate\":100,\"interval\":0.1}",
            "{\"rate\":100,\"interval\":0.02,\"fields\":[\"rotation\"]}",
        ] {
            #expect(send(other)?.contains("\"error\":\"busy\"") == true, "\(other)")
        }
        #expect(host.nextDeadline == second)

        host.advanceJobs(to: first)
        #expect(host.nextDeadline == second)
        host.advanceJobs(to: second)
        #expect(host.nextDeadline == nil)
        #expect(results.filter { $0.contains("\"done\":true") }.count == 1)
        #expect(send("{\"duration\":20,\(arguments)}")?.contains("\"done\":false") == true)
        #expect(host.stop(.stream).description == #"{"stopped":true}"#)
    }

    /// Near misses are published while the stream runs that asked for them, and a stream without them is another one.
    @Test func streamAsksForNearMisses() async throws {
        try await startSensing()
        func send(_ text: String) { take(MQTTMessage(topic: "jostle/a/command/stream", text: text)) }
        send("{}")
        #expect(!host.nearMisses.isActive && results.last?.contains("near_misses") == false)
        send("{\"near_misses\":true}")
        #expect(results.last?.contains("\"error\":\"busy\"") == true && !host.nearMisses.isActive)
        #expect(host.stop(.stream).description == #"{"stopped":true}"#)
        send("{\"near_misses\":true}")
        #expect(host.nearMisses.isActive)
        #expect(results.last?.contains("\"near_misses\":true,\"done\":false}") == true, "\(results)")
        send("{\"near_misses\":true}")
        #expect(results.last?.contains("\"near_misses\":true,\"extended\":true}") == true, "\(results)")
        send("{\"near_misses\":false}")
        #expect(results.last?.contains("\"error\":\"busy\"") == true && host.nearMisses.isActive)
        #expect(host.stop(.stream).description == #"{"stopped":true}"#)
        #expect(!host.nearMisses.isActive)
    }

    /// The results of `stream` so far.
    var results: [String] {
        outgoing.messages.withLock { $0 }.filter { $0.topic == "jostle/a/command/stream/result" }
            .map { String(decoding: $0.payload, as: UTF8.self) }
    }

    @Test func logsExtensionAsRepetition() async throws {
        func stream(_ text: String) throws -> any RemoteCommand { try RemoteCommands.read("stream", Array(text.utf8)) }
        try await startSensing()
        let command = try stream("{\"interval\":0.02}")
        #expect(!command.isRepetition(on: host))
        take(MQTTMessage(topic: "jostle/a/command/stream", text: "{\"interval\":0.02}"))
        #expect(command.isRepetition(on: host))
        let others = [try stream("{}"), try stream("{\"stop\":true}")]
        #expect(others.allSatisfy { !$0.isRepetition(on: host) })
        #expect(host.stop(.stream).description == #"{"stopped":true}"#)
        #expect(!command.isRepetition(on: host))
    }
}
