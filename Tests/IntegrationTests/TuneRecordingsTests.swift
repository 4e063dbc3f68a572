import BrokerTestSupport
import Foundation
import Testing

/// Requirement: `jostle tune` keeps what it records only with consent, as labelled recordings without anything that names the
/// device or its owner, and lists, exports and deletes them.
@Suite(.needsProgram) struct TuneRecordingsTests {
    private let rig = Rig()
    let directory = TemporaryDirectory.new()
    private let file: String

    init() throws {
        file = try directory.write(
            """
            device: { id: secret-id, name: Secret name }
            sensor: { mount_matrix: [[0, 1, 0], [-1, 0, 0], [0, 0, 1]] }
            gestures: { shake: { sensitivity: 7, when: { quiet_hours: 22:00-06:00 } } }
            actions: [{ on: shake, publish: { topic: secret/topic } }]
            """, to: "jostle.yaml")
        _ = try directory.write(Recording.shake(duration: 6), to: "shown.csv")
        _ = try directory.write(Recording.tilted, to: "ordinary.csv")
    }

    private var recordings: [String] {
        ["--shown", directory.path("shown.csv"), "--ordinary", directory.path("ordinary.csv")]
    }

    func tune(_ words: String...) async throws -> Outcome {
        try await JostleProgram(
            ["tune"] + words + ["--config", file], environment: ["STATE_DIRECTORY": directory.path("state")]
        ).outcome()
    }

    func keep() async throws -> Outcome {
        try await tune("shake", "--keep", recordings[0], recordings[1], recordings[2], recordings[3])
    }

