import BrokerTestSupport
import Foundation
import JostleMessages
import MosquittoClient
import Testing

/// Requirement: an enrolled board reaches a mosquitto with the files of `config/mosquitto`, a revoked one does not, and a
/// new board takes the place of an old one.
@Suite(.needsBroker) struct EnrolmentCommandTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    private func fleet(_ words: String...) async throws -> Outcome { try await run(words) }

    private func run(_ words: [String], _ variables: [String: String] = [:]) async throws -> Outcome {
        let environment = ["STATE_DIRECTORY": directory.path("state"), "TZ": "UTC"].merging(variables) { $1 }
        return try await JostleProgram(["fleet"] + words, environment: environment).outcome()
    }

    /// A broker with the password file of the enrolment.
    private func broker() async throws -> TestBroker {
        let access = try String(contentsOf: FleetBroker.shipped.appendingPathComponent("acl"), encoding: .utf8)
        try directory.write(access + "\nuser observer\ntopic readwrite #\n", to: "acl")
        let broker = try TestBroker(
            settings: """
                allow_anonymous false
                password_file \(directory.path("enrolment/passwords"))
                acl_file \(directory.path("acl"))
                user root
                """)
        try await broker.start()
        return broker
    }

    private var enrolment: String { directory.path("enrolment") }

    /// The password that a board got.
    private func password(_ id: String) throws -> String {
        try String(contentsOfFile: "\(enrolment)/\(id)/password", encoding: .utf8).trimmingCharacters(in: .newlines)
    }

    /// Runs an agent on the virtual chip with the files of a board, but for the paths and the address of the broker.
    private func agent(_ id: String, _ port: UInt16) throws -> JostleProgram {
        let config = try String(contentsOfFile: "\(enrolment)/\(id)/jostle.yaml", encoding: .utf8)
            .replacingOccurrences(of: "/etc/jostle/", with: "\(enrolment)/\(id)/")
            .replacingOccurrences(of: "mqtt://broker.example:1883", with: "mqtt://127.0.0.1:\(port)")
        try directory.write(config, to: "\(id).yaml")
        return try rig.run(
            ["run", "--config", directory.path("\(id).yaml"), "--set", "sensor.driver=virtual", "--for", "60"],
            environment: ["STATE_DIRECTORY": directory.path("state-\(id)")])
    }

    @Test func enrolledBoardConnectsAndRevokedOneDoesNot() async throws {
        for id in ["washer-1", "washer-2", "observer"] {
            let enroll = try await fleet(
                "enroll", id, "--groups", "laundry", "--to", enrolment, "--board-broker", "mqtt://broker.example:1883")
            #expect(enroll.status == 0, "\(enroll.errors)")
            #expect(enroll.output.contains("\(enrolment)/\(id): made"), "\(enroll.output)")
        }
        for path in [enrolment, "\(enrolment)/washer-1"] {
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o700)
        }
        for name in ["password", "user-data", "washer-1.tar"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(enrolment)/washer-1/\(name)")
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        let again = try await fleet("enroll", "washer-1", "--to", enrolment, "--board-broker", "mqtt://b")
        #expect(again.status == 73 && again.errors.contains("washer-1 is enrolled already"), "\(again.errors)")

        let broker = try await broker()
        let observer = try await Observer(
            broker.port, credentials: .init(userName: "observer", password: .init(try password("observer"))))
        let agents = try ["washer-1", "washer-2"].map { try agent($0, broker.port) }
        defer { for agent in agents { agent.kill() } }
        for id in ["washer-1", "washer-2"] {
            #expect(
                await observer.sees { $0.texts("availability", of: id).last == "online" }, "\(agents.map(\.errors))")
        }
        let report = try #require(try observer.objects("config/reported", of: "washer-1").last)
        #expect(report["groups"] as? [String] == ["laundry"])

        let revoke = try await fleet("revoke", "washer-1", "--to", enrolment)
        #expect(revoke.status == 0 && revoke.output.contains("then: jostle fleet forget washer-1"), "\(revoke.errors)")
        #expect(!FileManager.default.fileExists(atPath: "\(enrolment)/washer-1"))
        broker.reload()
        // mosquitto disconnects it at once, without its will, and does not admit it again.
        #expect(await eventually { agents[0].errors.contains("Not authorized") }, "\(agents[0].errors)")
        #expect(!agents[1].errors.contains("Not authorized"))
        try await observer.catchUp()
        #expect(observer.texts("availability", of: "washer-2").last == "online")
        try await fleet("revoke", "washer-1", "--to", enrolment).expect(status: 69)
    }

    @Test func newBoardTakesThePlaceOfAnOldOne() async throws {
        let (broker, boards, observer) = try await rig.observedFleet([.init(id: "old", groups: ["laundry"])])
        let url = "mqtt://127.0.0.1:\(broker.port)"
        for words in [
            ["enroll", "old", "--to", enrolment, "--board-broker", url],
            ["set", "--device", "old", "gestures.shake.sensitivity=3", "--broker", url],
            ["group", "add", "floor-2", "old", "--broker", url],
        ] {
            let program = try rig.run(
                ["fleet"] + words, environment: ["STATE_DIRECTORY": directory.path("state")])
            #expect(await program.exitStatus() == 0, "\(words): \(program.errors)")
        }
        try await fleet(
            "replace", "old", "new", "--to", enrolment, "--board-broker", url, "--broker", url
        ).expect(status: 0)
        #expect(
            await observer.sees {
                $0.topics.contains("jostle/new/config/desired") && $0.topics.contains("jostle/_registry/new")
            })
        let layer = try #require(observer.all.last { $0.topic == "jostle/new/config/desired" })
        #expect(String(decoding: layer.payload, as: UTF8.self).contains("\"sensitivity\": 3"))
        let groups = try #require(observer.all.last { $0.topic == "jostle/_registry/new" })
        #expect(String(decoding: groups.payload, as: UTF8.self).contains("\"groups\": [\"laundry\", \"floor-2\"]"))
        let passwords = try String(contentsOfFile: "\(enrolment)/passwords", encoding: .utf8)
        #expect(passwords.hasPrefix("new:$7$101$") && !passwords.contains("old:"))
        #expect(FileManager.default.fileExists(atPath: "\(enrolment)/new/jostle.yaml"))
        #expect(boards.boards.count == 1)
    }

    /// A new password keeps what the board was enrolled with.
    @Test func newPasswordKeepsTheConfiguration() async throws {
        try directory.write("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n", to: "ca.pem")
        try directory.write("-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n", to: "ca.key")
        try directory.write("fleet: { remote: [gestures] }\nmqtt: { broker: 'mqtts://b' }\n", to: "template.yaml")
        let options = ["--to", enrolment, "--template", directory.path("template.yaml"), "--groups", "laundry"]
        let key = try await run(["enroll", "a", "--ca", directory.path("ca.key")] + options)
        #expect(key.status == 65 && key.errors.contains("contains a private key"), "\(key.errors)")
        try await run(["enroll", "a", "--ca", directory.path("ca.pem")] + options).expect(status: 0)
        let config = try String(contentsOfFile: "\(enrolment)/a/jostle.yaml", encoding: .utf8)
        let old = try password("a")
        try await run(["enroll", "a", "--force", "--to", enrolment]).expect(status: 0)
        #expect(try String(contentsOfFile: "\(enrolment)/a/jostle.yaml", encoding: .utf8) == config)
        #expect(config.contains("laundry") && config.contains("ca_file") && config.contains("remote"), "\(config)")
        #expect(try password("a") != old)
        #expect(try String(contentsOfFile: "\(enrolment)/a/user-data", encoding: .utf8).contains("/etc/jostle/ca.pem"))
    }

    /// The password file of the broker can be changed in place: its other users, owner and permissions stay, and two
    /// operators at once lose nobody.
    @Test func passwordFileOfTheBrokerIsChangedInPlace() async throws {
        try directory.write("operator:$7$101$AAAA$BBBB\r\nold:$7$101$AAAA$BBBB\r\n", to: "passwords")
        let file = directory.path("passwords")
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file)
        let options = ["--to", enrolment, "--passwords", file, "--board-broker", "mqtt://b"]
        let ids = (1...6).map { "board-\($0)" }
        try await withThrowingTaskGroup(of: Int32?.self) { group in
            for id in ids { group.addTask { try await run(["enroll", id] + options).status } }
            for try await status in group { #expect(status == 0) }
        }
        let revoke = try await run(["revoke", "old", "--to", enrolment, "--passwords", file])
        #expect(revoke.status == 0 && !revoke.errors.contains("no user operator"), "\(revoke.errors)")
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let users = text.split(separator: "\n").map { String($0.prefix { $0 != ":" }) }
        #expect(Set(users) == Set(ids + ["operator"]), "\(text)")
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o640)
        #expect(!FileManager.default.fileExists(atPath: "\(enrolment)/passwords"))
    }

    /// Others could read the passwords, replace them, or lead them elsewhere.
    @Test func secretsGoOnlyIntoAPrivateDirectory() async throws {
        let mine = directory.path("mine")
        for path in [enrolment, mine] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        let link = directory.path("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: mine)
        try FileManager.default.createSymbolicLink(atPath: "\(enrolment)/linked", withDestinationPath: mine)
        try directory.write("operator:$7$101$AAAA$BBBB\n", to: "mine/passwords", permissions: 0o600)
        let file = directory.path("link-to-passwords")
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "\(mine)/passwords")
        let open = directory.path("open")
        let writable = directory.path("writable")
        for (path, mode) in [(open, mode_t(0o1777)), (writable, 0o757)] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try #require(chmod(path, mode) == 0)
        }
        var cases: [(options: [String], message: String)] = [
            (["a", "--to", "\(link)//"], "\(link): is a symbolic link"),
            (["linked", "--to", enrolment], "\(enrolment)/linked: is a symbolic link"),
            (["a", "--to", open], "\(open): others may write to it (mode 1777)"),
            (["a", "--to", "\(writable)/enrolment"], "; run chmod go-w \(writable)"),
            (["a", "--to", enrolment, "--passwords", "\(open)/passwords"], "\(open): others may write to it"),
            (["a", "--to", enrolment, "--passwords", file], "\(file): is a symbolic link; name the file itself"),
        ]
        if geteuid() == 0 {
            let foreign = directory.path("foreign")
            try FileManager.default.createDirectory(atPath: foreign, withIntermediateDirectories: true)
            try #require(chown(foreign, 1, 1) == 0)
            cases.append((["a", "--to", foreign], "\(foreign): belongs to daemon"))
            let sudo = try await run(["enroll", "a", "--to", foreign, "--board-broker", "mqtt://b"], ["SUDO_UID": "1"])
            #expect(sudo.errors.contains("; with sudo, name one of root's with --to"), "\(sudo.errors)")
        }
        for (options, message) in cases {
            for words in [["enroll"] + options + ["--board-broker", "mqtt://b"], ["revoke"] + options] {
                let outcome = try await run(words).expect(status: 73)
                #expect(outcome.errors.contains(message), "\(outcome.errors)")
            }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: mine) == ["passwords"])
        // One's own link on the way leads where one wants.
        try await run(["enroll", "a", "--to", "\(link)/enrolment", "--board-broker", "mqtt://b"]).expect(status: 0)
        #expect(FileManager.default.fileExists(atPath: "\(mine)/enrolment/a/password"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: open).isEmpty)
        // Files that others could read do not make the new ones so.
        for name in ["password", "user-data", "a.tar", "jostle.yaml"] {
            try directory.write("old", to: "enrolment/a/\(name)", permissions: 0o644)
        }
        try await run(["enroll", "a", "--to", enrolment, "--board-broker", "mqtt://b"]).expect(status: 0)
        for name in try FileManager.default.contentsOfDirectory(atPath: "\(enrolment)/a") + ["../passwords"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(enrolment)/a/\(name)")
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
        }
    }

    /// What is cut off would be lost: users, certificates, keys of the configuration.
    @Test func refusesFilesThatAreTooLong() async throws {
        let certificate = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"
        let comments = String(repeating: "# comment\n", count: 105_000)
        try directory.write(certificate + comments + certificate, to: "ca.pem")
        try directory.write("mqtt: { broker: 'mqtts://b' }\n" + comments + "device: { name: x }\n", to: "template.yaml")
        try directory.write("old:$7$101$AAAA$BBBB\n", to: "passwords")
        let file = directory.path("passwords")
        let authority = try await fleet(
            "enroll", "a", "--to", enrolment, "--board-broker", "mqtts://b", "--ca", directory.path("ca.pem"))
        #expect(authority.status == 65, "\(authority.errors)")
        #expect(authority.errors.contains("--ca: \(directory.path("ca.pem")): is longer than 1048576 bytes"))
        let template = try await fleet("enroll", "a", "--to", enrolment, "--template", directory.path("template.yaml"))
        #expect(template.status == 65, "\(template.errors)")
        #expect(
            template.errors.contains("--template: \(directory.path("template.yaml")): is longer than 1048576 bytes"))
        try #require(truncate(file, (64 << 20) + 1) == 0)
        let options = ["--to", enrolment, "--passwords", file]
        for words in [["enroll", "a", "--board-broker", "mqtt://b"], ["revoke", "old"]] {
            let outcome = try await run(words + options).expect(status: 65)
            #expect(outcome.errors.contains("\(file): is longer than 67108864 bytes"), "\(outcome.errors)")
        }
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int == (64 << 20) + 1)
    }

    @Test(arguments: [
        (["enroll", "operator"], Int32(64), "operator is the name of a user that is no device"),
        (["enroll", "a/b"], 64, "\"a/b\" is not a device id"),
        (["enroll", "a"], 64, "the board needs a broker: mqtt.broker in --template FILE, or --board-broker URL"),
        (["enroll", "a", "--board-broker", "nowhere:x"], 65, "mqtt.broker"),
        (["enroll", "a", "--board-broker", "mqtt://b", "--groups", "x/y"], 64, "\"x/y\" is not a group"),
        (["enroll", "a", "--template", "/nowhere"], 66, "--template: /nowhere: No such file"),
        (["enroll", "a", "--board-broker", "mqtts://b", "--ca", "/nowhere"], 66, "--ca: /nowhere: No such file"),
        (["enroll", "passwords"], 64, "passwords is the name of a file"),
        (["enroll", "a", "--board-broker", "mqtts://b", "--ca", "/etc/hostname"], 65, "has no certificate (PEM)"),
        (["revoke", "a"], 69, "has no user a"),
        (["replace", "a", "a"], 64, "OLD and NEW are the same"),
    ])
    func wrongInputMakesNoFiles(words: [String], status: Int32, message: String) async throws {
        let program = try rig.run(
            ["fleet"] + words + ["--to", enrolment], environment: ["STATE_DIRECTORY": directory.path("state")])
        #expect(await program.exitStatus() == status)
        #expect(program.errors.contains(message), "\(program.errors)")
        #expect(!FileManager.default.fileExists(atPath: enrolment))
    }
}
