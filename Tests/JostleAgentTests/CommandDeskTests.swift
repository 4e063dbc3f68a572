import BrokerTestSupport
import Foundation
import IMUDrivers
import JostleConfiguration
import JostleMessages
import LinuxSystem
import MosquittoClient
import MotionCore
import MotionKit
import Synchronization
import Testing

@testable import JostleAgent

/// Requirement: every command is answered, and what is asked of a device that cannot do it is refused with the reason.
@Suite(.timeLimit(.minutes(1))) struct CommandDeskTests {
    private final class Outgoing: Sendable {
        let messages = Mutex<[MQTTMessage]>([])
    }

    private let manager = MotionManager(sensor: .virtual("rest"))
    private let outgoing = Outgoing()
    private let sensor: SensorSwitch
    private let directory: TemporaryDirectory
    private let host: CommandHost
    private let desk: CommandDesk

    init() throws {
        directory = try TemporaryDirectory()
        let outgoing = outgoing
        let topics = Topics(prefix: "jostle", id: "a")
        let send: Publisher.Send = { message, _ in
            outgoing.messages.withLock { $0.append(message) }
            return true
        }
        let publisher = Publisher(
            topics: topics, publish: JostleSettings().publish, run: "f00d", isSimulated: true,
            outbox: try #require(OutboxCourier.inMemory(send)), send: send)
        let health = HealthReporter(version: "0", interval: 60, bell: try #require(WakeSignal()))
        sensor = SensorSwitch(
            manager: manager, selection: .virtual("rest"), imu: IMUSettings(), device: nil, publisher: publisher,
            health: health)
        let identity = CommandHost.Identity(
            id: "a", version: "1.2.3", stateDirectory: directory.path, isSupervised: false)
        var settings = JostleSettings()
        settings.commands.allow = JostleSettings.Command.allCases.filter { $0 != .restart }
        host = CommandHost(
            identity: identity, settings: settings, sensor: sensor,
            outlet: StreamOutlet(topic: topics.stream, send: send, backlog: { 0 }), log: Log(level: .error),
            lights: directory.path("leds"))
        desk = CommandDesk(
            topics: topics, prefix: "jostle", host: host, budget: CommandBudget(capacity: 40, rate: 0), send: send)
    }

    /// What was answered since the last command.
    private var answers: [String] {
        outgoing.messages.withLock { $0 }.map { String(decoding: $0.payload, as: UTF8.self) }
    }

    /// Sends a command, and returns the text of its answer.
    private func answer(to name: String, _ arguments: String) throws -> String {
        outgoing.messages.withLock { $0 = [] }
        desk.take(MQTTMessage(topic: "jostle/a/command/\(name)", text: arguments, qos: .atLeastOnce))
        let messages = outgoing.messages.withLock { $0 }
        #expect(messages.map(\.topic) == ["jostle/a/command/\(name)/result"])
        return String(decoding: try #require(messages.first).payload, as: UTF8.self)
    }

    @Test func aSimulationIsAcceptedAtOnceAndAnotherMeanwhileIsNot() throws {
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

    @Test func withoutASensorThatRunsThereIsNothingToCommand() throws {
        for (name, arguments) in [("simulate", "{\"movement\":\"shake\"}"), ("tare", "")] {
            let refused = try answer(to: name, arguments)
            #expect(refused.contains("\"ok\":false,\"error\":\"sensor_unavailable\""), "\(refused)")
        }
    }

    /// What is switched off is switched on again, any number of times, and who asks twice is told that it was so.
    @Test func sensingIsStoppedAndStarted() async throws {
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

    @Test func questionsAreAnswered() async throws {
        let ping = try answer(to: "ping", "")
        #expect(ping.contains("\"ok\":true,\"uptime\":0,\"version\":\"1.2.3\"}"), "\(ping)")
        let asleep = try answer(to: "get-state", "{}")
        #expect(asleep.contains("\"stopped\":true,\"sensor_state\":\"asleep\",\"gestures_open\":[]"), "\(asleep)")
        #expect(!asleep.contains("attitude\":{"))
        #expect(try sensor.start())
        defer { manager.stop() }
        #expect(await eventually { manager.state != nil })
        let awake = try answer(to: "get-state", "{}")
        #expect(awake.contains("\"sensor\":\"virtual MPU-6050 (rest)\",\"stopped\":false"), "\(awake)")
        #expect(awake.contains("\"state\":{\"t\":") && awake.contains("\"attitude\":{\"t\":"), "\(awake)")
        #expect(awake.contains("\"settings\":{\"rate\":200,\"gestures\":[\"shake\","), "\(awake)")
    }

    @Test func whatTheConfigurationLeavesOutIsNotDone() throws {
        let refused = try answer(to: "restart", "")
        #expect(refused.contains("\"ok\":false,\"error\":\"not_allowed\""), "\(refused)")
        #expect(!host.isRestartWanted)
    }

    /// Ten at once, then two a second; those beyond are told so, but not all of them.
    @Test func tooManyCommandsAreNotCarriedOut() {
        let outgoing = outgoing
        let few = CommandDesk(
            topics: Topics(prefix: "jostle", id: "a"), prefix: "jostle", host: host,
            budget: CommandBudget(capacity: 2, rate: 0)
        ) { message, _ in
            outgoing.messages.withLock { $0.append(message) }
            return true
        }
        for _ in 1...20 { few.take(MQTTMessage(topic: "jostle/a/command/ping", payload: [])) }
        #expect(answers.count { $0.contains("\"ok\":true") } == 2)
        #expect(answers.count { $0.contains("\"error\":\"too_many\"") } == 3 && answers.count == 5)
    }

    /// A light as the kernel has it.
    private func makeLight(_ name: String) throws -> (brightness: String, trigger: String) {
        try FileManager.default.createDirectory(
            atPath: directory.path("leds/\(name)"), withIntermediateDirectories: true)
        try directory.write("255\n", to: "leds/\(name)/max_brightness")
        return (
            try directory.write("7\n", to: "leds/\(name)/brightness"),
            try directory.write("none [mmc0] timer\n", to: "leds/\(name)/trigger")
        )
    }

    private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    @Test func aLightBlinksAndIsThenAsItWas() throws {
        let none = try answer(to: "identify", "")
        #expect(none.contains("\"error\":\"unavailable\",\"message\":\"this board has no status light"), "\(none)")

        _ = try makeLight("input3::capslock")
        let light = try makeLight("ACT")
        let started = try answer(to: "identify", "{\"seconds\":2}")
        #expect(started.contains("\"light\":\"ACT\",\"seconds\":2,\"done\":false}"), "\(started)")
        #expect(try text(light.trigger) == "none")
        let start = try #require(host.nextDeadline)
        host.look(at: start)
        #expect(try text(light.brightness) == "255")
        host.look(at: start.advanced(bySeconds: 0.3))
        #expect(try text(light.brightness) == "0")
        #expect(try answer(to: "identify", "").contains("\"error\":\"busy\""))
        host.look(at: start.advanced(bySeconds: 2.1))
        #expect(try text(light.brightness) == "7")
        #expect(try text(light.trigger) == "mmc0")
        #expect(answers.last?.contains("\"light\":\"ACT\",\"done\":true}") == true && host.nextDeadline == nil)

        _ = try makeLight("ACT")
        _ = try answer(to: "identify", "")
        outgoing.messages.withLock { $0 = [] }
        desk.take(MQTTMessage(topic: "jostle/a/command/identify", text: "{\"stop\":true}"))
        #expect(answers.count == 2 && answers.last?.contains("\"ok\":true,\"stopped\":true}") == true)
        #expect(try text(light.brightness) == "7")
        #expect(try text(light.trigger) == "mmc0")
        #expect(try answer(to: "identify", "{\"stop\":true}").contains("\"stopped\":false}"))
    }

    @Test func aLightThatCannotBeWrittenIsReportedWithTheCause() throws {
        let light = try makeLight("ACT")
        try FileManager.default.removeItem(atPath: light.brightness)
        try FileManager.default.createDirectory(atPath: light.brightness, withIntermediateDirectories: false)
        let refused = try answer(to: "identify", "")
        #expect(refused.contains("\(light.brightness) cannot be written: Is a directory"), "\(refused)")
    }

    @Test func aLightThatCannotBeRestoredIsReportedWithTheFirstCause() throws {
        let light = try makeLight("ACT")
        _ = try answer(to: "identify", "{\"seconds\":2}")
        let start = try #require(host.nextDeadline)
        try FileManager.default.removeItem(atPath: light.brightness)
        try FileManager.default.createDirectory(atPath: light.brightness, withIntermediateDirectories: false)
        host.look(at: start)
        #expect(host.nextDeadline != nil)
        host.look(at: start.advanced(bySeconds: 2.1))
        let last = try #require(answers.last)
        #expect(
            last.contains("\"error\":\"failed\",\"message\":\"ACT blinked and could not be restored: Is a directory\""),
            "\(last)")
        #expect(try text(light.trigger) == "mmc0")
    }

    @Test func aRecordingIsMadeInTheStateDirectoryAndNowhereElse() async throws {
        #expect(try answer(to: "record", "").contains("\"error\":\"sensor_unavailable\""))
        #expect(try sensor.start())
        defer { manager.stop() }
        #expect(await eventually { manager.state != nil })
        let refused = try answer(to: "record", "{\"file\":\"/etc/passwd\"}")
        #expect(refused.contains("record has no argument"), "\(refused)")
        let started = try answer(to: "record", "{\"seconds\":1}")
        #expect(started.contains("\"file\":\"recording-1.csv\",\"seconds\":1,\"done\":false}"), "\(started)")
        #expect(try answer(to: "record", "").contains("\"error\":\"busy\""))
        outgoing.messages.withLock { $0 = [] }
        #expect(await eventually { answers.contains { $0.contains("\"end\":\"time\",\"done\":true}") } })
        let file = try text(directory.path("recordings/recording-1.csv"))
        // Two comments and the columns' names come before the rows.
        let rows = file.split(separator: "\n").count - 3
        #expect(rows > 0 && file.hasSuffix("\n"))
        #expect(answers.contains { $0.contains("\"samples\":\(rows),\"bytes\":\(file.utf8.count),") }, "\(answers)")

        // What is under way when sensing stops ends first.
        #expect(try answer(to: "record", "{\"seconds\":600}").contains("recording-2.csv"))
        outgoing.messages.withLock { $0 = [] }
        desk.take(MQTTMessage(topic: "jostle/a/command/stop", payload: []))
        #expect(answers.first?.contains("\"end\":\"stopped\",\"done\":true}") == true, "\(answers)")
        #expect(answers.count == 2)
    }

    /// What came on the stream's topic, as JSON.
    private func streamed() throws -> [[String: Any]] {
        try outgoing.messages.withLock { $0 }.filter { $0.topic == "jostle/a/stream" }.map { message in
            #expect(message.qos == .atMostOnce && !message.retain)
            return try #require(try JSONSerialization.jsonObject(with: Data(message.payload)) as? [String: Any])
        }
    }

    @Test func samplesAreStreamedForAWhileWithoutAGap() async throws {
        #expect(try answer(to: "stream", "").contains("\"error\":\"sensor_unavailable\""))
        #expect(try sensor.start())
        defer { manager.stop() }
        #expect(await eventually { manager.state != nil })
        outgoing.messages.withLock { $0 = [] }
        desk.take(
            MQTTMessage(topic: "jostle/a/command/stream", text: "{\"fields\":[\"attitude\",\"acceleration\"]}"))
        let started = try #require(answers.first { $0.contains("\"ok\"") })
        #expect(
            started.contains("\"duration\":60,\"rate\":200,\"fields\":[\"acceleration\",\"attitude\"],\"done\":false}"),
            "\(started)")
        #expect(await eventually { (try? streamed().count) ?? 0 >= 10 })
        desk.take(MQTTMessage(topic: "jostle/a/command/stream", text: "{}"))
        #expect(answers.last?.contains("\"error\":\"busy\"") == true)
        let deadline = try #require(host.nextDeadline)
        host.look(at: deadline)
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
        host.look(at: deadline)
        #expect(host.nextDeadline == nil)
    }

    @Test func theOriginIsToldAsFarAsItIsKnown() {
        var message = MQTTMessage(topic: "x", payload: [])
        #expect(CommandDesk.origin(of: message).isEmpty)
        message.properties.userProperties = [MQTTMessage.UserProperty("from", String(repeating: "a", count: 99))]
        message.properties.responseTopic = "jostle/_reply/desk"
        message.properties.correlationData = [7, 0, 255]
        let origin = CommandDesk.origin(of: message)
        #expect(origin == " (from=\(String(repeating: "a", count: 64)), reply to jostle/_reply/desk, mark 0700ff)")
    }
}

/// Requirement: a flood of commands costs no more than so many a second.
@Suite struct CommandBudgetTests {
    @Test func soManyAtOnceThenSoManyASecond() {
        var budget = CommandBudget(capacity: 3, rate: 2)
        func spend(at seconds: Double, times: Int) -> Int {
            (0..<times).count { _ in budget.spend(at: Timestamp(seconds: seconds)) }
        }
        #expect(spend(at: 10, times: 9) == 3)
        #expect(spend(at: 10.4, times: 9) == 0)
        #expect(spend(at: 10.5, times: 9) == 1)
        #expect(spend(at: 11.5, times: 9) == 2)
        #expect(spend(at: 99, times: 9) == 3)
        #expect(spend(at: 98, times: 9) == 0)
    }
}
