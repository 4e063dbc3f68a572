import BrokerTestSupport
import Foundation
import Testing

/// Requirement: `jostle tune` shows what each sensitivity would have recognised in recorded movements, and writes the
/// choice to the configuration without changing anything else.
@Suite(.needsProgram) struct TuneTests {
    private let directory = TemporaryDirectory.new()
    private let file: String

    init() throws {
        file = directory.path("jostle.yaml")
        try "# The lamp.\ngestures:\n  shake: { sensitivity: 1, cooldown: 1 s }  # calm\n"
            .write(toFile: file, atomically: true, encoding: .utf8)
        try Recording.shake(duration: 6).write(
            toFile: directory.path("shown.csv"), atomically: true, encoding: .utf8)
        try Recording.tilted.write(toFile: directory.path("ordinary.csv"), atomically: true, encoding: .utf8)
    }

    private var text: String { (try? String(contentsOfFile: file, encoding: .utf8)) ?? "" }

    private var recordings: [String] {
        ["--shown", directory.path("shown.csv"), "--ordinary", directory.path("ordinary.csv")]
    }

    private func tune(_ words: String...) async throws -> Outcome {
        try await JostleProgram(
            ["tune"] + words, environment: ["STATE_DIRECTORY": directory.path("state")]
        ).outcome()
    }

    @Test func writesOnlyTheChoice() async throws {
        let before = text
        let outcome = try await tune(
            "shake", "--config", file, "--yes", "--shown", directory.path("shown.csv"), "--ordinary",
            directory.path("ordinary.csv")
        ).expect(status: 0)
        let best = try #require(outcome.output.firstMatch(of: /\n +(\d+)  +1 of 1  +0  <- best/), "\(outcome.output)")
        #expect((2...10).contains(Int(best.1) ?? 0))
        #expect(text == before.replacing("sensitivity: 1,", with: "sensitivity: \(best.1),"))
        #expect(outcome.output.contains("<- now"))
        #expect(outcome.output.contains("Written into \(file): gestures.shake.sensitivity is \(best.1)"))
        let attributes = try FileManager.default.contentsOfDirectory(atPath: directory.path(""))
        #expect(!attributes.contains { $0.hasSuffix(".new") })
    }

    @Test func writesNothingWithoutYes() async throws {
        let before = text
        let outcome = try await tune(
            "shake", "--config", file, "--take", "8", recordings[0], recordings[1], recordings[2], recordings[3]
        ).expect(status: 0, output: "Set gestures.shake.sensitivity=8 by hand")
        #expect(text == before, "\(outcome.errors)")
    }

    @Test func tunesFromLiveMovements() async throws {
        try await tune(
            "shake", "--config", file, "--yes", "--take", "9", "--times", "2", "--handling", "2", "--set",
            "sensor.driver=virtual", "--set", "sensor.trajectory=shake"
        ).expect(status: 0, output: "Shake it 2 of 2: detected, ")
        #expect(text.contains("sensitivity: 9, cooldown: 1 s }  # calm"))
    }

    /// All samples are kept in memory.
    @Test func refusesRecordingsThatAreTooLong() async throws {
        let path = directory.path("long.csv")
        let rows = (0...1_000_000).lazy.map { "\($0),0,0,9,,,\n" }.joined()
        try (Recording.header + "\n" + rows).write(toFile: path, atomically: true, encoding: .utf8)
        try await tune("shake", "--config", file, "--shown", path, "--ordinary", path).expect(
            status: 65, errors: "\(path):1000002: more than 1000000 samples")
    }

    @Test func invalidInputChangesNothing() async throws {
        let before = text
        try await tune(
            "shake", "--config", file, "--yes", "--shown", directory.path("ordinary.csv"), "--ordinary",
            directory.path("ordinary.csv")
        ).expect(status: 65, errors: "contain no movement")
        try await tune().expect(status: 64, errors: "GESTURE is missing")
        let turned = directory.path("accelerometer.csv")
        try Recording.shake(hasGyroscope: false).write(toFile: turned, atomically: true, encoding: .utf8)
        try await tune("turn", "--shown", turned, "--ordinary", turned).expect(
            status: 69, errors: "turn needs a gyroscope")
        try await tune("nod").expect(status: 64, errors: "these can: shake, tap")
        try await tune("shake", "--shown", directory.path("shown.csv")).expect(
            status: 64, errors: "must be given together")
        try await tune("shake", "--take", "11").expect(status: 64)
        try await tune(
            "shake", "--shown", directory.path("no.csv"), "--ordinary", directory.path("ordinary.csv")
        ).expect(status: 66)
        #expect(text == before)
    }

    @Test func leavesUneditableLayoutAlone() async throws {
        let before = "gestures: {}\n"
        try before.write(toFile: file, atomically: true, encoding: .utf8)
        try await tune(
            "shake", "--config", file, "--yes", "--take", "9", recordings[0], recordings[1], recordings[2],
            recordings[3]
        ).expect(status: 78, errors: "set it to 9 by hand")
        #expect(text == before)
    }
}
