import BrokerTestSupport
import Foundation
import Testing

/// Requirement: `jostle learn` makes a gesture of recordings, says what it thinks of them, and refuses what will not work;
/// `jostle replay --gesture` finds it in others.
@Suite(.needsProgram) struct LearnTests {
    private let directory = TemporaryDirectory.new()

    /// A board that is turned to and fro about x between two rests; `wide` scales the angle, `slow` the time, and `first` is the
    /// axis of the first half.
    private func recording(_ name: String, wide: Double = 1, slow: Double = 1, about first: Int = 0) throws -> String {
        var text = Recording.header + "\n"
        let half = 0.5 * slow
        for index in 0..<Int(100 * (3 + 2 * half)) {
            let time = Double(index) / 100 - 1.5
            let phase = min(max(time, 0), 2 * half)
            // The angle and its rate: there and back.
            let part = phase < half ? phase / half : (2 * half - phase) / half
            let angle = wide * 1.2 * 0.5 * (1 - cos(.pi * part))
            let isMoving = time > 0 && time < 2 * half
            let speed = isMoving ? wide * 1.2 * 0.5 * .pi / half * sin(.pi * part) * (phase < half ? 1 : -1) : 0
            let rate = first == 0 ? [speed, 0, 0] : [0, 0, speed]
            let (y, z) = first == 0 ? (9.80665 * sin(angle), 9.80665 * cos(angle)) : (0, 9.80665)
            text += String(format: "%.3f,0,%.5f,%.5f,%.5f,0,%.5f\n", time + 1.5, y, z, rate[0], rate[2])
        }
        return try directory.write(text, to: name)
    }

    private func learn(_ name: String, _ files: [String], _ more: String...) async throws -> Outcome {
        let from = files.flatMap { ["--from", $0] }
        return try await JostleProgram(
            ["learn", name] + from + ["--output", directory.path("\(name).gesture")] + more
        ).outcome()
    }

    private func examples() throws -> [String] {
        try [(1.0, 1.0), (1.1, 0.95), (0.95, 1.05)].enumerated().map {
            try recording("\($0).csv", wide: $1.0, slow: $1.1)
        }
    }

    @Test func learnsAndFindsAgain() async throws {
        let files = try examples()
        let test = try recording("test.csv", wide: 1.03)
        let other = try recording("other.csv", about: 2)
        try await learn("nod", files, "--check", test, "--check", other).expect(
            status: 0, output: "\(files[0]): ", " s, ", "Learned from 3 examples, threshold 0.", "\(test): nod at ",
            "\(other): no nod")
        let gesture = directory.path("nod.gesture")
        let rows = try await jostle("replay", test, "--gesture", gesture).expect(status: 0).lines.filter {
            $0.contains(",nod,recognized,")
        }
        #expect(rows.count == 1)
        try await jostle("replay", test, "--gesture", gesture, "--explain").expect(
            status: 0, output: "nod recognized, ", "confidence 0.8", "from example ", "(shape ")
        let without = try await jostle("replay", other, "--gesture", gesture).expect(status: 0)
        #expect(!without.output.contains("nod"))
        // Nothing else changes.
        let plain = try await jostle("replay", test).expect(status: 0)
        let with = try await jostle("replay", test, "--gesture", gesture).expect(status: 0)
        #expect(plain.lines == with.lines.filter { !$0.contains(",nod,") })
    }

    @Test func whatIsLikeTheBackgroundIsNot() async throws {
        let files = try examples()
        let background = try recording("background.csv", wide: 0.75, slow: 1.2)
        let test = try recording("test.csv", wide: 0.76, slow: 1.2)
        try await learn("nod", files, "--check", test).expect(status: 0, output: "\(test): nod at ")
        for option in ["--background", "--not"] {
            try await learn("nod", files, option, background, "--check", test).expect(
                status: 0, output: "\(test): no nod")
        }
    }

