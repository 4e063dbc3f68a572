import BrokerTestSupport
import Foundation
import Testing

/// Requirement: what a sensor cannot measure is published as a problem, with what to do, and not as movement.
@Suite(.needsProgram) struct MeasurementTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    /// A recording at 100 Hz with noise on all axes that `change` does not touch.
    private func recording(seconds: Double, _ change: (Double, inout [Double]) -> Void) throws -> String {
        var text = Recording.header + "\n"
        for index in 0..<Int(seconds * 100) {
            let time = Double(index) / 100
            var force = [0, 0, 9.80665].map { $0 + Double.random(in: -0.04...0.04) }
            change(time, &force)
            let rates = (0..<3).map { _ in Double.random(in: -0.002...0.002) }
            text +=
                ([String(format: "%.2f", time)] + (force + rates).map { String(format: "%.5f", $0) })
                .joined(separator: ",") + "\n"
        }
        return try directory.write(text, to: "recording.csv")
    }

    @Test func anAxisAtTheEndOfItsRangeIsAFaultAndNoGesture() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let trajectory = try recording(seconds: 40) { time, force in if time >= 3, time < 33 { force[2] = -200 } }
        let agent = try rig.agent(
            broker: broker.port,
            [
                "sensor.driver=virtual", "sensor.trajectory=\(trajectory)", "gestures.vibration.enabled=true",
                "gestures.fall.enabled=true",
            ], state: directory.path("state"))
        #expect(
            await agent.logs("the sensor's samples are not used: the accelerometer's z axis is at the end of its range")
        )
        await observer.expect(agent) { try $0.objects("health").last?["problems"] as? [String] == ["sensor"] }
        let fault = try observer.objects("health").last?["sensor_fault"] as? String
        #expect(fault?.contains("z axis") == true)
        #expect(await agent.logs("the sensor is measuring again, after a gap of"), "\(agent.errors)")
        await observer.expect(agent) { try $0.objects("health").last?["problem"] as? Bool == false }
        for gesture in ["flip", "tilt", "vibration", "fall"] {
            #expect(try observer.events(gesture).isEmpty, "\(gesture)")
        }
        #expect(await agent.terminate() == 0)
    }

    @Test func twiceGravityIsAProblemWithWhatToDo() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let trajectory = try recording(seconds: 60) { _, force in force[2] += 9.80665 }
        let agent = try rig.agent(
            broker: broker.port, ["sensor.driver=virtual", "sensor.trajectory=\(trajectory)"],
            state: directory.path("state"))
        await observer.expect(agent) {
            try $0.objects("health").last?["problems"] as? [String] == ["sensor_scale"]
        }
        let health = try #require(try observer.objects("health").last)
        let factor = try #require(health["gravity_factor"] as? Double)
        #expect(abs(factor - 2) < 0.15)
        #expect((health["sensor_advice"] as? String)?.hasSuffix("Run jostle calibrate accelerometer") == true)
        #expect(agent.errors.contains("times gravity: this is probably a copy with another scale"), "\(agent.errors)")
        #expect(await agent.terminate() == 0)
    }

    @Test func replaySaysWhatCannotBe() async throws {
        let zero = try recording(seconds: 5) { _, force in force = [0, 0, 0] }
        let dead = try await jostle("replay", zero, "--set", "gestures.fall.enabled=true").expect(
            status: 0, errors: "s: samples are not used from here: the accelerometer reads zero in all axes")
        #expect(dead.lines.count == 1, "\(dead)")
        let frozen = try recording(seconds: 30) { time, force in if time < 20 { force[0] = 3 } }
        let explained = try await jostle("replay", frozen, "--explain")
        #expect(explained.output.contains("the accelerometer's x axis keeps one value, without noise"), "\(explained)")
        #expect(explained.output.contains("samples are used again from here"), "\(explained)")
    }
}
