import Documents
import IMUDrivers
import MotionCore
import Testing

@testable import JostleConfiguration

/// A key, a value as it is written in YAML, and a check of the resulting settings.
struct AcceptedValue: Sendable, CustomTestStringConvertible {
    var path: String
    var text: String
    var isApplied: @Sendable (JostleSettings) -> Bool

    init(_ path: String, _ text: String, _ isApplied: @escaping @Sendable (JostleSettings) -> Bool) {
        self.path = path
        self.text = text
        self.isApplied = isApplied
    }

    var testDescription: String { "\(path): \(text)" }
}

/// A key, a value that it refuses, and a part of the message.
struct RefusedValue: Sendable, CustomTestStringConvertible {
    var path: String
    var text: String
    var reason: String

    /// Values of one key that are refused for the same reason.
    typealias Row = (path: String, texts: [String], reason: String)

    var testDescription: String { "\(path): \(text)" }
}

/// The values of every key: kinds, units, bounds, and refused values.
@Suite struct SettingValueTests {
    @Test(arguments: AcceptedValue.all)
    func accepts(_ value: AcceptedValue) throws {
        let builder = try build(nested(value.path, value.text))
        #expect(builder.problems.isEmpty, "\(builder.problems)")
        #expect(value.isApplied(builder.settings))
        #expect(builder.provenance[value.path] != nil)
    }

    @Test(arguments: RefusedValue.all)
    func refuses(_ value: RefusedValue) throws {
        let builder = try build(nested(value.path, value.text))
        #expect(builder.problems.count == 1)
        let problem = try #require(builder.problems.first)
        #expect(problem.path == value.path)
        #expect(problem.reason.contains(value.reason), "\(problem)")
        let key = try #require(ConfigurationSchema.keys.first { $0.path == value.path })
        #expect(problem.allowed == key.allowed)
        #expect(builder.settings == JostleSettings())
        #expect(builder.provenance[value.path] == nil)
    }

    @Test func everyKeyHasAcceptedAndRefusedValues() {
        for key in ConfigurationSchema.keys {
            #expect(AcceptedValue.all.contains { $0.path == key.path }, "\(key.path)")
            #expect(RefusedValue.all.contains { $0.path == key.path }, "\(key.path)")
        }
    }

    @Test(arguments: ConfigurationSchema.keys.map(\.path))
    func nullClearsOptionalKeysOnly(_ path: String) throws {
        let key = try #require(ConfigurationSchema.keys.first { $0.path == path })
        let builder = build(overrides: ["\(path)="])
        #expect(builder.settings == JostleSettings())
        #expect(builder.problems.map(\.reason) == (key.isOptional ? [] : ["has no value"]))
    }

    @Test(arguments: ConfigurationSchema.keys.map(\.path))
    func refusesMapping(_ path: String) {
        let builder = build(overrides: ["\(path)={a: 1}"])
        #expect(builder.problems.count == 1)
        #expect(builder.problems.first?.reason.hasPrefix("is a mapping, not a ") == true, "\(builder.problems)")
    }

    @Test func roundsMountMatrixToExactRotation() throws {
        let text = "[0.707, -0.707, 0, 0.707, 0.707, 0, 0, 0, 1]"
        let mount = try build("sensor: { mount_matrix: \(text) }").settings.motion.mount
        #expect(mount.orthonormalityError < 1e-15)
        #expect(abs(mount.row0.x - 0.5.squareRoot()) < 1e-12)
        #expect(abs(mount.row0.y + 0.5.squareRoot()) < 1e-12)
        #expect(mount.row2 == Vector3(0, 0, 1))
    }

    @Test func reportsPositionOfListElement() throws {
        let builder = try build("mqtt:\n  broker:\n    - mqtt://a\n    - http://b\n")
        #expect(builder.problems.map { "\($0.position)" } == ["jostle.yaml:4:7"])
        #expect(builder.problems.first?.found == "http://b")
        let matrix = try build("sensor:\n  mount_matrix: [1, 0, 0, 0, x, 0, 0, 0, 1]\n")
        #expect(matrix.problems.map { "\($0.position)" } == ["jostle.yaml:2:30"])
        #expect(matrix.problems.first?.found == "x")
    }

    @Test func readsSameSettingsFromJSON() throws {
        let text = #"{"sensor":{"rate":500,"batch":"50 ms","address":105},"gestures":{"shake":{"enabled":false}}}"#
        var builder = ConfigurationBuilder()
        builder.apply(try json(text))
        #expect(builder.problems.isEmpty)
        #expect(builder.settings.imu.rate == 500)
        #expect(builder.settings.imu.batchInterval == 0.05)
        #expect(builder.settings.sensor.address == 0x69)
        #expect(builder.settings.motion.gestures.shake.common.isEnabled == false)
        #expect(builder.provenance["sensor.rate"] == DocumentPosition(.message("topic"), line: 1, column: 19))
    }

    /// `a.b` and a value as a YAML document.
    func nested(_ path: String, _ text: String) -> String {
        let names = path.split(separator: ".")
        return names.enumerated().map { index, name in
            String(repeating: "  ", count: index) + name + ":"
        }.joined(separator: "\n") + " " + text
    }
}
