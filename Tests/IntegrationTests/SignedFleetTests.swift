import BrokerTestSupport
import Foundation
import JostleMessages
import MosquittoClient
import Testing

/// Requirement: with trusted keys on the boards, only who has a private key can change them, with the same commands.
@Suite(.needsBroker) struct SignedFleetTests {
    private let commands: FleetCommandTests

    init() throws {
        commands = try FleetCommandTests()
    }

    private func run(_ words: [String]) async throws -> Outcome {
        let program = try JostleProgram(
            ["fleet"] + words,
            environment: ["STATE_DIRECTORY": commands.directory.path("state"), "TZ": "UTC"])
        defer { program.kill() }
        let status = await program.exitStatus(within: .seconds(60))
        return Outcome(status: status, output: program.output, errors: program.errors)
    }

    /// Makes a key; returns its file and the line for `fleet.trusted_keys`.
    private func key(_ name: String) async throws -> (path: String, trusted: String) {
        let path = commands.directory.path("\(name).key")
        let made = try await run(["keygen", name, path])
        try #require(made.status == 0, "\(made.errors)")
        let line = try #require(made.lines.last)
        return (path, try #require(line.split(separator: "\"").dropFirst().first.map(String.init)))
    }

    @Test func keyFileIsPrivateAndNotOverwritten() async throws {
        let (path, trusted) = try await key("ops-1")
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let again = try await run(["keygen", "ops-1", path])
        #expect(again.status == 73 && again.errors.contains("File exists"), "\(again.errors)")
        let show = try await run(["keygen", "ops-1", path, "--show"])
        #expect(show.output.contains(trusted))
        // Other tools read it too.
        try runCommand(["openssl", "pkey", "-in", path, "-pubout", "-out", "\(path).pub"], in: commands.directory)
        for (file, status) in [("/nowhere", Int32(66)), ("/etc/hostname", 65)] {
            let wrong = try await run(["set", "--all", "sensor.rate=50Hz", "--sign-key", file])
            #expect(wrong.status == status && wrong.errors.contains("--sign-key: \(file)"), "\(wrong.errors)")
        }
    }

    @Test func onlySignedDocumentsReachTheBoards() async throws {
        let (path, trusted) = try await key("ops-1")
        let stranger = try await key("ops-2")
        let rig = try await SwarmRig(
            devices: 5, "--set", "fleet.trusted_keys=[\"\(trusted)\"]", "--set", "fleet.probation=10s", "--set",
            "publish.health.interval=2s")
        let broker = ["--broker", "mqtt://127.0.0.1:\(rig.broker.port)"]
        let signed = try await run(["set", "--all", "gestures.shake.sensitivity=7", "--sign-key", path] + broker)
        #expect(signed.status == 0, "\(signed.errors)")
        let get = try await run(["get", "--all"] + broker)
        #expect(get.output.contains("signed with ops-1"), "\(get.output)")

        let unsigned = try await run(["set", "--all", "gestures.shake.sensitivity=8", "--wait", "5s"] + broker)
        #expect(unsigned.status == 75)
        #expect(unsigned.errors.contains("all was signed, and the new revision is not"), "\(unsigned.errors)")
        #expect(unsigned.errors.contains("all 2 rejected: signature: is missing"), "\(unsigned.errors)")
        let other = try await run(
            ["set", "--all", "gestures.shake.sensitivity=9", "--sign-key", stranger.path, "--wait", "5s"] + broker)
        #expect(other.errors.contains("signature: \"ops-2\" is by a key that is not trusted"), "\(other.errors)")

        let rollout = try await run(
            ["set", "--all", "gestures.shake.sensitivity=6", "--sign-key", path, "--canary", "50%", "--wait", "40s"]
                + broker)
        #expect(rollout.status == 0, "\(rollout.errors)\(rollout.output)")
        let group = try await run(["group", "add", "front", "swarm-0001", "--sign-key", path] + broker)
        #expect(group.status == 0, "\(group.errors)")
        let back = try await run(["rollback", "all", "--to", "1", "--sign-key", path] + broker)
        #expect(back.status == 0, "\(back.errors)")
        // The home and commands cannot go around it.
        try rig.observer.publish(
            MQTTMessage(topic: "jostle/swarm-0001/set/gestures.shake.sensitivity", text: "2", qos: .atLeastOnce))
        #expect(
            await rig.observer.sees { observer in
                let refused = try observer.objects("config/reported", of: "swarm-0001").last?["refused"]
                return (refused as? [[String: String]])?.first?["allowed"]?.contains("settings.allow is empty") == true
            })
    }
}
