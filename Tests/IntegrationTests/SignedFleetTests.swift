import BrokerTestSupport
import Foundation
import JostleMessages
import MosquittoClient
import Testing

/// Requirement: with trusted keys on the boards, only who has a private key can change them, with the same commands.
@Suite(.needsBroker) struct SignedFleetTests {
    private let rig = Rig()
    private let commands = FleetCommandTests()

    private func run(_ words: [String]) async throws -> Outcome {
        return try await JostleProgram(
            ["fleet"] + words,
            environment: ["STATE_DIRECTORY": commands.directory.path("state"), "TZ": "UTC"]
        ).outcome()
    }

    /// Makes a key; returns its file and the line for `fleet.trusted_keys`.
    private func key(_ name: String) async throws -> (path: String, trusted: String) {
        let path = commands.directory.path("\(name).key")
        let made = try await run(["keygen", name, path])
        try #require(made.status == 0, "\(made.errors)")
        let line = try #require(made.lines.last)
        let trusted = try #require(line.split(separator: "\"").dropFirst().first)
        return (path, String(trusted))
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

    /// A directory of files with a layer of all devices.
    private func files(all: String) throws -> String {
        let path = commands.directory.path("files")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try commands.directory.write(all, to: "files/all.yaml")
        return path
    }

    /// Somebody who controls the broker publishes documents, and waits until an operator changes something else.
    @Test func signsNothingThatSomebodyElsePublished() async throws {
        let (path, _) = try await key("ops-1")
        let (broker, observer) = try await rig.observedBroker()
        let options = ["--sign-key", path, "--broker", "mqtt://127.0.0.1:\(broker.port)", "--no-wait"]
        for (topic, text) in [
            ("jostle/_all/config", #"{"schema":1,"revision":4,"config":{"gestures":{"shake":{"enabled":false}}}}"#),
            (
                "jostle/_group/g/config",
                #"{"schema":1,"revision":2,"config":{},"unknown":"ignore","candidate":{"config":{"sensor":{"rate":"7Hz"}},"percent":100,"seed":"s"}}"#
            ),
            ("jostle/_registry/a", #"{"schema":1,"revision":2,"groups":["evil"]}"#),
        ] {
            try observer.publish(
                MQTTMessage(topic: topic, payload: Array(text.utf8), qos: .atLeastOnce, retain: true))
            #expect(await observer.sees { $0.topics.contains(topic) })
        }
        for words in [
            ["set", "--all", "gestures.tap.sensitivity=6"], ["unset", "--group", "g", "sensor"],
            ["group", "add", "nice", "a"], ["set", "--group", "g", "sensor.rate=50Hz", "--canary", "5%"],
        ] {
            let refused = try await run(words + options.filter { $0 != "--no-wait" || !words.contains("--canary") })
            #expect(refused.status == 65, "\(words): \(refused.errors)")
            #expect(refused.errors.contains("signature: is missing") || words.contains("--canary"), "\(refused.errors)")
        }
        for name in ["all", "registry:a"] {
            try await run(["rollback", name] + options).expect(status: 66)
        }
        #expect(observer.all.allSatisfy { !String(decoding: $0.payload, as: UTF8.self).contains("signature") })

        // Files replace them, without what the broker added. A second time, there is nothing to do.
        let files = try files(all: "gestures: { tap: { sensitivity: 6 } }\n")
        try commands.directory.write("sensor: { rate: 50Hz }\n", to: "files/groups/g.yaml")
        try commands.directory.write("a: [nice]\n", to: "files/registry.yaml")
        let apply = try await run(["apply", files] + options).expect(status: 0)
        #expect(apply.output.contains("not signed by a trusted key"), "\(apply.output)")
        #expect(
            await observer.sees {
                $0.all.filter { String(decoding: $0.payload, as: UTF8.self).contains("ops-1") }.count >= 3
            })
        for message in observer.all where String(decoding: message.payload, as: UTF8.self).contains("ops-1") {
            let text = String(decoding: message.payload, as: UTF8.self)
            #expect(!["shake", "7Hz", "evil", "ignore"].contains(where: text.contains), "\(text)")
        }
        let again = try await run(["apply", files] + options)
        #expect(again.output.contains("3 documents unchanged"), "\(again.output)")
        // Another operator's key: the tool of this one does not know it, unless its configuration names it.
        let (newPath, _) = try await key("ops-3")
        let rotated = try await run(["apply", files, "--sign-key", newPath] + options.dropFirst(2))
        #expect(rotated.output.contains("not signed by a trusted key"), "\(rotated.output)")
    }

    /// Somebody puts an earlier document back that was genuine, or takes it away.
    @Test func buildsOnNoOlderDocumentThanSeen() async throws {
        let (path, trusted) = try await key("ops-1")
        let (broker, observer) = try await rig.observedBroker()
        let options = ["--sign-key", path, "--broker", "mqtt://127.0.0.1:\(broker.port)", "--no-wait"]
        for value in [3, 4] {
            try await run(["set", "--all", "gestures.shake.sensitivity=\(value)"] + options).expect(status: 0)
        }
        #expect(await observer.sees { $0.all.count >= 2 })
        let first = try #require(observer.all.first { String(decoding: $0.payload, as: UTF8.self).contains(": 3") })
        for payload in [first.payload, []] {
            try observer.publish(MQTTMessage(topic: first.topic, payload: payload, qos: .atLeastOnce, retain: true))
            try await Task.sleep(for: .milliseconds(300))
            let set = try await run(["set", "--all", "gestures.tap.sensitivity=6"] + options)
            #expect(set.status == 65 && set.errors.contains("this machine has seen revision 2"), "\(set.errors)")
        }
        let back = try await run(["rollback", "all", "--to", "2"] + options)
        #expect(back.status == 0 && back.output.contains("all: published as revision 3"), "\(back.errors)")
        // Where the configuration names keys, nothing is published without a signature.
        let unsigned = try await run(
            ["set", "--all", "gestures.tap.sensitivity=6", "--set", "fleet.trusted_keys=[\"\(trusted)\"]"]
                + options.dropFirst(2))
        #expect(unsigned.status == 64 && unsigned.errors.contains("sign with --sign-key"), "\(unsigned.errors)")
    }

    /// The broker lost what was signed, or holds something in its place: nothing unsigned follows by mistake.
    @Test func nothingUnsignedFollowsALostSignature() async throws {
        let (path, _) = try await key("ops-1")
        let (broker, observer) = try await rig.observedBroker()
        let url = ["--broker", "mqtt://127.0.0.1:\(broker.port)", "--no-wait"]
        try await run(["set", "--all", "sensor.rate=50Hz", "--sign-key", path] + url).expect(status: 0)
        let files = try files(all: "sensor: { rate: 50Hz }\n")
        func hold(_ text: String) async throws {
            try observer.publish("jostle/_all/config", text, retain: true)
            try await Task.sleep(for: .milliseconds(300))
        }
        for text in ["", #"{"schema":1,"revision":7,"x":1}"#] {
            try await hold(text)
            for words in [["apply", files], ["rollback", "all", "--to", "1"]] {
                let refused = try await run(words + url)
                #expect(refused.status == 64, "\(words): \(refused.errors)")
                #expect(refused.errors.contains("all was signed with ops-1"), "\(words): \(refused.errors)")
            }
        }
        // A machine that has seen nothing yet.
        try await hold(#"{"schema":1,"revision":7,"x":1,"signature":{"key":"ops-2","value":"AA=="}}"#)
        let other = try await commands.fleet(broker, "apply", files, "--no-wait", state: "elsewhere")
        #expect(other.status == 64 && other.errors.contains("all is signed with ops-2"), "\(other.errors)")
        let unsigned = try await commands.fleet(broker, "apply", files, "--no-wait", "--unsigned").expect(status: 0)
        #expect(unsigned.output.contains("all: published as revision 8"), "\(unsigned.output)")
    }

    /// Boards reject an unsigned withdrawal and keep the candidate, and the rollout is gone.
    @Test func rolloutIsNotWithdrawnWithoutASignature() async throws {
        let (path, trusted) = try await key("ops-1")
        let (broker, observer) = try await rig.observedBroker()
        let candidate =
            #"{"schema":1,"revision":3,"config":{},"candidate":{"config":{"sensor":{"rate":"50 Hz"}},"percent":20,"seed":"s"}}"#
        let signer = try #require(
            DocumentSigner(reading: try String(contentsOfFile: path, encoding: .utf8), otherName: "x"))
        let envelope = try LayerDocument(reading: Array(candidate.utf8), layer: "all").envelope
        let signature = try #require(try signer.sign(envelope, topic: "jostle/_all/config"))
        let text = candidate.dropLast() + #","signature":{"key":"ops-1","value":"\#(signature.value)"}}"#
        try observer.publish(
            MQTTMessage(topic: "jostle/_all/config", payload: Array(text.utf8), qos: .atLeastOnce, retain: true))
        let options = [
            "--broker", "mqtt://127.0.0.1:\(broker.port)", "--set", "fleet.trusted_keys=[\"\(trusted)\"]",
        ]
        let unsigned = try await run(["rollout", "withdraw"] + options)
        #expect(unsigned.status == 64 && unsigned.errors.contains("sign with --sign-key"), "\(unsigned.errors)")
        let withdrawn = try await run(["rollout", "withdraw", "--sign-key", path] + options)
        #expect(withdrawn.status == 0 && withdrawn.output.contains("withdrawn: published all 4"), "\(withdrawn.errors)")
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

        let change = ["set", "--all", "gestures.shake.sensitivity=8", "--wait", "5s"] + broker
        let refused = try await run(change)
        #expect(refused.status == 64 && refused.errors.contains("all is signed with ops-1"), "\(refused.errors)")
        #expect(try await run(["get", "--all"] + broker).output == get.output)
        let unsigned = try await run(change + ["--unsigned"])
        #expect(unsigned.status == 75)
        #expect(unsigned.errors.contains("all 2 rejected: signature: is missing"), "\(unsigned.errors)")
        let other = try await run(
            ["set", "--all", "gestures.shake.sensitivity=9", "--sign-key", stranger.path, "--wait", "5s"] + broker)
        #expect(other.status == 65 && other.errors.contains("signature: is missing"), "\(other.errors)")
        // What is not signed is not built upon, but replaced from the files.
        let built = try await run(["set", "--all", "gestures.shake.sensitivity=9", "--sign-key", path] + broker)
        #expect(built.status == 65 && built.errors.contains("cannot be used"), "\(built.errors)")
        let files = try files(all: "gestures: { shake: { sensitivity: 8 } }\n")
        try await run(["apply", files, "--sign-key", path, "--wait", "30s"] + broker).expect(status: 0)

        try await run(
            ["set", "--all", "gestures.shake.sensitivity=6", "--sign-key", path, "--canary", "50%", "--wait", "40s"]
                + broker
        ).expect(status: 0)
        try await run(["group", "add", "front", "swarm-0001", "--sign-key", path] + broker).expect(status: 0)
        try await run(["rollback", "all", "--to", "1", "--sign-key", path] + broker).expect(status: 0)
        // The home and commands cannot go around it.
        try rig.observer.publish("jostle/swarm-0001/set/gestures.shake.sensitivity", "2")
        #expect(
            await rig.observer.sees { observer in
                let refused = try observer.objects("config/reported", of: "swarm-0001").last?["refused"]
                return (refused as? [[String: String]])?.first?["allowed"]?.contains("settings.allow is empty") == true
            })
    }
}
