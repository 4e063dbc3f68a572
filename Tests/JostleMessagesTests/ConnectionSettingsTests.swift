import BrokerTestSupport
import Foundation
import JostleConfiguration
import MosquittoClient
import Testing

@testable import JostleMessages

/// Requirement: the user's settings reach the MQTT client, and a password is read only from a file that others cannot
/// read.
@Suite struct ConnectionSettingsTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func passwordFile(_ text: String, mode: Int = 0o600) throws -> String {
        let path = try directory.write(text, to: "password")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    private func options(_ change: (inout JostleSettings) -> Void) throws(SecretFileError) -> MQTTOptions {
        var settings = JostleSettings()
        change(&settings)
        return try settings.mqttOptions(name: "washer-1", brokers: settings.brokers(embeddedPort: 4711))
    }

    /// The error for a password file; `nil` if it is accepted.
    private func refusal(of path: String, userName: String? = "me") -> String? {
        do {
            _ = try options {
                $0.mqtt.username = userName
                $0.mqtt.passwordFile = path
            }
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func passesSettingsToClient() throws {
        let options = try options {
            $0.mqtt.keepAlive = 7.5
            $0.mqtt.caFile = "/ca"
            $0.mqtt.certificateFile = "/certificate"
            $0.mqtt.keyFile = "/key"
            $0.mqtt.caDirectory = "/authorities"
            $0.mqtt.applicationProtocol = "mqtt"
            $0.mqtt.checksServerName = false
            $0.mqtt.version = .v311
        }
        #expect(options.clientID == "_jostle-washer-1")
        #expect(try self.options { $0.mqtt.clientID = "plant:{id}" }.clientID == "plant:washer-1")
        #expect(options.keepAlive == .milliseconds(7500))
        #expect(options.tls.caFile == "/ca" && options.tls.keyFile == "/key")
        #expect(options.tls.certificateFile == "/certificate")
        #expect(options.credentials == nil)
        #expect(options.tls.caDirectory == "/authorities" && options.tls.applicationProtocol == "mqtt")
        #expect(!options.tls.verifiesServerName)
        guard case .only(.v311) = options.versions else {
            Issue.record("\(options.versions)")
            return
        }
    }

    @Test func readsUserNameFromFile() throws {
        let path = try passwordFile("alice\n")
        let options = try options { $0.mqtt.usernameFile = path }
        #expect(options.credentials == MQTTCredentials(userName: "alice", password: nil))
    }

    @Test func resolvesSystemdCredential() throws {
        let service = CredentialFiles(directory: "/run/credentials/j.service")
        #expect(try service.file("credential:pass", key: "password_file") == "/run/credentials/j.service/pass")
        #expect(try service.file("/a/b", key: "password_file") == "/a/b")
        #expect(try service.file("/etc/jostle/missing", key: "password_file") == "/etc/jostle/missing")
        let refusal = refusal(of: "credential:pass") ?? ""
        #expect(refusal.contains("mqtt.password_file: credential:pass") && refusal.contains("/etc/jostle/credentials"))
        #expect {
            _ = try options { $0.mqtt.keyFile = "credential:key" }
        } throws: { error in
            "\(error)".contains("mqtt.key_file: credential:key")
        }
    }

    /// An MQTT 5 broker is told the limit.
    @Test func warnsIfReceivedMessagesAreNotLimited() {
        var settings = JostleSettings()
        #expect(settings.sizeWarning() == nil, "the test program exports what is needed")
        for (version, warns) in [(JostleSettings.MQTTVersion.automatic, true), (.v311, true), (.v5, false)] {
            settings.mqtt.version = version
            #expect((settings.sizeWarning(limitsPackets: false)?.contains("256 MB") == true) == warns)
            #expect(settings.sizeWarning(limitsPackets: true) == nil)
        }
    }

    /// An unencrypted password is acceptable only on this machine.
    @Test func findsBrokersWithUnencryptedPassword() throws {
        var settings = try JostleSettings.load(
            file: nil,
            overrides: ["mqtt.broker=[mqtt://localhost, mqtt://127.0.0.1, 'mqtt://[::1]', mqtts://b, mqtt://c.example]"]
        ).settings
        let brokers = settings.brokers(embeddedPort: nil)
        #expect(settings.unencryptedBrokers(among: brokers).isEmpty)
        settings.mqtt.passwordFile = "/p"
        #expect(settings.unencryptedBrokers(among: brokers).map(\.host) == ["c.example"])
    }

    @Test func spacesEventsForHomeAssistant() throws {
        let options = try options { $0.mqtt.prefix = "home/first" }
        #expect(options.spacing == MQTTSpacing(prefix: "home/first/washer-1/event/", interval: .milliseconds(10)))
        #expect(try self.options { $0.homeAssistant.discovery = false }.spacing == nil)
    }

    @Test func keepsOrderOfBrokers() throws {
        #expect(try options { _ in }.brokers == [BrokerAddress(host: "localhost")])
        #expect(
            try options { $0.mqtt.broker = .embedded }.brokers == [BrokerAddress(host: "127.0.0.1", port: 4711)])
        let two = try JostleSettings.load(
            file: nil, overrides: ["mqtt.broker=[\"mqtts://a.example\", \"mqtt://[::1]:2000\"]"]
        ).settings
        #expect(
            two.brokers(embeddedPort: nil) == [
                BrokerAddress(host: "a.example", port: 8883, usesTLS: true), BrokerAddress(host: "::1", port: 2000),
            ])
    }

    @Test func acceptsUserWithoutPassword() throws {
        let options = try options { $0.mqtt.username = "me" }
        #expect(options.credentials == MQTTCredentials(userName: "me", password: nil))
    }

    @Test(
        arguments: [
            "\u{FEFF}hunter2\n", "hunter2", "hunter2\n", "hunter2\r\n", "hunter2\nsecond line\n",
            "hunter2\r\nsecond\r\n",
        ])
    func readsPasswordFromFirstLine(text: String) throws {
        let path = try passwordFile(text, mode: 0o640)
        let options = try options {
            $0.mqtt.username = "me"
            $0.mqtt.passwordFile = path
        }
        #expect(options.credentials == MQTTCredentials(userName: "me", password: MQTTCredentials.Secret("hunter2")))
    }

    /// A report for a maintainer removes the password as it is sent.
    @Test func secretsHaveNoByteOrderMark() throws {
        var settings = JostleSettings()
        settings.mqtt.passwordFile = try passwordFile("\u{FEFF}hunter2\n")
        #expect(settings.secrets.passwords == ["hunter2\n"])
    }

    @Test func keepsBlanksInPassword() throws {
        let path = try passwordFile(" pass wört \n")
        let options = try options {
            $0.mqtt.username = "me"
            $0.mqtt.passwordFile = path
        }
        #expect(options.credentials?.password == MQTTCredentials.Secret(" pass wört "))
    }

    /// They belong to the password, but are often there by mistake.
    @Test(arguments: [
        (" hunter2", true), ("hunter2 ", true), ("hunter2\t\n", true), ("hunter 2\n", false),
        ("hunter2\r\n", false),
    ])
    func doubtsBlanksAroundPassword(text: String, isDoubted: Bool) throws {
        var settings = JostleSettings()
        settings.mqtt.username = " me "
        settings.mqtt.passwordFile = try passwordFile(text)
        let login = try settings.mqttOptions(name: "washer-1", brokers: []).credentials
        let doubt =
            "mqtt.password_file: \(directory.path("password")): its first line begins or ends with a blank, which is part "
            + "of it"
        #expect(settings.doubts(about: login).map { "\($0)" } == (isDoubted ? [doubt] : []))
    }

    @Test(
        arguments: [
            ([0xFF, 0xFE, 0x68, 0, 0x0A, 0], "it is UTF-16; save it as UTF-8"),
            ([0xFE, 0xFF, 0, 0x68], "it is UTF-16; save it as UTF-8"),
            ([0x68, 0, 0x0A, 0], "it has zero bytes, as UTF-16 has; save it as UTF-8"),
            ([0x68, 0xFC, 0x0A], "its first line is not UTF-8; save it as UTF-8"),
        ] as [([UInt8], String)])
    func namesOtherEncodings(bytes: [UInt8], reason: String) throws {
        let path = try passwordFile("")
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        #expect(refusal(of: path) == "mqtt.password_file: \(path): \(reason)")
    }

    @Test(arguments: [0o604, 0o644, 0o602, 0o601])
    func refusesPasswordFileReadableByOthers(mode: Int) throws {
        let path = try passwordFile("hunter2", mode: mode)
        let refusal = refusal(of: path) ?? "none"
        #expect(refusal.contains(path) && refusal.contains("chmod o= ") && !refusal.contains("hunter2"), "\(refusal)")
    }

    @Test func namesMissingPasswordFile() {
        #expect(
            refusal(of: directory.path("nowhere"))
                == "mqtt.password_file: \(directory.path("nowhere")): No such file or directory")
    }

    @Test func refusesDirectoryAsPasswordFile() throws {
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory.path)
        #expect(refusal(of: directory.path) == "mqtt.password_file: \(directory.path): Is a directory")
    }

    @Test(arguments: ["", "\n", "\nhunter2\n", "\r\nhunter2"])
    func refusesEmptyPassword(text: String) throws {
        let path = try passwordFile(text)
        #expect(refusal(of: path)?.contains("first line is empty") == true)
    }

    /// The beginning of a password is another password.
    @Test func refusesPasswordThatIsTooLong() throws {
        let longest = String(repeating: "p", count: 4096)
        #expect(refusal(of: try passwordFile(longest + "\nmore")) == nil)
        let path = try passwordFile(longest + "p")
        #expect(refusal(of: path) == "mqtt.password_file: \(path): its first line is longer than 4096 bytes")
    }

    @Test func refusesPasswordWithoutUser() throws {
        let path = try passwordFile("hunter2")
        #expect(refusal(of: path, userName: nil)?.contains("mqtt.username") == true)
    }
}