    private var kept: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: directory.path("state/tune")).sorted()) ?? []
    }

    func content(_ name: String) throws -> String {
        try String(contentsOfFile: directory.path("state/tune/\(name)"), encoding: .utf8)
    }

    @Test func keepsLabelledRecordings() async throws {
        try await keep().expect(status: 0, output: "Delete it with: jostle tune --forget 1-shake")
        #expect(kept == ["1-shake"])
        let attributes = try FileManager.default.attributesOfItem(atPath: directory.path("state/tune"))
        #expect(attributes[.posixPermissions] as? Int == 0o700)

        let labels = try content("1-shake/gesture.labels.csv").split(separator: "\n").map(String.init)
        #expect(labels.first == "start_s,end_s,label" && labels.count == 2)
        let fields = try #require(labels.last).split(separator: ",")
        let start = try #require(Double(fields[0]))
        let end = try #require(Double(fields[1]))
        #expect(abs(start - 1) < 0.2 && abs(end - 1.8) < 0.2 && fields[2] == "shake", "\(labels)")
        #expect(try content("1-shake/handling.labels.csv") == "start_s,end_s,label\n0,1.98,everyday\n")

        // The recording is the same to every other command.
        try await JostleProgram(["replay", directory.path("state/tune/1-shake/gesture.csv")]).outcome().expect(
            status: 0, output: ",shake,began,")

        let text = try content("1-shake/about.json")
        let about = try #require(try JSON.object(text))
        #expect(about["gesture"] as? String == "shake" && about["rate_hz"] as? Double == 100)
        let settings = try #require(about["settings"] as? [String: [String: Any]])
        #expect(Set(settings.keys) == ["sensor", "attitude", "gestures"])
        #expect((settings["gestures"]?["shake"] as? [String: Any])?["sensitivity"] as? Int == 7)
        #expect((settings["sensor"]?["mount_matrix"] as? [[Double]])?.first == [0, 1, 0])
        #expect(!text.contains("ecret") && !text.contains("22:00") && !text.contains(directory.path("")), "\(text)")
    }

    @Test func keepsNothingWithoutConsent() async throws {
        let outcome = try await tune("shake", recordings[0], recordings[1], recordings[2], recordings[3]).expect(
            status: 0)
        #expect(kept.isEmpty, "\(outcome.errors)")
        let live = try await tune(
            "shake", "--times", "2", "--handling", "1", "--set", "sensor.driver=virtual", "--set",
            "sensor.trajectory=shake"
        ).expect(status: 0)
        #expect(kept.isEmpty, "\(live.errors)")
        try await tune("shake", "--keep", "--no-keep").expect(status: 64, errors: "exclude each other")
    }

    @Test(arguments: [true, false]) func asksOnceAtTerminal(agrees: Bool) async throws {
        let terminal = try Terminal()
        let child = try rig.run(
            on: terminal, in: directory,
            [
                "STATE_DIRECTORY=\(directory.path("state"))", Products.program.path, "tune", "tap", "--times", "2",
                "--handling", "1", "--config", file, "--set", "sensor.driver=virtual", "--set", "sensor.trajectory=tap",
            ])
        #expect(await eventually { terminal.text.contains("Keep them? [y/n]") }, "\(terminal.text)")
        #expect(terminal.text.contains("They stay in \(directory.path("state/tune")) on this machine"))
        #expect(terminal.text.contains("Nothing is sent."))
        terminal.write(agrees ? "y\n" : "n\n")
        #expect(
            await eventually { terminal.text.contains("Write gestures.tap.sensitivity") },
            "\(terminal.text)")
        terminal.write("n\n")
        #expect(await terminal.exitStatus(of: child) == 0, "\(terminal.text)")
        #expect(kept == (agrees ? ["1-tap"] : []))
        guard agrees else { return }
        #expect(try content("1-tap/gesture.labels.csv").split(separator: "\n").count == 3)
        let about = try content("1-tap/about.json")
        #expect(about.contains("\"chip\": \"MPU-6050\""), "\(about)")
    }

    @Test func listsExportsAndDeletes() async throws {
        try await tune("--list").expect(status: 0, output: "No recordings are kept")
        try await tune("--export", directory.path("none.tar")).expect(status: 66, errors: "--keep keeps some")
        _ = try await keep()
        _ = try await keep()
        #expect(kept == ["1-shake", "2-shake"])
        let list = try await tune("--list")
        #expect(list.output.contains("1-shake") && list.output.contains("2-shake"), "\(list.output)")

        let archive = directory.path("shakes.tar")
        try await tune("--export", archive).expect(status: 0, output: "Nothing was sent.")
        let attributes = try FileManager.default.attributesOfItem(atPath: archive)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let unpacked = directory.path("unpacked")
        try FileManager.default.createDirectory(atPath: unpacked, withIntermediateDirectories: true)
        let tar = try ChildProcess(["tar", "-xf", archive, "-C", unpacked], in: directory)
        #expect(await eventually { tar.exitStatus() != nil })
        #expect(tar.exitStatus() == 0)
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.path("state/tune/2-shake")) {
            let copy = try String(contentsOfFile: "\(unpacked)/jostle-tune/2-shake/\(name)", encoding: .utf8)
            #expect(try copy == content("2-shake/\(name)"), "\(name)")
        }
        try await tune("--export", archive).expect(status: 73, errors: "does not replace a file")

        try await tune("--forget", "3-shake").expect(status: 66, errors: "there are 1-shake, 2-shake")
        let one = try await tune("--forget", "1-shake").expect(status: 0)
        #expect(kept == ["2-shake"], "\(one)")
        _ = try await keep()
        #expect(kept == ["2-shake", "3-shake"])
        let all = try await tune("--forget", "all").expect(status: 0)
        #expect(kept.isEmpty, "\(all)")
        try await tune("--list", "--forget", "all").expect(status: 64)
        try await tune("shake", "--list").expect(status: 64, errors: "takes no GESTURE")
    }

    /// The oldest recordings make room. What is not Jostle's is left alone.
    @Test func keepsNoMoreThanItMay() async throws {
        _ = try await keep()
        let filler = directory.path("state/tune/1-shake/filler")
        #expect(FileManager.default.createFile(atPath: filler, contents: Data(count: (64 << 20) - 4096)))
        try FileManager.default.createDirectory(
            atPath: directory.path("state/tune/mine"), withIntermediateDirectories: true)
        let second = try await keep()
        #expect(second.output.contains("Deleted to make room: 1-shake"), "\(second)")
        #expect(kept == ["2-shake", "mine"])
    }

    // MARK: Labelled recordings of the agent

    private func record(_ number: Int, _ text: String, until end: Int = 3, label: String?) throws {
        _ = try directory.write(text, to: "state/recordings/recording-\(number).csv")
        guard let label else { return }
        _ = try directory.write(
            "start_s,end_s,label\n0,\(end),\(label)\n", to: "state/recordings/recording-\(number).labels.csv")
    }

    /// What somebody said about recordings counts, without a sensor and besides it; what was kept before does too.
    @Test func countsLabelledRecordings() async throws {
        try await tune("shake", "--labelled").expect(status: 66, errors: "no recording of this board is labelled shake")
        try FileManager.default.createDirectory(
            atPath: directory.path("state/recordings"), withIntermediateDirectories: true)
        // Two shakes in one recording are one label.
        let twice =
            Recording.shake()
            + Recording.shake().split(separator: "\n").dropFirst().map { row in
                let fields = row.split(separator: ",", maxSplits: 1)
                return "\(3 + (Double(fields[0]) ?? 0)),\(fields[1])\n"
            }.joined()
        try record(1, twice, until: 6, label: "shake")
        try record(2, Recording.shake(duration: 6), label: "shake")
        try record(3, Recording.tilted, label: "everyday")
        try record(4, Recording.shake(), label: "not shake")
        try record(5, Recording.shake(), label: "tap")
        try record(6, Recording.shake(), label: nil)
        let alone = try await tune("shake", "--labelled", "--take", "5").expect(
            status: 0, output: "The labelled recordings of this board count: 2 with shake, 2 without.")
        #expect(alone.output.contains("2 of 2           1"), "\(alone.output)")

        _ = try await keep()
        try await tune("shake", "--labelled", "--take", "5").expect(status: 0, output: "3 with shake, 3 without")
        let live = try await tune(
            "shake", "--times", "2", "--handling", "1", "--set", "sensor.driver=virtual", "--set",
            "sensor.trajectory=shake", "--take", "5"
        ).expect(status: 0, output: "3 with shake, 3 without")
        #expect(live.output.contains("of 5 "), "\(live.output)")

        let archive = directory.path("all.tar")
        try await tune("--export", archive).expect(status: 0, output: "recordings/recording-1.csv")
        let list = try ChildProcess(["tar", "-tf", archive], in: directory)
        #expect(await eventually { list.exitStatus() != nil })
        #expect(list.exitStatus() == 0)
        try await tune("shake", "--labelled", "--times", "2").expect(status: 64, errors: "--times is for a sensor")
        try record(7, "", label: "a,b,c,d")
        try await tune("shake", "--labelled").expect(status: 65, errors: "recording-7.labels.csv:2: ")
    }

    @Test func doctorSaysThatThereAreSome() async throws {
        try FileManager.default.createDirectory(
            atPath: directory.path("state/recordings"), withIntermediateDirectories: true)
        func doctor() async throws -> String {
            try await JostleProgram(
                ["doctor", "--set", "sensor.driver=virtual", "--set", "mqtt.broker=mqtt://127.0.0.1:1"],
                environment: ["STATE_DIRECTORY": directory.path("state")]
            ).outcome().output
        }
        try record(1, Recording.shake(), label: "a note")
        #expect(!(try await doctor().contains("labelled")))
        try record(2, Recording.shake(), label: "not shake")
        try record(3, Recording.shake(), label: "tap")
        let text = try await doctor()
        #expect(text.contains("2 labelled recordings (shake, tap): sudo jostle tune shake --labelled"), "\(text)")
    }

    @Test func saysIfItCannotKeep() async throws {
        _ = try directory.write("", to: "state")
        try await keep().expect(status: 73, errors: "the recordings are not kept: ")
    }
}
