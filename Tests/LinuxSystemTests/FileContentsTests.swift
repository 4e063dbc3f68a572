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

    /// A secret in place of a file that all users could read.
    @Test func givesThePermissionsInPlaceOfOthers() throws {
        try directory.write("old", to: "file")
        try FileContents.replace(path, with: [1], mode: 0o600, keepsMode: false)
        #expect(try mode(of: path) == 0o600)
    }

    /// Whoever can put a link here would otherwise choose the owner and the permissions of what root writes.
    @Test func takesNothingFromTheTargetOfALink() throws {
        let target = directory.path + "/target"
        try directory.write("untouched", to: "target")
        #expect(chmod(target, 0o4777) == 0)
        if geteuid() == 0 { #expect(chown(target, 1, 1) == 0) }
        #expect(symlink(target, path) == 0)
        try FileContents.replace(path, with: [1])
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode == S_IFREG | 0o644 && status.st_uid == geteuid())
        #expect(try FileContents.text(of: target, limit: 99) == "untouched")
        // Nor does a file that root replaces become a program of its former owner.
        #expect(chmod(path, 0o4755) == 0)
        try FileContents.replace(path, with: [2])
        #expect(try mode(of: path) == 0o755)
    }

    @Test func saysWhyADirectoryIsNotPrivate() throws {
        let folder = directory.path + "/a/b"
        #expect(FileContents.danger(ofDirectory: folder) == nil, "there is none yet")
        try FileContents.makePrivateDirectory(folder)
        try FileContents.makePrivateDirectory(folder)
        #expect(try mode(of: folder) == 0o700 && FileContents.danger(ofDirectory: folder) == nil)
        #expect(chmod(folder, 0o707) == 0)
        expectDanger(of: folder, folder, "others may write to it (mode 707)")
        #expect(symlink(folder, path) == 0)
        expectDanger(of: path, path, "is a symbolic link")
        expectDanger(of: "/dev/null", "/dev/null", "Not a directory")
        expectDanger(of: "/dev/null/a", "/dev/null", "Not a directory")
        guard geteuid() == 0 else { return }
        #expect(chown(folder, 1, 1) == 0)
        expectDanger(of: folder, folder, "belongs to daemon")
    }

    /// Whoever may rename a part of the path puts another directory in its place.
    @Test func saysWhichPartOfAPathIsNotPrivate() throws {
        let parent = directory.path + "/a"
        let folder = parent + "/b/c"
        FileContents.makeDirectories(folder)
        #expect(symlink(parent, path) == 0)
        // A link of this user or of root leads where they want.
        let relative = directory.path + "/relative"
        let loop = directory.path + "/loop"
        #expect(symlink("file/../a", relative) == 0 && symlink("loop", loop) == 0)
        for link in [path, relative] {
            for missing in ["/b", "/b/none"] { #expect(FileContents.danger(ofDirectory: link + missing) == nil) }
        }
        expectDanger(of: "\(loop)/b", loop, "Too many levels of symbolic links")
        #expect(chmod(parent, 0o777) == 0)
        for folder in ["\(path)/b", "\(path)/b/none", "\(relative)/b"] {
            expectDanger(of: folder, parent, "others may write to it (mode 777)")
        }
        for missing in ["", "/none", "//./d/../e/"] {
            expectDanger(of: folder + missing, parent, "others may write to it (mode 777)")
        }
        // As /tmp: a directory in it is safe from others, but not what they may create in it.
        #expect(chmod(parent, 0o1777) == 0)
        #expect(FileContents.danger(ofDirectory: folder) == nil)
        expectDanger(of: parent, parent, "others may write to it (mode 1777)")
        guard geteuid() == 0 else { return }
        #expect(chown(parent + "/b", 1, 1) == 0)
        expectDanger(of: folder, parent + "/b", "belongs to daemon")
        #expect(lchown(path, 1, 1) == 0)
        expectDanger(of: "\(path)/b", path, "is a symbolic link")
    }

    /// With a umask of 002, directories belong to a group in which their owner is alone.
    @Test func groupOfTheOwnerAloneIsNoDanger() throws {
        let folder = directory.path + "/a"
        try FileContents.makePrivateDirectory(folder)
        let owner = try #require(getpwuid(geteuid())?.pointee)
        let group = try #require(getgrgid(owner.pw_gid)?.pointee)
        let isAlone = String(cString: group.gr_name) == String(cString: owner.pw_name) && group.gr_mem.pointee == nil
        #expect(chmod(folder, 0o770) == 0 && chown(folder, geteuid(), owner.pw_gid) == 0)
        #expect((FileContents.danger(ofDirectory: folder) == nil) == isAlone)
        #expect(chmod(folder, 0o777) == 0)
        expectDanger(of: folder, folder, "others may write to it (mode 777)")
        guard geteuid() == 0 else { return }
        #expect(chmod(folder, 0o770) == 0 && chown(folder, 0, 1) == 0)
        expectDanger(of: folder, folder, "others may write to it (mode 770)")
    }

    private func expectDanger(
        of path: String, _ part: String, _ reason: String, at location: SourceLocation = #_sourceLocation
    ) {
        let danger = FileContents.danger(ofDirectory: path)
        #expect(danger?.part == part && danger?.reason == reason, "\(path): \(danger as Any)", sourceLocation: location)
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

    // MARK: What delivers nothing

    /// Reads a file that may be a pipe to its end.
    private func text(of path: String, patience: Double) throws -> String {
        var file = try InputFile(path: path, patience: patience)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 9999, alignment: 1)
        defer { buffer.deallocate() }
        var bytes: [UInt8] = []
        while true {
            let count = try file.read(into: buffer)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }

    @Test func givesUpAPipeWithoutAWriter() throws {
        FileContents.makeDirectories(directory.path)
        try #require(mkfifo(path, 0o600) == 0)
        #expect {
            try text(of: path, patience: 0.05)
        } throws: { error in
            "\(error)" == "No program writes into this pipe"
        }
    }

    /// However long it takes: the writer may ask for a password first.
    @Test func waitsForTheWriterOfAPipe() throws {
        FileContents.makeDirectories(directory.path)
        try #require(mkfifo(path, 0o600) == 0)
        for parts in [["one", "two"], []] {
            // Opening for writing alone would wait for a reader.
            let writer = open(path, O_RDWR)
            Thread.detachNewThread {
                usleep(300_000)
                for part in parts {
                    _ = write(writer, part, part.utf8.count)
                    usleep(100_000)
                }
                close(writer)
            }
            #expect(try text(of: path, patience: 0.15) == parts.joined())
        }
    }

    /// As /proc/kmsg, which a reader empties.
    @Test(.enabled(if: access("/dev/kmsg", R_OK) == 0, "there is no /dev/kmsg, or only root reads it"))
    func givesUpADeviceFromWhichNothingComes() throws {
        #expect {
            try text(of: "/dev/kmsg", patience: 0.05)
        } throws: { error in
            "\(error)" == "Nothing comes from it"
        }
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
