import Foundation
import MotionCore
import Testing

@testable import MotionKit

/// A directory of a test that is not there yet, two levels deep, removed with it.
final class TemporaryDirectory {
    private let top = NSTemporaryDirectory() + "jostle-\(UUID().uuidString)"
    var path: String { top + "/state" }
    var referenceFile: String { path + "/reference-attitude" }

    /// What is in it, hidden files too.
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }

    func write(_ content: String, to path: String) throws {
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        try Data(content.utf8).write(to: URL(fileURLWithPath: path))
    }

    deinit {
        try? FileManager.default.removeItem(atPath: top)
    }
}

/// What outlives a run: kept whole or not at all, and never believed where it is not what was written.
@Suite struct StateDirectoryTests {
    private let attitude = Quaternion(roll: 0.3, pitch: -0.7, yaw: 2.1)

    @Test func aReferenceIsKeptAndForgotten() throws {
        let directory = TemporaryDirectory()
        let store = StateDirectory(path: directory.path)
        #expect(store.loadReference() == nil)
        #expect(store.saveReference(nil) == 0)
        #expect(store.saveReference(attitude) == 0)
        #expect(directory.names == ["reference-attitude"])
        let loaded = try #require(store.loadReference())
        #expect(loaded.angle(to: attitude) < 1e-12)
        #expect(store.saveReference(attitude.conjugate) == 0)
        #expect(try #require(store.loadReference()).angle(to: attitude.conjugate) < 1e-12)
        #expect(store.saveReference(nil) == 0)
        #expect(store.loadReference() == nil)
        #expect(directory.names == [])
    }

    /// A program that finds out a reference without a manager keeps it where a manager looks for it, or hears why not.
    @Test func aReferenceIsKeptWithoutAManager() throws {
        let directory = TemporaryDirectory()
        let store = ReferenceStore(stateDirectory: directory.path)
        #expect(store.load() == nil)
        try store.save(attitude)
        #expect(try #require(StateDirectory(path: directory.path).loadReference()).angle(to: attitude) < 1e-12)
        #expect(try #require(store.load()).angle(to: attitude) < 1e-12)
        try store.save(nil)
        #expect(store.load() == nil)
        let error = ReferenceStoreError(path: "/dev/null/state", code: ENOTDIR)
        #expect(throws: error) { try ReferenceStore(stateDirectory: "/dev/null/state").save(attitude) }
        #expect("\(error)" == "/dev/null/state: cannot be written: Not a directory")
    }

    @Test(arguments: [
        "", "\n", "\n\n", "jostle reference attitude 1\n", "jostle reference attitude 1\n1 0 0 0",
        "jostle reference attitude 1\n0.70710678 0 0 0.7071", "jostle reference attitude 1\n1 0 0\n",
        "jostle reference attitude 1\n1 0 0 0 0\n", "jostle reference attitude 1\n1 0 x 0 0\n",
        "jostle reference attitude 1\n1 0 0 zero\n", "jostle reference attitude 1\nnan 0 0 0\n",
        "jostle reference attitude 1\ninf 0 0 0\n", "jostle reference attitude 1\n0 0 0 0\n",
        "jostle reference attitude 1\n1 1 1 1\n", "jostle reference attitude 2\n1 0 0 0\n", "1 0 0 0\n",
        "jostle reference attitude 1\n1 0 0 0\n1 0 0 0\n", "\u{0}\u{0}\u{0}\u{0}",
    ])
    func aFileThatIsTornOrNotOursIsIgnored(content: String) throws {
        let directory = TemporaryDirectory()
        try directory.write(content, to: directory.referenceFile)
        let store = StateDirectory(path: directory.path)
        #expect(store.loadReference() == nil)
        #expect(store.saveReference(attitude) == 0)
        #expect(store.loadReference() != nil)
    }

    /// Bytes that are no text are no reason to fail either.
    @Test func bytesThatAreNoTextAreIgnored() throws {
        let directory = TemporaryDirectory()
        try directory.write("", to: directory.referenceFile)
        try Data((0..<200).map { UInt8(255 - $0) }).write(to: URL(fileURLWithPath: directory.referenceFile))
        #expect(StateDirectory(path: directory.path).loadReference() == nil)
    }

    @Test func aFailureIsReportedAndTheOldFileStays() throws {
        let directory = TemporaryDirectory()
        let store = StateDirectory(path: directory.path)
        #expect(store.saveReference(attitude) == 0)
        // In the way of the new file, which is written beside the old one.
        try FileManager.default.createDirectory(
            atPath: directory.path + "/.reference-attitude.new", withIntermediateDirectories: false)
        #expect(store.saveReference(attitude.conjugate) == EISDIR)
        #expect(try #require(store.loadReference()).angle(to: attitude) < 1e-12)

        try directory.write("", to: directory.path + "/file")
        #expect(StateDirectory(path: directory.path + "/file/below").saveReference(attitude) == ENOTDIR)
    }
}
