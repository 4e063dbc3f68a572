import Cryptography
import Documents
import Foundation
import JostleConfiguration
import JostleMessages
import Testing

@testable import JostleOperator

/// Requirement: a new board gets a user of its own with a password that nobody can guess, and files that bring it up.
@Suite struct EnrolmentTests {
    private func board(_ groups: [String] = ["laundry"]) throws -> BoardEnrolment {
        BoardEnrolment(
            id: "washer-1", groups: groups,
            template: try value("mqtt: { broker: mqtts://b.example:8883 }\npublish: { health: { interval: 30 s } }"),
            authority: Array("PEM\n".utf8), password: "secret-1")
    }

    @Test func configurationIsTheTemplateWithTheBoardsOwnKeys() throws {
        let board = try board()
        try board.check()
        let tree = try YAMLReader.read(Array(board.configText.utf8), source: .file("jostle.yaml"))
        let expected = try value(
            """
            mqtt: { broker: "mqtts://b.example:8883", username: washer-1, password_file: /etc/jostle/password, ca_file: /etc/jostle/ca.pem }
            publish: { health: { interval: 30 s } }
            device: { id: washer-1, groups: [laundry] }
            """)
        #expect(LayerEdit.isEqual(tree, expected), "\(board.configText)")
        let bad = BoardEnrolment(id: "a", groups: [], template: try value("mqtt: { broker: nowhere:x:y }"))
        #expect(throws: ConfigurationErrors.self) { try bad.check() }
    }

    @Test func passwordsAreRandom() {
        let passwords = Set((0..<100).map { _ in BoardEnrolment.newPassword() })
        #expect(passwords.count == 100)
        #expect(
            passwords.allSatisfy { $0.utf8.count == 24 && !$0.contains("+") && !$0.contains("/") && !$0.contains("=") })
    }

    @Test func userDataContainsAllFiles() throws {
        let data = try board().userData
        #expect(data.hasPrefix("#cloud-config\n"))
        let tree = try YAMLReader.read(Array(data.utf8), source: .file("user-data"))
        guard let files = tree["write_files"]?.elements else {
            Issue.record("\(tree)")
            return
        }
        var contents: [String: String] = [:]
        for file in files {
            func text(_ name: String) -> String { file[name]?.string ?? "" }
            contents[text("path")] = Base64.decode(text("content")).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(
            contents.keys.sorted() == [
                "/etc/jostle/ca.pem", "/etc/jostle/jostle.yaml", "/etc/jostle/password",
                "/etc/tmpfiles.d/jostle-password.conf",
            ])
        #expect(contents["/etc/jostle/password"] == "secret-1\n" && contents["/etc/jostle/ca.pem"] == "PEM\n")
    }

    @Test func tarReadsTheArchive() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("jostle-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try Data(board().archive(at: 1_795_182_603)).write(to: directory.appendingPathComponent("board.tar"))
        let tar = Process()
        tar.executableURL = URL(fileURLWithPath: "/usr/bin/tar")
        tar.arguments = ["-C", directory.path, "-tvf", directory.appendingPathComponent("board.tar").path]
        let pipe = Pipe()
        tar.standardOutput = pipe
        try tar.run()
        let list = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        tar.waitUntilExit()
        #expect(tar.terminationStatus == 0)
        let lines = list.split(separator: "\n")
        #expect(lines.count == 4)
        #expect(
            lines.contains { $0.hasPrefix("-rw-r----- root/jostle") && $0.hasSuffix("etc/jostle/password") }, "\(list)")
        #expect(lines.contains { $0.hasPrefix("-rw-r--r-- root/root") && $0.contains(" 2026-") }, "\(list)")
    }

    @Test func passwordFileKeepsItsOtherLines() {
        var file = MosquittoPasswords("# mine\noperator:$7$101$a$b\nwasher-10:x\n")
        let isSet = file.set("washer-1", password: "p")
        #expect(isSet && file.has("washer-1") && file.has("operator"))
        let first = file.text
        let isSetAgain = file.set("washer-1", password: "p")
        #expect(isSetAgain && file.text != first)
        #expect(file.text.split(separator: "\n").count == 4)
        file.remove("washer-1")
        #expect(file.text == "# mine\noperator:$7$101$a$b\nwasher-10:x\n")
    }
}
