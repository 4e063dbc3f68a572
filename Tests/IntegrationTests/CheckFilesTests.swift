import BrokerTestSupport
import Testing

/// Requirement: what `jostle run` would refuse, and what would have no effect, is found by `jostle check-config`.
@Suite(.needsProgram) struct CheckFilesTests {
    private let directory = TemporaryDirectory.new()

    private func check(_ text: String, _ words: String...) async throws -> Outcome {
        try directory.write(text, to: "jostle.yaml")
        return try await JostleProgram(["check-config", directory.path("jostle.yaml")] + words).outcome()
    }

    @Test func missingFilesAreRefused() async throws {
        for key in ["ca_file", "ca_directory", "password_file"] {
            let path = directory.path("missing")
            let outcome = try await check("mqtt:\n  username: lamp\n  \(key): \(path)\n").expect(
                status: 78, errors: "jostle.yaml:3:", "mqtt.\(key): \(path) cannot")
            #expect(outcome.output.isEmpty, "\(key): \(outcome)")
            try await check("mqtt:\n  username: lamp\n  \(key): \(path)\n", "--no-files").expect(status: 0)
        }
        let pair = "mqtt: { certificate_file: /nowhere/c, key_file: /nowhere/k }\n"
        try await check(pair).expect(
            status: 78, errors: "mqtt.certificate_file: /nowhere/c cannot",
            "mqtt.key_file: /nowhere/k cannot be read: No such file")
    }

    /// The agent refuses such a password, with the same reason.
    @Test func secretsMustBeSecretAndNotEmpty() async throws {
        let text = "mqtt: { username: lamp, password_file: password }\n"
        for (content, mode, reason) in [
            ("secret\n", 0o644, "every user can read it"), ("\n", 0o600, "its first line is empty"),
        ] {
            try directory.write(content, to: "password", permissions: mode)
            let outcome = try await check(text).expect(status: 78)
            #expect(outcome.errors.contains(reason), "\(outcome)")
            let run = try await jostle(
                "run", "--for", "1", "--config", directory.path("jostle.yaml"), "--set",
                "sensor.driver=virtual"
            ).expect(status: 78)
            #expect(run.errors.contains(reason), "\(run)")
        }
        try directory.write("secret \n", to: "password", permissions: 0o600)
        let blank = try await check(text).expect(status: 0)
        #expect(blank.errors.contains("warning: ") && blank.errors.contains("ends with a blank"), "\(blank)")
        try directory.write("secret\n", to: "password", permissions: 0o600)
        #expect(try await check(text).expect(status: 0).errors.isEmpty)
    }

    @Test func decimalAddressAndTrajectoryAreRefused() async throws {
        try await check("sensor:\n  address: 68\n").expect(status: 78, errors: "did you mean 0x68?")
        try await check("sensor: { driver: virtual, trajectory: shaek }\n").expect(
            status: 78, errors: "did you mean \"shake\"?")
    }

    @Test func deadRulesAreWarnings() async throws {
        let text = "actions:\n- { on: tap, count: [2, 3], publish: { topic: lamp } }\n"
        let outcome = try await check(text).expect(status: 0)
        #expect(outcome.output.hasSuffix("jostle.yaml: valid\n"), "\(outcome)")
        let warning = "actions[0].count: \"2, 3\" never acts: gestures.tap.counts does not include double, triple"
        #expect(outcome.errors.contains("jostle: warning: ") && outcome.errors.contains(warning), "\(outcome)")
        let strict = try await check(text, "--strict").expect(status: 78)
        #expect(strict.errors.contains(warning), "\(strict)")
        let run = try await jostle(
            "run", "--for", "1", "--config", directory.path("jostle.yaml"), "--set", "sensor.driver=virtual")
        #expect(run.errors.contains("warning: ") && run.errors.contains(warning), "\(run.errors)")
        #expect(try await check("gestures: { tap: { counts: [single, double] } }\n" + text, "--strict").status == 0)
    }
}
