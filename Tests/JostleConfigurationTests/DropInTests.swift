import BrokerTestSupport
import Foundation
import LinuxSystem
import Testing

@testable import JostleConfiguration

/// Requirement: the files of `conf.d` override the configuration file in the order of their names, and their errors are
/// reported as those of the file.
@Suite struct DropInTests {
    private let directory: TemporaryDirectory
    private let main: String
    private var conf: String { directory.path("conf.d") }

    init() throws {
        directory = try TemporaryDirectory()
        main = try directory.write(
            "sensor: { rate: 100 Hz, batch: 40 ms }\nactions: [{ on: tap, publish: { topic: a } }]\n",
            to: "jostle.yaml")
        try FileManager.default.createDirectory(
            atPath: directory.path("conf.d"), withIntermediateDirectories: true)
    }

    private func load(_ file: String? = nil, _ overrides: [String] = []) throws -> LoadedConfiguration {
        try JostleSettings.load(file: file ?? main, overrides: overrides)
    }

    @Test func filesOverrideEachOtherInOrderOfTheirBytes() throws {
        for (name, text) in [
            ("9.yaml", "sensor: { rate: 25 Hz }\nactions: [{ on: flick, publish: { topic: b } }]"),
            ("10.yaml", "sensor: { rate: 50 Hz, accelerometer_range: 4 g }"),
            ("Z.yaml", "sensor: { gyroscope_range: 500 }"), ("a.yaml", "sensor: { gyroscope_range: 250 }"),
        ] {
            try directory.write(text, to: "conf.d/\(name)")
        }
        let loaded = try load()
        // The byte order puts 10 before 9, and capitals before small letters.
        #expect(loaded.files == [main] + ["10", "9", "Z", "a"].map { "\(conf)/\($0).yaml" })
        #expect(loaded.settings.imu.rate == 25)
        #expect(loaded.settings.imu.batchInterval == 0.04)
        #expect(loaded.provenance["sensor.rate"]?.description == "\(conf)/9.yaml:1:17")
        #expect(loaded.provenance["sensor.accelerometer_range"]?.description == "\(conf)/10.yaml:1:45")
        #expect(loaded.provenance["sensor.batch"]?.description == "\(main):1:32")
        // A list replaces the one below, a mapping does not.
        #expect(loaded.settings.actions.map(\.publish.topic?.source) == ["b"])
        #expect(try load(nil, ["sensor.rate=5Hz"]).settings.imu.rate == 5)
    }

    @Test func otherNamesAreSkippedAndThoseThatLookAlikeAreNamed() throws {
        for name in [".hidden.yaml", "x.yml", "x.yaml~", "x.yaml.dpkg-old", "README", "y.YAML"] {
            try directory.write("not: [valid", to: "conf.d/\(name)")
        }
        #expect(try load().files == [main])
        let ignored = try #require(DropInDirectory(of: main)).ignoredFiles()
        #expect(ignored == ["\(conf)/x.yml", "\(conf)/y.YAML"])
    }

    @Test func directoryDependsOnTheNameOfTheFile() {
        #expect(DropInDirectory(of: "/etc/jostle/jostle.yaml")?.path == "/etc/jostle/conf.d")
        #expect(DropInDirectory(of: "/etc/jostle/left.yaml")?.path == "/etc/jostle/left.conf.d")
        #expect(DropInDirectory(of: "jostle.yaml")?.path == "conf.d")
        for name in ["/dev/stdin", "/etc/jostle/jostle.conf", "/etc/jostle/.yaml", ""] {
            #expect(DropInDirectory(of: name) == nil)
        }
        #expect(DropInDirectory(containing: "/etc/jostle/conf.d/a.yaml")?.parent == "/etc/jostle/")
        #expect(DropInDirectory(containing: "/etc/jostle/left.conf.d/a.yaml")?.parent == "/etc/jostle/")
        #expect(DropInDirectory(containing: "conf.d/a.yaml")?.parent == "")
        for name in ["/etc/jostle/jostle.yaml", "a.yaml", "/etc/xconf.d/a.yaml"] {
            #expect(DropInDirectory(containing: name) == nil)
        }
    }

    @Test func instanceHasADirectoryOfItsOwn() throws {
        let left = try directory.write("", to: "left.yaml")
        try FileManager.default.createDirectory(
            atPath: directory.path("left.conf.d"), withIntermediateDirectories: true)
        try directory.write("sensor: { rate: 50 Hz }", to: "left.conf.d/a.yaml")
        try directory.write("sensor: { rate: 25 Hz }", to: "conf.d/a.yaml")
        #expect(try load(left).settings.imu.rate == 50)
        #expect(try load().settings.imu.rate == 25)
    }

