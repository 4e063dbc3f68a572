import Foundation
import Testing

@testable import jostle

/// Requirement: whether the service will be able to read a file is known before it starts.
@Suite struct FileReaderTests {
    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("reader-\(UUID().uuidString)")
    private var file: String { directory.appendingPathComponent("password").path }

    /// A user who owns nothing here, with the group of this process or without it.
    private func reader(inGroup: Bool) -> FileReader {
        FileReader(name: "jostle", user: getuid() &+ 4321, groups: inGroup ? [getgid()] : [])
    }

    private func withFile(mode: Int, directoryMode: Int = 0o755, _ check: () throws -> Void) throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try "secret\n".write(toFile: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        try FileManager.default.setAttributes([.posixPermissions: directoryMode], ofItemAtPath: directory.path)
        try check()
    }

    @Test func followsOwnerGroupAndMode() throws {
        try withFile(mode: 0o640) {
            #expect(reader(inGroup: true).obstacle(to: file) == nil)
            guard case .refused(let reason)? = reader(inGroup: false).obstacle(to: file) else {
                Issue.record("not refused")
                return
            }
            #expect(reason.contains("the user jostle may not read it") && reason.contains("mode 640"), "\(reason)")
            #expect(reason.contains("sudo chgrp jostle \(file)"), "\(reason)")
        }
        // The group decides for its members, even if others may read.
        try withFile(mode: 0o604) {
            #expect(reader(inGroup: true).obstacle(to: file) != nil)
            #expect(reader(inGroup: false).obstacle(to: file) == nil)
        }
        try withFile(mode: 0o644, directoryMode: 0o700) {
            guard case .refused(let reason)? = reader(inGroup: true).obstacle(to: file) else {
                Issue.record("not refused")
                return
            }
            #expect(reason.contains("may not enter \(directory.path)"), "\(reason)")
        }
    }

    /// The unit hides some directories from the service, whatever their modes are.
    @Test func seesNoHiddenDirectory() throws {
        try withFile(mode: 0o644) {
            let hidden = FileReader(
                name: "jostle", user: getuid() &+ 4321, groups: [], hidden: [directory.resolvingSymlinksInPath().path])
            #expect(
                hidden.obstacle(to: file)
                    == .refused("the service does not see \(directory.path); move it to /etc/jostle"))
            // Nor a file to which a link leads.
            let link = FileManager.default.temporaryDirectory.appendingPathComponent("link-\(UUID().uuidString)").path
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
            defer { try? FileManager.default.removeItem(atPath: link) }
            #expect(hidden.obstacle(to: link) == hidden.obstacle(to: file))
        }
    }

    @Test func namesMissingFile() {
        let missing = directory.path + "/nowhere"
        #expect(reader(inGroup: true).obstacle(to: missing) == .refused("No such file or directory"))
        #expect(FileReader.ownProcess.obstacle(to: missing) == .refused("No such file or directory"))
    }
}
