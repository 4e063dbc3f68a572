import Foundation
import LinuxSystem
import SystemTestSupport
import Testing

/// Requirement: a file is read and replaced whole, and nothing that lies in its place is waited for.
@Suite struct FileContentsTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path + "/file" }

    private func mode(of path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    @Test func aFileIsReplacedAndRead() throws {
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
    func thePermissionsOfTheOldFileArePassedOn(permissions: Int) throws {
        try directory.write("old", to: path)
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
        try FileContents.replace(path, with: Array("new".utf8))
        #expect(try mode(of: path) == permissions)
        #expect(try FileContents.text(of: path, limit: 9) == "new")
    }

    @Test func aNewFileMayBeReadByEverybody() throws {
        FileContents.makeDirectories(directory.path)
        try FileContents.replace(path, with: [1])
        #expect(try mode(of: path) == 0o644)
    }

    /// What a power cut left beside the file, or a link that leads elsewhere, is not written through.
    @Test func whatLiesInTheTemporaryFilesPlaceIsNotFollowed() throws {
        let other = directory.path + "/other"
        try directory.write("untouched", to: other)
        #expect(symlink(other, directory.path + "/.file.new") == 0)
        try FileContents.replace(path, with: [2])
        #expect(try FileContents.text(of: other, limit: 99) == "untouched")
        #expect(mkfifo(directory.path + "/.file.new", 0o600) == 0)
        try FileContents.replace(path, with: [3])
        #expect(try FileContents.bytes(of: path, limit: 9) == [3])
        #expect(directory.names.sorted() == ["file", "other"])
    }

    @Test func whatIsNoFileIsRefused() throws {
        FileContents.makeDirectories(directory.path)
        #expect(mkfifo(path, 0o600) == 0)
        #expect(throws: SystemFailure.notRegularFile) { try FileContents.bytes(of: path, limit: 9) }
        #expect(throws: SystemFailure.notRegularFile) { try FileContents.bytes(of: "/dev/zero", limit: 9) }
        #expect(throws: SystemFailure(code: EISDIR)) { try FileContents.bytes(of: directory.path, limit: 9) }
        #expect("\(SystemFailure.notRegularFile)" == "Not a regular file")
        // Writing puts a file there.
        try FileContents.replace(path, with: [4])
        #expect(try FileContents.bytes(of: path, limit: 9) == [4])
    }

    /// A file that the user named may be /dev/stdin; one of the kernel's has no size that could be known before.
    @Test func pipesAreReadOnRequestAndTheKernelsFilesAlways() throws {
        #expect(try FileContents.bytes(of: "/dev/zero", limit: 3, mayBePipe: true) == [0, 0, 0])
        #expect(try FileContents.text(of: "/proc/self/comm", limit: 99).hasSuffix("\n"))
        #expect(FileContents.text(ofOptional: "/proc/self/none", limit: 99) == nil)
    }

    @Test func aFailureLeavesTheOldFileAndNothingElse() throws {
        try directory.write("old", to: path)
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
