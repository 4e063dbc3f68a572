import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: what a gesture or a command asks for becomes a recording of the seconds before and after it, which the event
/// names at once; it can be listed, labelled, fetched and deleted over MQTT where the configuration permits it.
@Suite(.needsBroker) struct RecorderTests {
    private let directory = TemporaryDirectory.new()

    private func file(_ name: String) -> String { directory.path("state/recordings/\(name)") }

    private func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name)) }

    /// An agent that keeps falls, and permits everything about recordings.
    private func agent(_ trajectory: String, _ settings: String...) async throws -> AgentRig {
        try await AgentRig.measuring(
            trajectory, "commands.allow=[keep, recordings]", "recorder.on=[fall]", "recorder.seconds=9",
            "home_assistant.discovery=false", settings.first ?? "log.level=info", state: directory.path("state"))
    }

    @Test func fallAnnouncesARecording() async throws {
        let rig = try await agent("drop")
        #expect(
            await rig.observer.sees { try $0.objects("event/fall").contains { $0["phase"] as? String == "began" } },
            "\(rig.agent.errors)")
        let events = try rig.observer.objects("event/fall")
        let began = try #require(events.first { $0["phase"] as? String == "began" })
        let name = try #require(began["recording"] as? String)
        #expect(name == "recording-000001-fall.csv")
        #expect(events.allSatisfy { $0["phase"] as? String == "began" || $0["recording"] == nil })
        #expect(await eventually { exists(name) }, "\(rig.agent.errors)")

        let replay = try await jostle("replay", file(name)).expect(status: 0)
        #expect(replay.output.contains(",fall,began,"), "\(replay)")
        var lines = try String(contentsOfFile: file(name), encoding: .utf8).split(separator: "\n")
        lines.removeFirst(3)
        let length = try #require(lines.last?.split(separator: ",").first.flatMap { Double($0) })
        #expect((3...9).contains(length), "\(length)")

        try rig.send("recordings")
        #expect(await rig.replies("recordings") { $0["count"] as? Int ?? 0 >= 1 }, "\(rig.agent.errors)")
        let list = try #require(try rig.results("recordings").last?["recordings"] as? [[String: Any]])
        let entry = try #require(list.first)
        let size = try FileManager.default.attributesOfItem(atPath: file(name))[.size] as? Int
        #expect(entry["name"] as? String == name && entry["bytes"] as? Int == size && entry["labels"] == nil)

        try rig.send("recordings", "{\"label\":\"\(name)\",\"as\":\"not fall\"}")
        #expect(await rig.replies("recordings") { $0["label"] as? String == "not fall" }, "\(rig.agent.errors)")
        #expect(exists("recording-000001-fall.labels.csv"))

        try await fetch(name, size ?? 0, rig)

        try rig.send("recordings", "{\"delete\":\"\(name)\"}")
        #expect(await rig.replies("recordings") { $0["deleted"] as? String == name }, "\(rig.agent.errors)")
        #expect(!exists(name) && !exists("recording-000001-fall.labels.csv"))
        try rig.send("recordings", "{\"delete\":\"\(name)\"}")
        #expect(
            await rig.replies("recordings") {
                ($0["message"] as? String)?.contains("there is no recording \"\(name)\"") == true
            })
        #expect(await rig.agent.terminate() == 0)
    }

    /// In parts, which only the one who asks gets.
    private func fetch(_ name: String, _ size: Int, _ rig: AgentRig) async throws {
        try rig.send("recordings", "{\"fetch\":\"\(name)\"}")
        #expect(
            await rig.replies("recordings") {
                $0["error"] as? String == "bad_arguments"
                    && ($0["message"] as? String)?.contains("only to an MQTT 5 response topic") == true
            })
        var text = ""
        while text.utf8.count < size {
            let topic = "jostle/_reply/desk/\(text.utf8.count)"
            try rig.send("recordings", "{\"fetch\":\"\(name)\",\"offset\":\(text.utf8.count)}") {
                $0.properties.responseTopic = topic
            }
            #expect(await rig.observer.sees { $0.topics.contains(topic) }, "\(rig.agent.errors)")
            let message = try #require(rig.observer.all.last { $0.topic == topic })
            #expect(message.payload.count < 65_536)
            let part = try #require(try JSONSerialization.jsonObject(with: Data(message.payload)) as? [String: Any])
            #expect(part["size"] as? Int == size && part["offset"] as? Int == text.utf8.count, "\(part)")
            text += try #require(part["text"] as? String)
            #expect(part["next"] as? Int == (text.utf8.count < size ? text.utf8.count : nil))
        }
        #expect(try text == String(contentsOfFile: file(name), encoding: .utf8))
        #expect(try rig.results("recordings").allSatisfy { $0["text"] == nil })
    }

    @Test func commandKeepsWithALabel() async throws {
        let rig = try await agent("rest")
        try rig.send("keep", "{\"before\":2,\"after\":1,\"label\":\"shake\"}")
        #expect(await rig.replies("keep") { $0["done"] as? Bool == true }, "\(rig.agent.errors)")
        let answers = try rig.results("keep")
        #expect(answers.map { $0["recording"] as? String } == Array(repeating: "recording-000001-keep.csv", count: 2))
        let samples = answers.last?["samples"] as? Int ?? 0
        #expect(samples >= 50, "\(answers)")
        let replay = try await jostle("replay", file("recording-000001-keep.csv"), "--attitude", "-").expect(status: 0)
        #expect(replay.lines.count == samples + 1)
        let labels = try String(contentsOfFile: file("recording-000001-keep.labels.csv"), encoding: .utf8)
        #expect(labels.hasPrefix("start_s,end_s,label\n0,") && labels.hasSuffix(",shake\n"), "\(labels)")

        try rig.send("keep", "{\"before\":9,\"after\":1}")
        #expect(await rig.replies("keep") { $0["error"] as? String == "bad_arguments" })
        // At the end of the program, what there is is kept.
        try rig.send("keep", "{\"before\":1,\"after\":8}")
        #expect(await rig.replies("keep") { $0["recording"] as? String == "recording-000002-keep.csv" })
        #expect(await rig.agent.terminate() == 0)
        #expect(exists("recording-000002-keep.csv"))

        // The numbers go on.
        let second = try await agent("rest")
        try second.send("keep", "{\"before\":1,\"after\":0}")
        #expect(await second.replies("keep") { $0["recording"] as? String == "recording-000003-keep.csv" })
        #expect(await second.agent.terminate() == 0)
    }

    /// The same recordings on the board and from a desk, with clear errors.
    @Test func commandLineManagesRecordings() async throws {
        // A recording of several parts.
        let rig = try await agent("rest", "sensor.rate=500Hz")
        try rig.send("keep", "{\"before\":4,\"after\":5}")
        #expect(await rig.replies("keep") { $0["done"] as? Bool == true }, "\(rig.agent.errors)")
        let name = "recording-000001-keep.csv"
        let content = try String(contentsOfFile: file(name), encoding: .utf8)
        #expect(content.utf8.count > 120_000)
        let places = [
            ["--on", "dut", "--set", "mqtt.broker=mqtt://127.0.0.1:\(rig.broker.port)"], ["--set", "device.id=dut"],
        ]
        func recordings(_ place: [String], _ words: String...) async throws -> Outcome {
            try await JostleProgram(
                ["recordings"] + words + place, environment: ["STATE_DIRECTORY": directory.path("state")]
            ).outcome()
        }
        for (number, place) in places.enumerated() {
            let copy = directory.path("copy-\(number).csv")
            try await recordings(place, "fetch", name, copy).expect(status: 0, output: "jostle replay \(copy)")
            #expect(try String(contentsOfFile: copy, encoding: .utf8) == content)
            try await recordings(place, "fetch", name, copy).expect(status: 73, errors: "File exists")
            try await recordings(place, "label", name, "not shake").expect(status: 0, output: "labelled \"not shake\"")
            let list = try await recordings(place, "list").expect(status: 0)
            #expect(list.output.contains(name) && list.output.contains("not shake"), "\(list)")
            try await recordings(place, "label", name, "").expect(status: 0, output: "without a label now")
            #expect(!(try await recordings(place, "list").output.contains("not shake")))
            try await recordings(place, "label", name, "a,b").expect(status: 64, errors: "is no label")
            let missing = number == 0 ? 64 : 66
            try await recordings(place, "delete", "../../etc/passwd").expect(
                status: Int32(missing), errors: "there is no recording")
            try await recordings(place, "fetch", name).expect(status: 64, errors: "FILE is missing")
            try await recordings(place, "list", name).expect(status: 64, errors: "is too much")
            try await recordings(place, "lst").expect(status: 64, errors: "did you mean \"list\"?")
        }
        try await recordings(places[0], "delete", name).expect(status: 0, output: "deleted")
        #expect(!exists(name))
        try await recordings(places[1], "delete", name).expect(status: 66, errors: "there is no recording")
        try await recordings(places[1], "list").expect(status: 0, output: "There are no recordings in")
        #expect(await rig.agent.terminate() == 0)
    }

    @Test func recordingsAreBounded() async throws {
        let rig = try await agent("rest", "recorder.max_files=2")
        for number in 1...4 {
            try rig.send("keep", "{\"before\":1,\"after\":0\(number == 1 ? ",\"label\":\"everyday\"" : "")}")
            let name = "recording-00000\(number)-keep.csv"
            #expect(
                await rig.replies("keep") { $0["recording"] as? String == name && $0["done"] as? Bool == true },
                "\(rig.agent.errors)")
        }
        #expect((1...4).map { exists("recording-00000\($0)-keep.csv") } == [true, false, false, true])
        #expect(await rig.agent.terminate() == 0)
    }

    @Test func defaultsPermitNeither() async throws {
        let rig = try await AgentRig(state: directory.path("state"))
        for name in ["keep", "recordings"] {
            try rig.send(name)
            #expect(await rig.replies(name) { $0["error"] as? String == "not_allowed" })
        }
        // What the board keeps of what it measures is for its owner to say, whatever a home may set.
        for (key, value) in [("recorder/on", "[\"fall\"]"), ("recorder.seconds", "0")] {
            try rig.observer.publish("jostle/dut/set/\(key)", value)
        }
        #expect(
            await rig.observer.sees { observer in
                let refused = try observer.objects("config/reported").last?["refused"] as? [[String: String]] ?? []
                return Set(refused.map { $0["key"] }) == ["recorder.on", "recorder.seconds"]
                    && refused.allSatisfy { $0["reason"] == "cannot be set over MQTT" }
            }, "\(rig.observer.texts("config/reported").last ?? "")")
        #expect(try rig.observer.setting("recorder.seconds") as? String == "30 s")
        #expect(await rig.agent.terminate() == 0)
        #expect(!FileManager.default.fileExists(atPath: directory.path("state/recordings")))
    }
}
