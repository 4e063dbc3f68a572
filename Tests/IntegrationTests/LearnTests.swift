import BrokerTestSupport
import Foundation
import Testing

/// Requirement: `jostle learn` makes a gesture of recordings or of what is shown to the sensor, says what it thinks of them, and
/// refuses what will not work; `jostle replay --gesture` finds it in others.
@Suite(.needsProgram) struct LearnTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    private func recording(_ name: String, wide: Double = 1, slow: Double = 1, about first: Int = 0) throws -> String {
        try directory.write(ShownMovement(wide: wide, slow: slow, first: first).recording, to: name)
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

    // MARK: Where it goes

    @Test func doesNotReplaceWhatIsNotNamed() async throws {
        let files = try examples().flatMap { ["--from", $0] }
        let run = { (options: [String]) in
            try await JostleProgram(
                ["learn", "nod"] + files + options, launcher: ["env", "-C", self.directory.path("")]
            ).outcome()
        }
        let first = try await run([]).expect(
            status: 0, output: "Written to nod.gesture. For ", "nod: { template: \(directory.path("nod.gesture")) }")
        #expect(first.errors.isEmpty)
        try await run([]).expect(status: 73, errors: "nod.gesture exists", "--more nod.gesture", "--force")
        try await run(["--force"]).expect(status: 0, output: "Written to nod.gesture")
        let plain = try await run(["--output", "-"]).expect(status: 0, output: "jostle gesture 1\n")
        #expect(plain.output.hasPrefix("jostle gesture 1\n"))
        #expect(try String(contentsOfFile: directory.path("nod.gesture"), encoding: .utf8) == plain.output)
    }

    /// Recordings of the board's recorder, of which somebody has said what they show.
    @Test func learnsFromLabelledRecordings() async throws {
        let state = directory.path("state/recordings")
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
        let labels = ["nod", "nod", "nod", "not nod", "shake"]
        let wides = [1, 1.1, 0.95, 0.75, 1.05]
        for (number, (label, wide)) in zip(labels, wides).enumerated() {
            let path = "\(state)/recording-00000\(number + 1)-keep"
            try ShownMovement(wide: wide).recording.write(toFile: "\(path).csv", atomically: true, encoding: .utf8)
            try "start_s,end_s,label\n0,4,\(label)\n".write(
                toFile: "\(path).labels.csv", atomically: true, encoding: .utf8)
        }
        let learn = { (name: String) in
            try await JostleProgram(
                ["learn", name, "--labelled", "--output", self.directory.path("\(name).gesture")],
                launcher: ["env", "STATE_DIRECTORY=\(self.directory.path("state"))"]
            ).outcome()
        }
        let learned = try await learn("nod").expect(status: 0, output: "-000003-", "Learned from 3 examples")
        #expect(!learned.output.contains("-000005-"))
        let test = try recording("test.csv", wide: 0.76)
        let gesture = directory.path("nod.gesture")
        #expect(!(try await jostle("replay", test, "--gesture", gesture).expect(status: 0)).output.contains(",nod,"))
        try await learn("bow").expect(status: 64, errors: "0 examples", "labelled bow")
    }

