import BrokerTestSupport
import Foundation
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
            let outcome = try await check("mqtt:\n  username: lamp\n  \(key): \(path)\n")
            #expect(outcome.status == 78 && outcome.output.isEmpty, "\(key): \(outcome)")
            #expect(
                outcome.errors.contains("jostle.yaml:3:") && outcome.errors.contains("mqtt.\(key): \(path) cannot"),
                "\(outcome.errors)")
            try await check("mqtt:\n  username: lamp\n  \(key): \(path)\n", "--no-files").expect(status: 0)
        }
        let pair = "mqtt: { certificate_file: /nowhere/c, key_file: /nowhere/k }\n"
        let outcome = try await check(pair)
        #expect(
            outcome.status == 78 && outcome.errors.contains("mqtt.certificate_file: /nowhere/c cannot"), "\(outcome)")
        #expect(outcome.errors.contains("mqtt.key_file: /nowhere/k cannot be read: No such file"), "\(outcome)")
    }

    /// The agent refuses such a password, with the same reason.
    @Test func secretsMustBeSecretAndNotEmpty() async throws {
        let text = "mqtt: { username: lamp, password_file: password }\n"
        for (content, mode, reason) in [
            ("secret\n", 0o644, "every user can read it"), ("\n", 0o600, "its first line is empty"),
        ] {
            try directory.write(content, to: "password", permissions: mode)
            let outcome = try await check(text)
            #expect(outcome.status == 78 && outcome.errors.contains(reason), "\(outcome)")
            let run = try await jostle(
                "run", "--for", "1", "--config", directory.path("jostle.yaml"), "--set",
                "sensor.driver=virtual")
            #expect(run.status == 78 && run.errors.contains(reason), "\(run)")
        }
        try directory.write("secret \n", to: "password", permissions: 0o600)
        let blank = try await check(text).expect(status: 0)
        #expect(blank.errors.contains("warning: ") && blank.errors.contains("ends with a blank"), "\(blank)")
        try directory.write("secret\n", to: "password", permissions: 0o600)
        #expect(try await check(text).expect(status: 0).errors.isEmpty)
    }

    @Test func decimalAddressAndTrajectoryAreRefused() async throws {
        let address = try await check("sensor:\n  address: 68\n")
        #expect(address.status == 78 && address.errors.contains("did you mean 0x68?"), "\(address)")
        let trajectory = try await check("sensor: { driver: virtual, trajectory: shaek }\n")
        #expect(trajectory.status == 78 && trajectory.errors.contains("did you mean \"shake\"?"), "\(trajectory)")
    }

    @Test func deadRulesAreWarnings() async throws {
        let text = "actions:\n- { on: tap, count: [2, 3], publish: { topic: lamp } }\n"
        let outcome = try await check(text)
        #expect(outcome.status == 0 && outcome.output.hasSuffix("jostle.yaml: valid\n"), "\(outcome)")
        let warning = "actions[0].count: \"2, 3\" never acts: gestures.tap.counts does not include double, triple"
        #expect(outcome.errors.contains("jostle: warning: ") && outcome.errors.contains(warning), "\(outcome)")
        let strict = try await check(text, "--strict")
        #expect(strict.status == 78 && strict.errors.contains(warning), "\(strict)")
        let run = try await jostle(
            "run", "--for", "1", "--config", directory.path("jostle.yaml"), "--set", "sensor.driver=virtual")
        #expect(run.errors.contains("warning: ") && run.errors.contains(warning), "\(run.errors)")
        #expect(try await check("gestures: { tap: { counts: [single, double] } }\n" + text, "--strict").status == 0)
    }
}
