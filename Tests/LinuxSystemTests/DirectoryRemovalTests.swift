import BrokerTestSupport
import Foundation
import LinuxSystem
import Testing

/// Requirement: a directory is deleted with everything in it, and nothing outside it.
@Suite struct DirectoryRemovalTests {
    private let directory = TemporaryDirectory.absent()

    @Test func deletesEverythingButWhatALinkLeadsTo() throws {
        let kept = directory.path + "/kept"
        let doomed = directory.path + "/doomed"
        try directory.write("content", to: "kept")
        let manager = FileManager.default
        try manager.createDirectory(atPath: doomed + "/a/b", withIntermediateDirectories: true)
        try directory.write("x", to: "doomed/a/b/.hidden")
        try manager.createSymbolicLink(atPath: doomed + "/link", withDestinationPath: directory.path)
        FileContents.removeDirectory(doomed)
        #expect(directory.names == ["kept"])
        FileContents.removeDirectory(doomed)
        #expect(FileContents.text(ofOptional: kept, limit: 99) == "content")
    }
}