    @Test func addsExamplesOfAnotherDay() async throws {
        let files = try examples()
        try await learn("nod", files).expect(status: 0)
        let file = directory.path("nod.gesture")
        let another = try recording("another.csv", wide: 1.4, slow: 1.2)
        try await jostle("learn", "nod", "--more", file, "--from", another).expect(
            status: 0, output: "another.csv: ", "Learned from 4 examples")
        // At most eight.
        var six: [String] = []
        for number in 0..<6 {
            six += ["--from", try recording("six\(number).csv", wide: 0.8 + 0.1 * Double(number), slow: 1.1)]
        }
        try await JostleProgram(["learn", "nod", "--more", file] + six).outcome().expect(
            status: 0, output: "Learned from 8 examples")
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.components(separatedBy: "\nexample ").count == 9)
        try await jostle("learn", "bow", "--more", file, "--from", another).expect(
            status: 64, errors: "nod.gesture is nod, not bow")
        try await jostle("learn", "nod", "--more", another, "--from", another).expect(
            status: 65, errors: "no part of a gesture")
        #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
    }

    @Test func namesTheGestureThatItIsLike() async throws {
        let files = try examples()
        try await learn("nod", files).expect(status: 0)
        try await learn("bow", files, "--known", directory.path("nod.gesture")).expect(
            status: 0, output: "like nod, which is learned already")
    }

    // MARK: With the sensor

    private func movement(_ wides: [Double]) throws -> String {
        try directory.write(ShownMovement.trajectory(wides), to: "movement.csv")
    }

    private func sensor(_ trajectory: String) -> [String] {
        ["sensor.driver=virtual", "sensor.trajectory=\(trajectory)", "sensor.rate=50Hz"].flatMap { ["--set", $0] }
    }

    @Test func learnsFromTheSensor() async throws {
        let path = directory.path("nod.gesture")
        let movement = try movement([1, 1.05, 0.97])
        let test = try recording("test.csv", wide: 1.02)
        try await JostleProgram(["learn", "nod", "--output", path, "--check", test] + sensor(movement)).outcome()
            .expect(
                status: 0, output: "Sensor: ", "Rehearsal: now, then hold it still\n",
                "Rehearsal: good. From here on it counts.",
                "Example 1 of 3: now", "Example 1: ", " s, ", "Example 3: ", " from the next",
                "Comparing them with everyday movement.", "Learned from 3 examples. Now try it, 3 times.",
                "Trial 1 of 3: now",
                "Trial 3: recognised, confidence 0.", "Recognised 3 of 3.", "nine times in ten",
                "less than once in ten hours",
                "Written to \(path). For ", "\(test): nod at ", without: "\u{1B}", "▁")
        try await jostle("replay", test, "--gesture", path).expect(status: 0, output: ",nod,recognized,")
    }

    @Test func addsAnExampleFromTheSensor() async throws {
        try await learn("nod", try examples()).expect(status: 0)
        let path = directory.path("nod.gesture")
        let more = ["learn", "nod", "--more", path, "--times", "2", "--background", "1s"]
        try await JostleProgram(more + sensor(try movement([1.2]))).outcome().expect(
            status: 0, output: "First wear the board for 1 s", "Good. Now show it.", "Example 2: ",
            "Learned from 5 examples", "Written to \(path)")
    }

    @Test func givesUpWithoutAFile() async throws {
        // Too weak, always.
        let weak = ["learn", "nod", "--output", directory.path("nod.gesture")] + sensor(try movement([0.28]))
        try await JostleProgram(weak).outcome().expect(
            status: 65, errors: "6 movements in a row did not do, the last for this: weak: move wider or faster",
            output: "Once more: weak: move wider or faster")
        let rest = ["learn", "nod", "--output", directory.path("nod.gesture"), "--for", "3"] + sensor("rest")
        try await JostleProgram(rest).outcome().expect(
            status: 75, errors: "the time is up, and nod is not learned; nothing was changed")
        let nowhere = ["learn", "nod", "--output", directory.path("none/nod.gesture")] + sensor("rest")
        try await JostleProgram(nowhere).outcome().expect(status: 73, errors: "none/nod.gesture: ")
        try await JostleProgram(["learn", "nod", "--from", "a", "--from", "b", "--times", "3"]).outcome().expect(
            status: 64, errors: "--times is for a sensor")
        try await JostleProgram(["learn", "nod", "--background", "3h"] + sensor("rest")).outcome().expect(
            status: 64, errors: "2 h at most")
        #expect(!FileManager.default.fileExists(atPath: directory.path("nod.gesture")))
    }

    /// A running agent learns from its own samples, keeps it over a restart, and forgets it when told.
    @Test(.needsBroker) func theAgentLearnsOverMQTT() async throws {
        let (trajectory, state) = (try movement([1, 1.05, 0.97]), directory.path("state"))
        let rule = "actions=[{on: nod, publish: {topic: lamp, payload: '${gesture}'}}]"
        let permission = "commands.allow=[learn]"
        var rig = try await AgentRig.measuring(trajectory, permission, rule, "sensor.rate=50Hz", state: state)
        let ask = { (words: [String]) in
            try await JostleProgram(
                ["learn", "nod", "--on", "dut", "--set", "mqtt.broker=mqtt://127.0.0.1:\(rig.broker.port)"] + words
            ).outcome()
        }
        try await ask(["--times", "3"]).expect(
            status: 0, output: "Hold the board still, make the movement", "Rehearsal: now, then hold it still\n",
            "Rehearsal: good. From here on it counts.", "Example 1 of 3: now", "Example 3: ",
            "Comparing them with everyday movement.", "Learned from 3 examples. Now try it, 3 times.",
            "Trial 3: recognised, confidence 0.", "Recognised 3 of 3.", "dut has nod now.")
        let replies = try rig.results("learn")
        #expect(replies.last?["step"] as? String == "done" && replies.last?["done"] as? Bool == true, "\(replies)")
        #expect(replies.dropLast().allSatisfy { $0["done"] as? Bool == false && $0["name"] as? String == "nod" })
        let accepted = replies.filter { $0["step"] as? String == "accepted" }
        #expect(accepted.compactMap { $0["number"] as? Int } == [1, 2, 3])
        #expect((accepted.first?["energies"] as? [Double])?.isEmpty == false)

        try await ask([]).expect(status: 64, errors: "nod is learned already", "{\"more\":true}")
        try await ask(["--from", "a.csv"]).expect(status: 64, errors: "--from is for this machine")
        try await ask(["--more", "nod.gesture"]).expect(status: 64, errors: "--more is \"nod.gesture\", not board")
        #expect(await rig.observer.sees { $0.all.contains { $0.topic == "lamp" } }, "\(rig.agent.errors)")
        #expect(await rig.agent.terminate() == 0)

        rig = try await AgentRig.measuring(trajectory, permission, rule, "sensor.rate=50Hz", state: state)
        #expect(await rig.observer.sees { !$0.messages("event/nod").isEmpty }, "\(rig.agent.errors)")
        try await ask(["--more", "board"]).expect(
            status: 0, output: "Example 2: ", "from 5 examples", "dut has nod now.")
        try await ask(["--forget"]).expect(status: 0, output: "nod: forgotten")
        try await ask(["--forget"]).expect(status: 0, output: "dut has learned no such gesture")
        try await ask(["--more", "board"]).expect(status: 64, errors: "there is no gesture nod to add examples to")
        #expect(
            await rig.observer.sees {
                let report = "\((try $0.objects("config/reported").last) ?? [:])"
                return !report.contains("gestures.learned.nod") && !report.contains("bytes, checksum")
            })
        #expect(await rig.agent.terminate() == 0)
    }

    @Test(.needsBroker) func theAgentLearnsNothingInVain() async throws {
        let rig = try await AgentRig.measuring(try movement([0.28]), "commands.allow=[learn]", "sensor.rate=50Hz")
        try rig.send("learn", #"{"name":"nod"}"#)
        #expect(await rig.replies("learn") { $0["step"] as? String == "rehearse" }, "\(rig.agent.errors)")
        try rig.send("learn", #"{"name":"bow"}"#)
        #expect(await rig.replies("learn") { $0["error"] as? String == "busy" })
        #expect(
            await rig.replies("learn") {
                ($0["message"] as? String)?.contains("6 movements in a row did not do") == true
                    && $0["error"] as? String == "failed"
            }, "\(rig.agent.errors)")
        try rig.send("learn", #"{"name":"bow"}"#)
        #expect(await rig.replies("learn") { $0["name"] as? String == "bow" })
        try rig.send("learn", #"{"stop":true}"#)
        #expect(
            await rig.replies("learn") {
                ($0["message"] as? String)?.contains("stopped; nothing was changed") == true
            })
        #expect(await rig.agent.terminate() == 0)
    }

    @Test func showsWhatToDoAtTheTerminal() async throws {
        let terminal = try Terminal()
        let path = directory.path("nod.gesture")
        let child = try rig.run(
            on: terminal, in: directory,
            ["STATE_DIRECTORY=\(directory.path("state"))", Products.program.path, "learn", "nod", "--output", path]
                + sensor(try movement([1])))
        #expect(await eventually { "▁▂▃▄▅▆▇█".contains { terminal.text.contains("Example 1: \($0)") } })
        #expect(
            terminal.text.contains("Rehearsal: now, then hold it still") && terminal.text.contains("Hold it still ["))
        kill(child.identifier, SIGINT)
        #expect(await terminal.exitStatus(of: child) == 75, "\(terminal.text)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.path("")).allSatisfy {
                !$0.contains("gesture")
            })
    }
}
