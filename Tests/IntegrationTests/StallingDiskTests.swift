import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: a stalled disk costs no gesture, no sample and no watchdog notification; data is written when the disk
/// responds, and health reports mention the stall.
///
/// `libStallingDisk.so` delays every write below the state directory. `JOSTLE_STALL_SECONDS=45` makes the stall long.
@Suite(.needsBroker, .enabled(if: Products.hasStallingDisk, "libStallingDisk.so was not built"))
struct StallingDiskTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()
    private let seconds = Double(ProcessInfo.processInfo.environment["JOSTLE_STALL_SECONDS"] ?? "") ?? 4

    private var state: String { directory.path("state") }
    private var stall: String { directory.path("stall") }

    private func agent(
        _ broker: TestBroker, _ settings: [String], _ environment: [String: String]
    ) throws -> JostleProgram {
        let stalling = [
            "LD_PRELOAD": Products.stallingDisk.path, "STALLING_DISK": state, "STALLING_DISK_SWITCH": stall,
        ]
        return try rig.agent(
            broker: broker.port, ["sensor.driver=virtual"] + settings, state: state,
            environment: stalling.merging(environment) { $1 }, seconds: 600)
    }

    /// The board is shaken, set, tared and calibrated from movement while the disk is stalled.
    @Test(.timeLimit(.minutes(5))) func stallCostsNoGestureSampleOrWatchdog() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let manager = try NotifySocket(in: directory)
        // A shake every two seconds.
        let shakes = try directory.write(Recording.shake(), to: "shakes.csv")
        let agent = try agent(
            broker,
            [
                "sensor.trajectory=\(shakes)", "sensor.rate=50Hz", "attitude.reference=stored",
                "publish.health.interval=1 s", "home_assistant.discovery=true",
            ], ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "1000000"])
        #expect(await observer.sees { $0.messages("event/shake").count >= 4 }, "\(agent.errors)")
        let before = try #require(try observer.objects("health").last)

        try Data().write(to: URL(fileURLWithPath: stall))
        manager.drain()
        let start = ContinuousClock.now
        let shakesBefore = observer.messages("event/shake").count
        try observer.publish("jostle/dut/set/gestures.shake.cooldown", "0.4 s")
        try observer.publish(MQTTMessage(topic: "jostle/dut/command/tare", payload: [], qos: .atLeastOnce))
        // Watchdog notifications arrive twice a second; gestures and replies continue.
        var signs = 0
        while start.duration(to: .now) < .seconds(seconds) {
            #expect(await manager.receives("WATCHDOG=1"), "\(agent.errors)")
            signs += 1
        }
        #expect(Double(signs) >= 1.5 * seconds, "\(signs) watchdog notifications in \(seconds) s")
        #expect(try observer.objects("command/tare/result").last?["ok"] as? Bool == true, "\(agent.errors)")
        let during = observer.messages("event/shake").count - shakesBefore
        let isIll = { (health: [String: Any]) in
            let problems = health["problems"] as? [String] ?? []
            return problems.contains("outbox") && problems.contains("storage") && health["outbox_fault"] != nil
                && health["outbox_unstored"] as? Int ?? 0 > 0
                && (health["storage_faults"] as? [String])?.isEmpty == false
        }
        #expect(
            await observer.sees { try $0.objects("health").contains(where: isIll) },
            "\(observer.texts("health").suffix(3))")

        try FileManager.default.removeItem(atPath: stall)
        #expect(await agent.logs("the outbox can be written again"), "\(agent.errors)")
        await observer.expect(agent) { try ($0.objects("health").last?["problems"] as? [String])?.isEmpty == true }
        let after = try #require(try observer.objects("health").last)
        for name in ["gaps", "lost_samples", "dropped_deliveries", "outbox_dropped", "recoveries"] {
            #expect(after[name] as? Int == before[name] as? Int, "\(name): \(after)")
        }
        #expect(await agent.terminate() == 0, "\(agent.errors)")
        let settings = try String(contentsOfFile: state + "/local-settings.json", encoding: .utf8)
        #expect(settings.contains("cooldown"))
        #expect(FileManager.default.fileExists(atPath: state + "/reference-attitude"))
        try expectComplete(observer)
        print(
            "stalling disk: \(Int(seconds)) s, \(during) shake events during it, \(signs) signs of life, "
                + "\(after["outbox_sent_unstored"] ?? 0) events sent from memory, 0 lost")
    }

    /// The agent is stopped while the disk is stalled, and does not wait for it.
    @Test(.timeLimit(.minutes(1))) func stopDoesNotWaitForDisk() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try agent(broker, ["sensor.trajectory=demo"], [:])
        #expect(await observer.sees { !$0.messages("event/shake").isEmpty }, "\(agent.errors)")
        try Data().write(to: URL(fileURLWithPath: stall))
        let start = ContinuousClock.now
        agent.signal(SIGTERM)
        #expect(await agent.exitStatus() == 0, "\(agent.errors)")
        #expect(start.duration(to: .now) < .seconds(5))
        #expect(await observer.availability("offline"))
    }
}

/// Requirement: a reported setting is in force after a kill.
@Suite(.needsBroker) struct KillAfterSetTests {
    private let rig = Rig()

    @Test(.timeLimit(.minutes(3))) func reportedValueSurvivesKill() async throws {
        let directory = try TemporaryDirectory()
        let (broker, observer) = try await rig.observedBroker()
        let key = "gestures.shake.sensitivity"
        var lost = 0
        let rounds = 8
        for round in 1...rounds {
            let agent = try rig.agent(
                broker: broker.port, ["sensor.driver=virtual", "sensor.trajectory=rest"], state: directory.path("state")
            )
            defer { agent.kill() }
            #expect(await observer.availability("online", count: 2 * round - 1), "\(agent.errors)")
            let value = round % 9 + 1
            try observer.publish("jostle/dut/set/\(key)", "\(value)")
            #expect(await observer.sees { try Self.keptSensitivity($0) == value }, "\(agent.errors)")
            agent.kill()
            #expect(await observer.availability("offline", count: 2 * round), "the will")
            let stored = try? String(contentsOfFile: directory.path("state/local-settings.json"), encoding: .utf8)
            if stored?.contains(": \(value)") != true { lost += 1 }
        }
        #expect(lost == 0, "\(lost) of \(rounds) lost")
    }

    /// The shake sensitivity in the last report; `nil` if it is not on disk yet.
    private static func keptSensitivity(_ observer: Observer) throws -> Int? {
        let report = try observer.objects("config/reported").last
        guard report?["not_kept"] == nil else { return nil }
        return try observer.setting("gestures.shake.sensitivity") as? Int
    }
}
