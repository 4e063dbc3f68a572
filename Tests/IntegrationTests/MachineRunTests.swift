import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: a machine that runs before and after a restart of the program or the sensor has run once.
@Suite(.needsBroker) struct MachineRunTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    /// At rest, but for seconds of vibration along z at 20 Hz.
    private func recording(vibrating: ClosedRange<Double>) throws -> String {
        var text = Recording.header + "\n"
        for index in 0..<6000 {
            let time = Double(index) / 100
            let z = 9.80665 + (vibrating.contains(time) ? 1.5 * sin(2 * .pi * 20 * time) : 0)
            text += String(format: "%.2f,0,0,%.5f,0,0,0\n", time, z)
        }
        return try directory.write(text, to: "\(vibrating).csv")
    }

    private func agent(_ broker: TestBroker, _ trajectory: String) throws -> JostleProgram {
        try rig.agent(
            broker: broker.port,
            [
                "sensor.driver=virtual", "sensor.trajectory=\(trajectory)", "sensor.rate=50Hz",
                "gestures.vibration.enabled=true", "gestures.vibration.run_time=2 s",
                "gestures.vibration.done_after=4 s", "settings.allow=[sensor]",
            ], state: directory.path("state"))
    }

    /// An agent that has reported that a machine runs, and goes on running.
    private func agentOnMachine(_ broker: TestBroker, _ observer: Observer) async throws -> JostleProgram {
        let agent = try agent(broker, try recording(vibrating: 5...60))
        #expect(await observer.sees { try vibrations($0).map(\.phase) == ["began"] }, "\(agent.errors)")
        return agent
    }

    private func restartSensor(of agent: JostleProgram, _ observer: Observer) async throws {
        #expect(await agent.logs("the sensor is measuring"), "\(agent.errors)")
        try observer.publish("jostle/dut/set/sensor.rate", "100 Hz")
        #expect(await agent.logs("the sensor is measuring", times: 2), "\(agent.errors)")
    }

    private func vibrations(_ observer: Observer) throws -> [PublishedEvent] { try observer.events("vibration") }

    @Test func endsOnceAfterCrashStopAndRestartOfTheSensor() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let first = try await agentOnMachine(broker, observer)
        let began = ContinuousClock.now
        first.signal(SIGKILL)
        #expect(await observer.availability("offline"))

        let second = try agent(broker, try recording(vibrating: 0...60))
        #expect(await observer.availability("online", count: 3), "\(second.errors)")
        #expect(await second.logs("the sensor is measuring"), "\(second.errors)")
        #expect(await observer.sees { try $0.objects("state").last?["vibrating"] as? Bool == true }, "\(second.errors)")
        #expect(await second.terminate() == 0)

        let earlier = began.duration(to: .now) / .seconds(1)
        let third = try agent(broker, try recording(vibrating: 0...8))
        #expect(await observer.availability("online", count: 5), "\(third.errors)")
        try await restartSensor(of: third, observer)
        #expect(await observer.sees { try vibrations($0).count > 1 }, "\(third.errors)")
        let events = try vibrations(observer)
        #expect(events.map(\.phase) == ["began", "ended"], "\(events)")
        let passed = began.duration(to: .now) / .seconds(1)
        let ended = try #require(try observer.objects("event/vibration").last)
        #expect(ended["adopted"] == nil && ended["reason"] == nil)
        let duration = try #require(ended["duration"] as? Double)
        #expect(duration > earlier && duration < passed + 4, "\(duration) s of \(passed) s")
        #expect(await third.terminate() == 0)
    }

    @Test(arguments: [true, false]) func isCancelledOnceIfTheMachineStoppedMeanwhile(hasFile: Bool) async throws {
        let (broker, observer) = try await rig.observedBroker()
        let first = try await agentOnMachine(broker, observer)
        #expect(await first.terminate() == 0)
        if !hasFile { try FileManager.default.removeItem(atPath: directory.path("state/machine-run")) }

        let second = try agent(broker, "rest")
        #expect(await observer.sees { try vibrations($0).count > 1 }, "\(second.errors)")
        let last = try #require(try observer.objects("event/vibration").last)
        #expect(last["phase"] as? String == "cancelled" && last["reason"] as? String == "restarted", "\(last)")
        // It is over, also after a restart of the sensor.
        try await restartSensor(of: second, observer)
        try await Task.sleep(for: .seconds(2))
        #expect(try observer.objects("state").last?["vibrating"] as? Bool == false)
        #expect(await second.terminate() == 0)
        // The next start finds nothing.
        let third = try agent(broker, "rest")
        #expect(await third.logs("the sensor is measuring"), "\(third.errors)")
        #expect(await third.terminate() == 0)
        #expect(try vibrations(observer).count == 2)
    }

    /// Switched off by somebody: the run is over.
    @Test func commandStopEndsTheRun() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try await agentOnMachine(broker, observer)
        try observer.publish(MQTTMessage(topic: "jostle/dut/command/stop", payload: [], qos: .atLeastOnce))
        #expect(await observer.sees { try vibrations($0).map(\.phase) == ["began", "cancelled"] }, "\(agent.errors)")
        #expect(try observer.objects("event/vibration").last?["reason"] as? String == "stopped")
        #expect(await agent.terminate() == 0)
    }

    /// What somebody says is in force at once; what only reads, or acknowledges, needs no right.
    @Test func machineIsPublishedAndAsked() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let state = directory.path("state")
        let run = ["sensor.driver=virtual", "sensor.rate=50Hz", "gestures.vibration.threshold=0.12"]
        let first = try rig.agent(
            broker: broker.port,
            run + [
                "sensor.trajectory=\(try recording(vibrating: 5...60))", "gestures.vibration.run_time=2 s",
                "commands.allow=[machine]",
            ], state: state)
        func phases() throws -> [String] { try observer.objects("machine").compactMap { $0["phase"] as? String } }
        #expect(await observer.sees { _ in try phases().last == "running" }, "\(first.errors)")
        #expect(observer.messages("machine").last?.qos == .atMostOnce)
        func ask(_ words: String...) async throws -> Outcome {
            let broker = "mqtt.broker=mqtt://127.0.0.1:\(broker.port)"
            return try await JostleProgram(["machine"] + words + ["--on", "dut", "--set", broker]).outcome()
        }
        let running = try await ask().expect(status: 0)
        #expect(
            running.output.contains("dut: running for ") && running.output.contains("the board is still learning it"))
        try await ask("fine").expect(status: 0, output: "as it should be")
        try await ask("--json").expect(status: 0, output: "\"phase\":\"running\"")
        try await ask("offf").expect(status: 64, errors: "did you mean \"off\"?")
        try await ask("off").expect(status: 0, output: "when it is off")
        #expect(await observer.sees { try vibrations($0).map(\.phase) == ["began", "ended"] }, "\(first.errors)")
        #expect(await observer.sees { _ in try phases().last == "off" }, "\(first.errors)")
        #expect(await first.terminate() == 0)

        let second = try rig.agent(
            broker: broker.port, run + ["sensor.trajectory=rest"], state: state)
        #expect(await second.logs("the sensor is measuring"), "\(second.errors)")
        let runs = try await ask().expect(status: 0)
        #expect(
            runs.output.contains("longest pause") && runs.output.split(separator: "\n").count == 3, "\(runs.output)")
        try await ask("off").expect(status: 77, errors: "commands.allow")
        try await ask("fine").expect(status: 0)
        #expect(await second.terminate() == 0)
    }

    @Test func checkSaysWhenTheMachineRunsInARecording() async throws {
        let file = try recording(vibrating: 20...60)
        let outcome = try await jostle("machine", "--check", file).expect(status: 0)
        #expect(outcome.output.contains("vibration began"), "\(outcome.output)")
        try await jostle("machine", "off", "--check", file).expect(status: 64)
        try await jostle("machine", "--check", directory.path("none.csv")).expect(status: 66)
    }
}