    @Test func relativePathsReferToTheDirectoryOfTheMainFile() throws {
        try directory.write("mqtt: { username: u, password_file: password, ca_file: tls/ca.pem }", to: "conf.d/a.yaml")
        let mqtt = try load().settings.mqtt
        #expect(mqtt.passwordFile == directory.path("password"))
        #expect(mqtt.caFile == directory.path("tls/ca.pem"))
    }

    @Test func problemsNameTheFile() throws {
        try directory.write("sensor:\n  rate: fast\n  raet: 1\n", to: "conf.d/a.yaml")
        try directory.write("a: [", to: "conf.d/b.yaml")
        let lines = try #require(problem { try load() }).split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.first?.hasPrefix("\(conf)/a.yaml:2:9: sensor.rate: \"fast\" ") == true, "\(lines)")
        #expect(lines.dropFirst().first == "\(conf)/a.yaml:3:3: sensor.raet: unknown key; did you mean \"rate\"?")
        #expect(lines.last?.hasPrefix("\(conf)/b.yaml:") == true, "\(lines)")
    }

    /// What a file needs may be in another one.
    @Test func contradictionsAreJudgedTogether() throws {
        let file = try directory.write("mqtt: { password_file: password }", to: "conf.d/a.yaml")
        #expect(problem { try load() }?.contains("a.yaml:1:24: mqtt.password_file: needs mqtt.username or") == true)
        let conf = try #require(DropInDirectory(containing: file))
        let alone = try JostleSettings.load(alone: file, of: conf)
        #expect(alone.settings.mqtt.passwordFile == directory.path("password"))
        #expect(alone.files == [file])
        try directory.write("mqtt: { username: u }", to: "conf.d/b.yaml")
        #expect(try load().settings.mqtt.username == "u")
        try directory.write("sensor: { rate: fast }", to: "conf.d/a.yaml")
        #expect(
            problem { try JostleSettings.load(alone: file, of: conf) }?.hasPrefix("\(file):1:17: sensor.rate") == true)
    }

    @Test func unreadableFileIsAnError() throws {
        try FileManager.default.createDirectory(atPath: conf + "/d.yaml", withIntermediateDirectories: true)
        #expect(problem { try load() } == "\(conf)/d.yaml: Is a directory")
        try FileManager.default.removeItem(atPath: conf + "/d.yaml")
        try FileManager.default.createSymbolicLink(atPath: conf + "/l.yaml", withDestinationPath: "/nonexistent")
        #expect(problem { try load() } == "\(conf)/l.yaml: No such file or directory")
        try FileManager.default.removeItem(atPath: conf + "/l.yaml")
        // Opening a pipe would wait for a writer.
        #expect(mkfifo(conf + "/p.yaml", 0o600) == 0)
        #expect(problem { try load() } == "\(conf)/p.yaml: Not a regular file")
        try FileManager.default.removeItem(atPath: conf)
        try directory.write("", to: "conf.d")
        #expect(problem { try load() } == "\(conf): Not a directory")
    }

    @Test func numberAndSizeAreLimited() throws {
        for index in 100..<(100 + DropInDirectory.maximumCount) {
            try directory.write("sensor: { rate: \(index) Hz }", to: "conf.d/\(index).yaml")
        }
        #expect(try load().settings.imu.rate == 163)
        try directory.write("", to: "conf.d/z.yaml")
        #expect(problem { try load() } == "\(conf)/z.yaml:1:1: is one file too many; at most 64 are read from \(conf)")
        try FileManager.default.removeItem(atPath: conf + "/z.yaml")
        try directory.write(String(repeating: "#", count: 600_000), to: "conf.d/120.yaml")
        #expect(try load().settings.imu.rate == 163)
        try directory.write(String(repeating: "#", count: 600_000), to: "conf.d/130.yaml")
        let expected = "\(conf)/130.yaml:1:1: the files of this directory are together longer than 1048576 bytes"
        #expect(problem { try load() } == expected)
    }

    /// A user who has only files of `conf.d` must not get the built-in defaults without a word.
    @Test func mainFileMayBeMissing() throws {
        try FileManager.default.removeItem(atPath: main)
        func standard() -> String? { ConfigurationFile.standard(environment: { _ in nil }, systemPath: main) }
        #expect(standard() == nil)
        #expect(problem { try load() } == "\(main): No such file or directory")
        let file = try directory.write("sensor: { rate: 50 Hz }", to: "conf.d/a.yaml")
        #expect(standard() == main)
        let loaded = try load()
        #expect(loaded.settings.imu.rate == 50 && loaded.files == [file])
    }
}
