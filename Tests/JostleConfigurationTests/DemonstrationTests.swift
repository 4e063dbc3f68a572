import MotionCore
import Testing

@testable import JostleConfiguration

/// Requirement: a demonstration uses the configured sensor and gestures, and nothing by which it would be taken for the
/// device.
@Suite struct DemonstrationTests {
    private let text = """
        device: { id: lamp, name: Lamp, groups: [hall] }
        sensor: { rate: 50 Hz }
        gestures: { shake: { sensitivity: 8 } }
        mqtt: { broker: mqtt://hall:1883, username: lamp, prefix: home }
        home_assistant: { prefix: ha }
        actions: [{ on: shake, publish: { topic: lamp/set } }]
        fleet: { remote: [gestures] }
        settings: { allow: [publish] }
        commands: { allow: [ping] }
        """

    @Test func leavesIdentityOut() throws {
        let board = try build(text).finish()
        let demo = board.withoutIdentity(keepsConnection: false)
        var expected = JostleSettings()
        expected.imu = board.settings.imu
        expected.motion = board.settings.motion
        #expect(demo.settings == expected && demo.settings.motion.gestures[.shake].sensitivity == 8)
        let kept = ConfigurationSchema.keys.map(\.path).filter { demo.provenance[$0] != nil }
        #expect(kept == ["sensor.rate", "gestures.shake.sensitivity"], "\(kept)")
        #expect(demo.provenance["actions[0].on"] == nil && board.provenance["actions[0].on"] != nil)
    }

    @Test func keepsConnectionIfItIsUsed() throws {
        let demo = try build(text).finish().withoutIdentity(keepsConnection: true)
        #expect(demo.settings.mqtt.username == "lamp" && demo.settings.mqtt.prefix == "home")
        #expect(demo.settings.device == JostleSettings.Device() && demo.settings.actions.isEmpty)
    }

    @Test func argumentsAreAbove() throws {
        let demo = try build(text).finish().withoutIdentity(keepsConnection: false)
        let told = try demo.overridden(by: ["device.id=desk"])
        #expect(told.settings.device.id == "desk" && told.isArgument("device.id") && !told.isArgument("sensor.rate"))
        #expect(throws: ConfigurationErrors.self) { try demo.overridden(by: ["device.id=/"]) }
    }
}
