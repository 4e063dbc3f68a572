import BrokerTestSupport
import Foundation
import LinuxSystem
import Testing

/// Requirement: a file is read and replaced as a whole, and anything else in its place never blocks.
@Suite struct FileContentsTests {
    private let directory = TemporaryDirectory.absent()
    private var path: String { directory.path + "/file" }

    private func mode(of path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    @Test func replacesAndReadsAFile() throws {
        FileContents.makeDirectories(directory.path)
        let first = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try FileContents.replace(path, with: first)
        #expect(try FileContents.bytes(of: path, limit: 1 << 20) == first)
        #expect(try FileContents.bytes(of: path, limit: 70_000) == Array(first.prefix(70_000)))
        try FileContents.replace(path, with: [])
        #expect(try FileContents.bytes(of: path, limit: 1 << 20) == [])
        #expect(directory.names == ["file"])
        try FileContents.remove(path)
        try FileContents.remove(path)
        #expect(directory.names == [])
        #expect(throws: SystemFailure(code: ENOENT)) { try FileContents.bytes(of: path, limit: 9) }
    }

    @Test(arguments: [0o600, 0o640, 0o664])
    func keepsThePermissionsOfTheOldFile(permissions: Int) throws {
        try directory.write("old", to: "file")
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
        try FileContents.replace(path, with: Array("new".utf8))
        #expect(try mode(of: path) == permissions)
        #expect(try FileContents.text(of: path, limit: 9) == "new")
    }

    @Test func makesANewFileReadableForAllUsers() throws {
        FileContents.makeDirectories(directory.path)
        try FileContents.replace(path, with: [1])
        #expect(try mode(of: path) == 0o644)
    }

    @Test func givesANewFileTheWantedPermissions() throws {
        FileContents.makeDirectories(directory.path)
        try FileContents.replace(path, with: [1], mode: 0o660)
        #expect(try mode(of: path) == 0o660)
        try FileContents.replace(path, with: [2], mode: 0o600)
        #expect(try mode(of: path) == 0o660)
    }

    @Test func aMissingDirectoryHasNoNames() {
        #expect(DirectoryContents.names(ofOptional: directory.path + "/none") == [])
    }

    /// Files left by a power cut, and links that lead elsewhere, are not written through.
    @Test func doesNotFollowALinkInPlaceOfTheTemporaryFile() throws {
        let other = directory.path + "/other"
        try directory.write("untouched", to: "other")
        #expect(symlink(other, directory.path + "/.file.new") == 0)
        try FileContents.replace(path, with: [2])
        #expect(try FileContents.text(of: other, limit: 99) == "untouched")
        #expect(mkfifo(directory.path + "/.file.new", 0o600) == 0)
        try FileContents.replace(path, with: [3])
        #expect(try FileContents.bytes(of: path, limit: 9) == [3])
        #expect(directory.names.sorted() == ["file", "other"])
    }

    @Test func refusesAnythingButARegularFile() throws {
        FileContents.makeDirectories(directory.path)
        #expect(mkfifo(path, 0o600) == 0)
        #expect(throws: SystemFailure.notRegularFile) { try FileContents.bytes(of: path, limit: 9) }
        #expect(throws: SystemFailure.notRegularFile) { try FileContents.bytes(of: "/dev/zero", limit: 9) }
        #expect(throws: SystemFailure(code: EISDIR)) { try FileContents.bytes(of: directory.path, limit: 9) }
        #expect("\(SystemFailure.notRegularFile)" == "Not a regular file")
        // Writing replaces it with a file.
        try FileContents.replace(path, with: [4])
        #expect(try FileContents.bytes(of: path, limit: 9) == [4])
    }

    /// A file named by the user may be /dev/stdin. Kernel files have no size known in advance.
    @Test func readsPipesOnRequestAndKernelFilesAlways() throws {
        #expect(try FileContents.bytes(of: "/dev/zero", limit: 3, mayBePipe: true) == [0, 0, 0])
        #expect(try FileContents.text(of: "/proc/self/comm", limit: 99).hasSuffix("\n"))
        #expect(FileContents.text(ofOptional: "/proc/self/none", limit: 99) == nil)
    }

    @Test func aFailureKeepsTheOldFileAndLeavesNothingElse() throws {
        try directory.write("old", to: "file")
        let below = path + "/below"
        #expect(throws: SystemFailure(code: ENOTDIR)) { try FileContents.replace(below, with: [1]) }
        #expect(throws: SystemFailure(code: ENOTDIR)) { try FileContents.remove(below) }
        let folder = directory.path + "/folder"
        FileContents.makeDirectories(folder)
        #expect(throws: SystemFailure(code: EISDIR)) { try FileContents.replace(folder, with: [1]) }
        #expect(directory.names.sorted() == ["file", "folder"])
        #expect(try FileContents.text(of: path, limit: 99) == "old")
    }
}
