import BrokerTestSupport
import Testing

/// Requirement: the command `simulate` brings about every cancellation that a movement can cause, and subscribers receive
/// it.
@Suite(.needsBroker) struct SimulatedCancellationTests {
    private let rig = Rig()

    static let movements = [
        ("short-shake", "shake", "too_short"), ("long-shake", "shake", "too_long"),
        ("shake-and-drop", "shake", "interrupted"), ("long-turn", "turn", "too_long"),
        ("turn-and-shake", "turn", "interrupted"), ("long-fall", "fall", "too_long"),
        ("soft-catch", "fall", "too_weak"), ("tilted-turn", "turn", "tilted"),
    ]

    @Test func subscribersReceiveEachCancellation() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try rig.virtualAgent(broker: broker.port, "rest", "sensor.rate=200Hz")
        #expect(await observer.sees { !$0.messages("config/reported").isEmpty }, "\(agent.errors)")
        func command(_ arguments: String) async throws {
            let results = observer.messages("command/simulate/result").count
            try observer.publish("jostle/dut/command/simulate", arguments)
            #expect(await observer.sees { $0.messages("command/simulate/result").count > results }, "\(agent.errors)")
        }
        for (movement, gesture, reason) in Self.movements {
            let before = observer.messages("event/\(gesture)").count
            try await command("{\"movement\":\"\(movement)\"}")
            func events(_ observer: Observer) throws -> [[String: Any]] {
                try observer.objects("event/\(gesture)").dropFirst(before).filter {
                    $0["phase"] as? String != "changed"
                }
            }
            #expect(await observer.sees { try events($0).count >= 2 }, "\(movement)")
            let phases = try events(observer)
            #expect(phases.compactMap { $0["phase"] as? String } == ["began", "cancelled"], "\(movement): \(phases)")
            #expect(phases.last?["reason"] as? String == reason, "\(movement): \(phases)")
            #expect(phases.last?["simulated"] as? Bool == true)
            try await command("{\"stop\":true}")
        }
        #expect(await agent.terminate() == 0)
    }
}
