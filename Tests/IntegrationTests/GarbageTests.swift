import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: whatever arrives on the agent's topics, the settings in force do not change, every message is refused
/// and accounted for in the log, memory does not grow, and the next shake is recognised.
///
/// `JOSTLE_GARBAGE_MESSAGES=1000` makes it a long test: so many messages on each topic, after which memory is checked.
@Suite(.needsBroker) struct GarbageTests {
    private let rig = Rig()

    private static let keys = [
        "gestures.shake.sensitivity", "gestures.shake.enabled", "publish.attitude.rate", "attitude.low_pass",
        "mqtt.broker", "gestures", "x",
    ]
    private static let commands = [
        "ping", "get-state", "identify", "tare", "simulate", "start", "stop", "stream", "record", "calibrate",
        "restart",
        "explode",
    ]

    private var generator = SystemRandomNumberGenerator()

    /// The garbage payload with this number: neither a value of any key nor arguments of any command.
    private mutating func payload(_ number: Int) -> [UInt8] {
        switch number % 8 {
        case 0: [0x80] + (0..<(number % 300)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
        case 1: Array((String(repeating: "[", count: 1 + number % 900)).utf8)
        case 2: Array((String(repeating: "{\"a\":", count: 700) + "1" + String(repeating: "}", count: 700)).utf8)
        case 3: Array("{\"seconds\":{\"x\":[]},\"movement\":17,\"no_such_name\":null}".utf8)
        case 4: Array("\"".utf8) + [0xC3, 0x28, 0xFF] + Array("\"".utf8)
        case 5: Array("[1, true, null".utf8)
        case 6: Array("{\"seconds\": 1e999, \"seconds\": -1}".utf8)
        // The maximum size that the agent accepts; rare, because the observer keeps every message.
        default: [UInt8](repeating: number % 64 == 7 ? 0x5B : 0x22, count: number % 64 == 7 ? 1_000_000 : 5000)
        }
    }

    /// Sends so many messages to each topic, and returns how many the log must account for.
    private mutating func send(_ count: Int, to observer: Observer) async throws -> Int {
        var sent = 0
        for number in 0..<count {
            let key = Self.keys[number % Self.keys.count]
            let command = Self.commands[number % Self.commands.count]
            let topics = [
                "jostle/dut/set/\(key)", "jostle/dut/command/\(command)", "homeassistant/status",
                "homeassistant/sensor/dut/x\(number % 10)/config",
            ]
            for topic in topics {
                // An empty payload is valid for both: it resets a key, and it means no arguments to a command.
                let isEmpty = number % 31 == 30 && !topic.contains("/command/")
                let message = MQTTMessage(
                    topic: topic, payload: isEmpty ? [] : payload(number), qos: .atLeastOnce,
                    retain: number.isMultiple(of: 5) && !topic.hasSuffix("status"))
                while (try? observer.publish(message)) == nil { try await Task.sleep(for: .milliseconds(5)) }
            }
            sent += 2
            // As a document on a section, payload 3 has three values, each refused on its own.
            if key == "gestures", number % 8 == 3, !number.isMultiple(of: 5) { sent += 2 }
        }
        return sent
    }

    /// The number of messages that the agent's log accounts for.
    private static func loggedCount(by agent: JostleProgram) -> Int {
        agent.errors.split(separator: "\n").reduce(0) { sum, line in
            if line.contains(" not set: ") || line.contains(", no longer set") { return sum + 1 }
            if line.contains("command ") && line.contains(" refused: ") { return sum + 1 }
            guard let start = line.range(of: "too many messages: ") else { return sum }
            let numbers = line[start.upperBound...].split(whereSeparator: { !$0.isNumber }).compactMap { Int($0) }
            return sum + numbers.reduce(0, +)
        }
    }

    @Test(.timeLimit(.minutes(20))) mutating func garbageChangesNothing() async throws {
        let count = Int(ProcessInfo.processInfo.environment["JOSTLE_GARBAGE_MESSAGES"] ?? "") ?? 100
        let broker = try await rig.broker(settings: "allow_anonymous true\nmax_queued_messages 0")
        let observer = try await Observer(broker.port)
        // Values and commands that would be accepted if they were not retained.
        let retained = [("set/gestures.shake.enabled", "false"), ("set/attitude.low_pass", "2"), ("command/stop", "")]
        for (topic, text) in retained {
            try observer.publish("jostle/dut/" + topic, text.isEmpty ? "{}" : text, retain: true)
        }
        #expect(await observer.sees { $0.topics.count == 3 })
        let directory = try TemporaryDirectory()
        let agent = try rig.agent(
            broker: broker.port,
            ["sensor.driver=virtual", "sensor.trajectory=rest", "sensor.rate=50Hz", "log.level=info"],
            state: directory.path("state"), seconds: 1200)
        #expect(await observer.sees { !$0.messages("config/reported").isEmpty }, "\(agent.errors)")
        #expect(await eventually { Self.loggedCount(by: agent) == retained.count }, "\(agent.errors)")
        try await observer.catchUp()
        let before = try #require(try observer.objects("config/reported").last)

        // Lets buffers and caches reach their size.
        var sent = retained.count + (try await send(count, to: observer))
        #expect(
            await eventually { Self.loggedCount(by: agent) >= sent },
            "\(agent.errors.suffix(3000))")
        let warm = try residentMemory(of: agent.processIdentifier)
        sent += try await send(count, to: observer)
        #expect(
            await eventually { Self.loggedCount(by: agent) >= sent },
            "\(agent.errors.suffix(3000))")
        #expect(Self.loggedCount(by: agent) == sent)
        let memory = try residentMemory(of: agent.processIdentifier)
        print("garbage: \(sent) values and commands refused, memory \(warm / 1024) KiB, then \(memory / 1024) KiB")
        if count >= 1000 { #expect(memory - warm < 1_048_576) }

        let after = try #require(try observer.objects("config/reported").last)
        #expect(after["settings"] as? NSDictionary == before["settings"] as? NSDictionary)
        #expect(after["origins"] as? NSDictionary == before["origins"] as? NSDictionary)
        let refused = try #require(after["refused"] as? [[String: String]])
        #expect(!refused.isEmpty && refused.allSatisfy { $0["reason"]?.isEmpty == false })

        let shake = MQTTMessage(
            topic: "jostle/dut/command/simulate", text: "{\"movement\":\"shake\"}", qos: .atLeastOnce)
        for _ in 0..<20 where try observer.events("shake").isEmpty {
            try observer.publish(shake)
            _ = await observer.sees(within: .seconds(2)) { try $0.events("shake").count == 2 }
        }
        #expect(
            await observer.sees { try $0.events("shake").contains { $0.phase == "ended" } },
            "\(agent.errors.suffix(900))")
        #expect(await agent.terminate() == 0)
        let kept = try? String(contentsOfFile: directory.path("state/local-settings.json"), encoding: .utf8)
        #expect(kept == nil || kept == "{}\n")
    }

    /// Neither memory nor stack depth may grow with the number of messages.
    @Test(.timeLimit(.minutes(5))) func survivesTensOfThousandsOfMessages() async throws {
        let broker = try await rig.broker(settings: "allow_anonymous true\nmax_queued_messages 0")
        let observer = try await Observer(broker.port)
        let agent = try rig.virtualAgent(broker: broker.port, "rest")
        #expect(await observer.availability("online"), "\(agent.errors)")
        for _ in 0..<40_000 {
            let message = MQTTMessage(topic: "homeassistant/status", text: "x", qos: .atLeastOnce)
            while (try? observer.publish(message)) == nil { try await Task.sleep(for: .milliseconds(2)) }
        }
        #expect(await observer.sees { $0.topics.count > 40_000 })
        let ping = MQTTMessage(topic: "jostle/dut/command/ping", text: "", qos: .atLeastOnce)
        // What arrives while the flood lasts is discarded.
        var pings = 0
        while pings < 20, observer.messages("command/ping/result").isEmpty {
            pings += 1
            try observer.publish(ping)
            _ = await observer.sees(within: .seconds(3)) { !$0.messages("command/ping/result").isEmpty }
        }
        let answers = observer.messages("command/ping/result").count
        #expect((1...pings).contains(answers), "\(agent.errors.suffix(900))")
        #expect(await agent.terminate() == 0)
    }
}
