import BrokerTestSupport
import Foundation
import JostleMessages
import MosquittoClient
import Testing

/// Requirement: boards with a list of brokers go on at another one when theirs dies, read all layers there, and never go
/// back to an older one that a broker brings along.
@Suite(.needsBroker) struct SeveralBrokersTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    /// Two brokers that pass everything on to each other.
    private func bridged() async throws -> (first: TestBroker, second: TestBroker) {
        let second = try TestBroker(isPersistent: true)
        try await second.start()
        let bridge = """
            allow_anonymous true
            connection to-second
            address 127.0.0.1:\(second.port)
            bridge_protocol_version mqttv50
            cleansession false
            topic # both 1
            restart_timeout 1
            """
        let first = try TestBroker(settings: bridge, isPersistent: true)
        try await first.start()
        return (first, second)
    }

    private func urls(_ brokers: TestBroker...) -> String {
        brokers.map { "mqtt://127.0.0.1:\($0.port)" }.joined(separator: ",")
    }

    private func swarm(_ brokers: String, devices: Int = 10) throws -> JostleProgram {
        try rig.run(
            [
                "--devices", "\(devices)", "--broker", brokers, "--for", "120", "--state", directory.path("swarm"),
                "--set", "fleet.probation=10s", "--set", "publish.health.interval=2s",
            ], program: Products.swarmProgram)
    }

    private func start(_ words: [String], _ brokers: String) throws -> JostleProgram {
        try rig.run(
            ["fleet"] + words + ["--broker", brokers],
            environment: ["STATE_DIRECTORY": directory.path("operator"), "TZ": "UTC"])
    }

    private func fleet(_ words: [String], _ brokers: String) async throws -> Outcome {
        try await start(words, brokers).outcome()
    }

    private func isOnline(_ observer: Observer, _ count: Int = 10) -> Bool {
        SwarmRig.ids(count).allSatisfy { observer.texts("availability", of: $0).last == "online" }
    }

    /// The revision of the layer of all devices that each board reports last.
    private func revisions(_ observer: Observer) throws -> Set<Int> {
        var found: Set<Int> = []
        for id in SwarmRig.ids(10) {
            let report = try observer.objects("config/reported", of: id).last
            let layers = report?["layers"] as? [String: [String: Any]]
            let layer = layers?["all"]
            found.insert(layer?["in_force"] as? Int ?? layer?["revision"] as? Int ?? 0)
        }
        return found
    }

    @Test func boardsGoOnAtTheOtherBroker() async throws {
        let (first, second) = try await bridged()
        defer {
            first.kill()
            second.kill()
        }
        let both = urls(first, second)
        let observer = try await Observer(second.port)
        let swarm = try swarm(both)
        #expect(await observer.sees { isOnline($0) }, "\(swarm.errors)")
        try await fleet(["set", "--all", "gestures.shake.sensitivity=3"], both).expect(status: 0)

        first.kill()
        // The boards are online again at the second broker, and so is the operator's tool.
        let two = try await fleet(["set", "--all", "gestures.shake.sensitivity=4", "--wait", "30s"], both)
        #expect(two.status == 0, "\(two.errors)\(two.output)")
        #expect(two.output.contains("10 of 10 devices applied it"), "\(two.output)")
        #expect(await observer.sees { try revisions($0) == [2] })

        // The first one comes back with what it held, and the bridge passes that on.
        try await first.start()
        try await Task.sleep(for: .seconds(4))
        // The reports of before pass by, and are corrected.
        #expect(await observer.sees { try revisions($0) == [2] })
        // Whatever the two brokers hold now, the files settle it.
        try directory.write("gestures: { shake: { sensitivity: 4 } }\n", to: "all.yaml")
        try FileManager.default.createDirectory(atPath: directory.path("fleet"), withIntermediateDirectories: true)
        try FileManager.default.moveItem(atPath: directory.path("all.yaml"), toPath: directory.path("fleet/all.yaml"))
        try await fleet(["apply", directory.path("fleet"), "--wait", "30s"], both).expect(status: 0)
        for broker in [first, second] {
            let get = try await fleet(["get", "--all"], urls(broker))
            #expect(get.output.contains("gestures.shake.sensitivity=4"), "\(get.output)")
        }
        swarm.signal(SIGTERM)
        #expect(await swarm.exitStatus() == 0)
    }

    /// Both ends of a bridge send what they hold when it comes back, so that an old message replaces a new one.
    @Test func boardCorrectsWhatABridgeBringsBack() async throws {
        let (first, second) = try await bridged()
        defer {
            first.kill()
            second.kill()
        }
        let observer = try await Observer(second.port)
        let old = try await Observer(first.port)
        try old.publish("jostle/dut/availability", "offline", retain: true)
        #expect(await observer.availability("offline"))
        first.stop()

        let agent = try rig.virtualAgent(broker: second.port, "rest")
        #expect(await observer.availability("online"), "\(agent.errors)")
        try await first.start()
        // The old one comes back, and is corrected at both brokers.
        #expect(await observer.sees { $0.texts("availability").filter { $0 == "offline" }.count >= 2 })
        #expect(await observer.availability("online"), "\(agent.errors)")
        try await Task.sleep(for: .seconds(2))
        for broker in [first, second] {
            let later = try await Observer(broker.port)
            #expect(await later.availability("online"), "\(agent.errors)")
            try await later.catchUp()
            // The bridge may pass the correction on once more.
            #expect(Set(later.texts("availability")) == ["online"])
        }
    }

    /// A broker comes back with the documents from before a new epoch, and passes them on.
    @Test func newEpochOutlivesABrokerThatComesBack() async throws {
        let (first, second) = try await bridged()
        defer {
            first.kill()
            second.kill()
        }
        let both = urls(first, second)
        let observer = try await Observer(second.port)
        let swarm = try swarm(both)
        #expect(await observer.sees { isOnline($0) }, "\(swarm.errors)")
        for value in [2, 3] {
            try await fleet(["set", "--all", "gestures.shake.sensitivity=\(value)"], both).expect(status: 0)
        }
        first.kill()
        try FileManager.default.createDirectory(atPath: directory.path("fleet"), withIntermediateDirectories: true)
        try directory.write("gestures: { shake: { sensitivity: 4 } }\n", to: "fleet/all.yaml")
        let apply = ["apply", directory.path("fleet"), "--wait", "30s"]
        let epoch = try await fleet(apply + ["--new-epoch"], both).expect(status: 0)
        #expect(epoch.output.contains("all: published as revision 1 of a new epoch"), "\(epoch.output)")
        try await first.start()
        try await Task.sleep(for: .seconds(4))
        // Revision 2 is older than revision 1 of the new epoch. The reports of before pass by, and are corrected.
        #expect(await observer.sees { try revisions($0) == [1] })
        try await fleet(apply, both).expect(status: 0)
        for broker in [first, second] {
            let get = try await fleet(["get", "--all"], urls(broker))
            #expect(get.output.contains("gestures.shake.sensitivity=4"), "\(get.output)")
        }
        swarm.signal(SIGTERM)
        #expect(await swarm.exitStatus() == 0)
    }

    /// A machine whose clock is hours ahead has published, the broker has lost that, and nobody else has seen it.
    @Test func newEpochFollowsADocumentThatIsAhead() async throws {
        let broker = try await rig.broker()
        let observer = try await Observer(broker.port)
        let swarm = try swarm(urls(broker))
        #expect(await observer.sees { isOnline($0) }, "\(swarm.errors)")
        let ahead = Int64(Date().timeIntervalSince1970 * 1000) + 72_000_000
        for text in [#"{"schema":1,"revision":7,"config":{},"at":\#(ahead)}"#, ""] {
            try observer.publish("jostle/_all/config", text, retain: true)
            #expect(await observer.sees { try revisions($0) == [7] })
        }
        try FileManager.default.createDirectory(atPath: directory.path("fleet"), withIntermediateDirectories: true)
        try directory.write("gestures: { shake: { sensitivity: 4 } }\n", to: "fleet/all.yaml")
        let apply = try await fleet(["apply", directory.path("fleet"), "--new-epoch", "--wait", "30s"], urls(broker))
        #expect(apply.output.contains("10 of 10 devices applied it"), "\(apply.output)\(apply.errors)")
        swarm.signal(SIGTERM)
        #expect(await swarm.exitStatus() == 0)
    }

    @Test func rolloutGoesOnAtTheOtherBroker() async throws {
        let (first, second) = try await bridged()
        defer {
            first.kill()
            second.kill()
        }
        let both = urls(first, second)
        let observer = try await Observer(second.port)
        let swarm = try swarm(both)
        #expect(await observer.sees { isOnline($0) }, "\(swarm.errors)")
        let rollout = try start(
            ["set", "--all", "gestures.shake.sensitivity=9", "--canary", "10%", "--steps", "50%", "--wait", "60s"], both
        )
        #expect(
            await eventually { rollout.output.contains("published all 1") }, "\(rollout.errors)")
        first.kill()
        let status = await rollout.exitStatus()
        #expect(status == 0, "\(rollout.errors)\(rollout.output)")
        #expect(rollout.output.contains("10 of 10 devices have it"), "\(rollout.output)")
        #expect(await observer.sees { try revisions($0).count == 1 })
    }
}