    @Test func refusesWhatWillNotWork() async throws {
        let files = try examples()
        let still = try directory.write(
            Recording.header + "\n" + (0..<300).map { "\(Double($0) / 100),0,0,9.80665,0,0,0\n" }.joined(),
            to: "still.csv")
        try await learn("nod", [files[0], still]).expect(status: 65, errors: "still.csv: no movement between two rests")
        let other = try recording("other.csv", slow: 0.4, about: 2)
        try await learn("nod", [files[0], other]).expect(status: 65, errors: "too little in common")
        try await learn("nod", [files[0]]).expect(status: 64, errors: "1 examples")
        for name in ["shake", "any", "Nod", "9"] {
            try await learn(name, files).expect(status: 64, errors: name)
        }
        try await learn("nod", files + [directory.path("missing.csv")]).expect(status: 66, errors: "missing.csv")
        try await jostle("replay", files[0], "--gesture", files[1]).expect(
            status: 65, errors: "line 1: no part of a gesture")
        try await jostle("replay", files[0], "--gesture", directory.path("none")).expect(status: 66, errors: "none")
    }

    @Test func saysWhatIsWrongWithExamples() async throws {
        var files = try examples()
        files.append(try recording("weak.csv", wide: 0.25))
        try await learn("nod", files).expect(
            status: 0, output: "weak.csv: ", "weak: move wider or faster", "unlike the others")
    }

    /// An agent with the gesture: events, rules, Home Assistant, simulation, settings over MQTT.
    @Test(.needsBroker) func theAgentRecognisesIt() async throws {
        try await learn("nod", try examples()).expect(status: 0)
        let gesture = directory.path("nod.gesture")
        let rig = try await AgentRig(
            try recording("test.csv", wide: 1.03), "gestures.learned.nod.template=\(gesture)", "sensor.rate=100Hz",
            "actions=[{on: nod, publish: {topic: lamp, payload: '${gesture} ${confidence}'}}]",
            "settings.allow=[gestures]",
            "home_assistant.discovery_form=component")
        let (observer, agent) = (rig.observer, rig.agent)
        #expect(await observer.sees { !$0.messages("event/nod").isEmpty }, "\(agent.errors)")
        let event = try #require(try observer.objects("event/nod").first)
        #expect(event["gesture"] as? String == "nod" && event["phase"] as? String == "recognized", "\(event)")
        #expect((0.5...1).contains(event["confidence"] as? Double ?? 0) && event["strength"] != nil, "\(event)")
        #expect(await observer.sees { $0.all.contains { $0.topic == "lamp" } })
        let rule = try #require(observer.all.first { $0.topic == "lamp" })
        #expect(String(decoding: rule.payload, as: UTF8.self).hasPrefix("nod 0."))

        let report = try #require(try observer.objects("config/reported").last)
        let text = "\(report)"
        #expect(text.contains("bytes, checksum ") && !text.contains("jostle gesture 1"))
        #expect(
            await observer.sees {
                $0.all.contains {
                    $0.topic.hasPrefix("homeassistant/")
                        && String(decoding: $0.payload, as: UTF8.self).contains("nod_enabled")
                }
            })

        try rig.send("simulate", #"{"movement":"nod"}"#)
        #expect(await observer.sees { try $0.objects("event/nod").contains { $0["simulated"] as? Bool == true } })
        try rig.send("simulate", #"{"movement":"bow"}"#)
        #expect(
            await rig.replies("simulate") {
                ($0["message"] as? String)?.contains("machine, nod") == true || "\($0)".contains("nod")
            })

        try observer.publish("jostle/dut/set/gestures.learned.nod.enabled", "false")
        #expect(
            await observer.sees {
                "\((try $0.objects("config/reported").last) ?? [:])".contains("gestures.learned.nod.enabled")
            })
        try observer.publish("jostle/dut/set/gestures.learned.nod.template", "x")
        #expect(
            await observer.sees { "\((try $0.objects("config/reported").last) ?? [:])".contains("use jostle learn") })
        #expect(await agent.terminate() == 0)
    }
}
