import BrokerTestSupport
import Documents
import Foundation
import IMUDrivers
import JostleRuntime
import LinuxSystem
import MotionCore
import Testing

@testable import JostleConfiguration

/// Layers, files and the report of the values in force.
@Suite struct ConfigurationLayerTests {
    @Test func defaultsApplyWithoutLayers() throws {
        let loaded = try JostleSettings.load(file: nil)
        #expect(loaded.settings == JostleSettings())
        #expect(loaded.settings.imu == IMUSettings())
        #expect(loaded.settings.motion == MotionSettings())
        #expect(loaded.provenance == Provenance())
    }

    @Test func argumentsOverrideFileAndFileOverridesDefaults() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("sensor:\n  rate: 100 Hz\n  batch: 40 ms\n", to: "a.yaml")
        let loaded = try JostleSettings.load(file: path, overrides: ["sensor.rate=400Hz", "sensor.rate=500 Hz"])
        #expect(loaded.settings.imu.rate == 500)
        #expect(loaded.settings.imu.batchInterval == 0.04)
        #expect(loaded.settings.imu.accelerometerRange == IMUSettings().accelerometerRange)
        #expect(loaded.provenance["sensor.rate"]?.description == "--set sensor.rate")
        #expect(loaded.provenance["sensor.batch"]?.description == "\(path):3:10")
        #expect(loaded.provenance["sensor.accelerometer_range"] == nil)
    }

    /// Values of `--set`, as written after the equals sign.
    private static let argumentValues: [AcceptedValue] = [
        .init("gestures.shake", "{enabled: false, sensitivity: 7}") {
            !$0.motion.gestures.shake.common.isEnabled && $0.motion.gestures.shake.common.sensitivity == 7
        },
        .init("sensor.mount_matrix", "[0, 1, 0, -1, 0, 0, 0, 0, 1]") {
            $0.motion.mount.row0 == Vector3(0, 1, 0)
        },
        .init("mqtt.broker", "mqtt://localhost:1883") {
            $0.mqtt.broker == .remote([BrokerAddress(host: "localhost")])
        },
        .init("mqtt.broker", "[mqtt://a, mqtt://b]") {
            $0.mqtt.broker == .remote([BrokerAddress(host: "a"), BrokerAddress(host: "b")])
        },
        .init("device.name", "Press: 17 # not a comment = here") {
            $0.device.name == "Press: 17 # not a comment = here"
        },
        .init("device.name", "'quoted'") { $0.device.name == "quoted" },
        .init("device.name", "*&!@`%") { $0.device.name == "*&!@`%" },
    ]

    @Test(arguments: argumentValues)
    func argumentsAreTextOrFlowCollections(_ value: AcceptedValue) {
        let builder = build(overrides: ["\(value.path)=\(value.text)"])
        #expect(builder.problems.isEmpty, "\(builder.problems)")
        #expect(value.isApplied(builder.settings))
    }

    @Test func argumentClearsOptionalValue() throws {
        var builder = try build("device: { name: x }\nmqtt: { username: y }\n")
        builder.apply(override: "device.name=null")
        builder.apply(override: "mqtt.username=")
        #expect(builder.settings == JostleSettings())
    }

    /// `GoldenConfigurationTests` has other malformed arguments.
    @Test func refusesArgumentWithKeyThatOccursTwice() {
        let problems = build(overrides: ["gestures.shake={enabled: true, enabled: true}"]).problems
        #expect(problems.count == 1)
        let expected = "--set gestures.shake: the key \"enabled\" occurs twice"
        #expect(problems.first?.description.hasPrefix(expected) == true, "\(problems)")
    }

    @Test func relativePathsReferToDirectoryOfFile() throws {
        let text = """
            sensor: { trajectory: shakes.csv }
            mqtt: { ca_file: tls/ca.pem, key_file: /abs/key.pem, certificate_file: ./c.pem }
            """
        let settings = try build(text, directory: "/etc/jostle/").settings
        #expect(settings.sensor.trajectory == "/etc/jostle/shakes.csv")
        #expect(settings.mqtt.caFile == "/etc/jostle/tls/ca.pem")
        #expect(settings.mqtt.keyFile == "/abs/key.pem")
        #expect(settings.mqtt.certificateFile == "/etc/jostle/./c.pem")
        #expect(try build("sensor: { trajectory: rest }", directory: "/d").settings.sensor.trajectory == "rest")
        // Paths in arguments refer to the working directory.
        #expect(build(overrides: ["mqtt.ca_file=tls/ca.pem"]).settings.mqtt.caFile == "tls/ca.pem")

        let directory = try TemporaryDirectory()
        let path = try directory.write("mqtt: { ca_file: ca.pem }", to: "a.yaml")
        #expect(try JostleSettings.load(file: path).settings.mqtt.caFile == directory.path("ca.pem"))
    }

    @Test func reportsUnreadableFileWithPathAndError() throws {
        let directory = try TemporaryDirectory()
        let missing = directory.path("missing.yaml")
        #expect(throws: ConfigurationErrors.unreadable(path: missing, SystemFailure(code: ENOENT))) {
            try JostleSettings.load(file: missing)
        }
        #expect(throws: ConfigurationErrors.unreadable(path: directory.path, SystemFailure(code: EISDIR))) {
            try JostleSettings.load(file: directory.path)
        }
        #expect(
            ConfigurationErrors.unreadable(path: missing, SystemFailure(code: ENOENT)).description
                == "\(missing): No such file or directory")
    }

    @Test func refusesEndlessFile() {
        #expect {
            try JostleSettings.load(file: "/dev/zero")
        } throws: { error in
            (error as? ConfigurationErrors)?.description == "/dev/zero:1:1: longer than 1048576 bytes"
        }
    }

    @Test func reportsProblemsOfAllLayers() throws {
        let directory = try TemporaryDirectory()
        let broken = try directory.write("a: [", to: "broken.yaml")
        #expect {
            try JostleSettings.load(file: broken, overrides: ["sensor.rate=fast"])
        } throws: { error in
            guard case .invalid(let problems) = error as? ConfigurationErrors else { return false }
            return problems.map(\.position.source) == [.file(broken), .argument("sensor.rate")]
        }
    }

    /// The depth of an argument is limited like that of a file, because the tree is walked recursively.
    @Test func refusesKeysWithEndlessLevels() throws {
        let key = Array(repeating: "a", count: 100_000).joined(separator: ".")
        #expect {
            try JostleSettings.load(file: nil, overrides: ["\(key)=1"])
        } throws: { error in
            let text = "\(error)"
            return text.contains("more than 16 levels") && text.utf8.count < 300
        }
    }

    /// A log line has a limit, whatever the key is.
    @Test func shortensLongKeys() throws {
        let key = "sensor." + String(repeating: "k", count: 1000)
        let shown = "sensor." + String(repeating: "k", count: 121) + "…"
        func problems(file: String? = nil, overrides: [String] = []) throws -> String {
            try #require(problem { try JostleSettings.load(file: file, overrides: overrides) })
        }
        let argument = try problems(overrides: ["\(key)=1"])
        #expect(argument.hasPrefix("--set \(shown): unknown key; allowed: enabled, ") && argument.utf8.count < 600)
        #expect(try problems(overrides: ["\(key)..=1"]).utf8.count < 600)
        #expect(try problems(overrides: ["\(key)=[1"]).utf8.count < 600)
        let directory = try TemporaryDirectory()
        let path = try directory.write("\"\(key.dropFirst(7))\": 1\n", to: "long.yaml")
        let file = try problems(file: path)
        #expect(file.contains("long.yaml:1:1: kkk") && file.contains("…: unknown key") && file.utf8.count < 1000)
        let tree = try YAMLReader.read(Array("mqtt: { \(key.dropFirst(7)): 1 }".utf8), source: .layer("all"))
        let refusals = PatchCheck(ConfigurationPatch(tree, ignoresUnknownKeys: true)).problems
        #expect(refusals.count == 1 && refusals.allSatisfy { $0.description.utf8.count < 600 })
        let other = try YAMLReader.read(Array("\(key.dropFirst(7)): 1".utf8), source: .layer("all"))
        let ignored = PatchCheck(ConfigurationPatch(other, ignoresUnknownKeys: true)).ignoredKeys
        #expect(ignored.count == 1 && ignored.allSatisfy { $0.utf8.count < 200 })
    }

    @Test func findsStandardFile() throws {
        let directory = try TemporaryDirectory()
        let system = try directory.write("", to: "jostle.yaml")
        let missing = directory.path("missing.yaml")
        func standard(_ variable: String?, _ systemPath: String) -> String? {
            ConfigurationFile.standard(
                environment: { $0 == "JOSTLE_CONFIG" ? variable : nil }, systemPath: systemPath)
        }
        #expect(standard("/x.yaml", system) == "/x.yaml")
        #expect(standard("", system) == system)
        #expect(standard(nil, system) == system)
        #expect(standard(nil, missing) == nil)

        func instance(_ name: String, _ variable: String = "") -> String? {
            ConfigurationFile.standard(
                environment: { ["JOSTLE_CONFIG": variable, "JOSTLE_INSTANCE": name][$0] }, systemPath: system)
        }
        #expect(instance("left") == directory.path("left.yaml"))
        #expect(instance("") == system)
        #expect(instance("left", "/x.yaml") == "/x.yaml")
    }

    @Test func reportLoadsAsSameSettings() throws {
        let builder = build(overrides: [
            "device.name=No: \"7\" #é\\", "device.id=null1", "sensor.address=0x9", "sensor.bus=/dev/i2c-10",
            "sensor.mount_matrix=[[0.6, 0.8, 0], [-0.8, 0.6, 0], [0, 0, 1]]", "attitude.low_pass=0",
            "publish.attitude.deadband=0.3°", "publish.health.interval=1 d", "publish.motion.heartbeat=100ms",
            "mqtt.broker=[mqtts://a, 'mqtt://[::1]:1']", "mqtt.username=true", "mqtt.password_file=~/x",
            "gestures.shake.enabled=false", "log.level=debug", "sensor.rate=333.3",
        ])
        #expect(builder.problems.isEmpty, "\(builder.problems)")
        let report = ConfigurationSchema.describe(builder.settings, builder.provenance)
        let again = try build(report)
        #expect(again.problems.isEmpty, "\(again.problems)\n\(report)")
        #expect(again.settings == builder.settings, "\(report)")
        for key in ConfigurationSchema.keys { #expect(again.provenance[key.path] != nil) }
    }

    @Test func reportNamesOriginOfValues() throws {
        var builder = try build("sensor:\n  rate: 100 Hz\n")
        builder.apply(override: "sensor.batch=40ms")
        let lines = ConfigurationSchema.describe(builder.settings, builder.provenance).split(separator: "\n")
        #expect(lines.contains("  rate: 100 Hz  # jostle.yaml:2:9"))
        #expect(lines.contains("  batch: 40 ms  # --set sensor.batch"))
        #expect(lines.contains("  gyroscope_range: 2000 °/s  # built-in default"))
        #expect(lines.contains("  broker: null  # built-in default"))
    }

    @Test func reportsValuesAsWritten() throws {
        let text = ConfigurationSchema.values(of: JostleSettings()).compactText
        let tree = try json(text)
        #expect(tree["sensor"]?["rate"]?.text == "200 Hz")
        #expect(tree["gestures"]?["shake"]?["sensitivity"] == 5)
        var builder = ConfigurationBuilder()
        builder.apply(tree)
        #expect(builder.problems.isEmpty, "\(builder.problems)")
        #expect(builder.settings == JostleSettings())
    }

    @Test func logLevelsAreOrderedBySeverity() {
        #expect(JostleRuntime.Log.Level.error < .warning)
        #expect(JostleRuntime.Log.Level.allCases.sorted() == [.error, .warning, .info, .debug])
    }
}
