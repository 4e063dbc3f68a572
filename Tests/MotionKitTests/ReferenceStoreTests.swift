import BrokerTestSupport
import Foundation
import LinuxSystem
import MotionCore
import Testing

@testable import MotionKit

/// The stored reference is written atomically, and ignored if it is damaged.
@Suite struct ReferenceStoreTests {
    private let directory = TemporaryDirectory.absent()
    private let attitude = Quaternion(roll: 0.3, pitch: -0.7, yaw: 2.1)

    /// The reference is saved where a manager loads it from.
    @Test func savesAndRemovesReference() throws {
        let store = ReferenceStore(stateDirectory: directory.path)
        #expect(store.load() == nil)
        try store.save(nil)
        try store.save(attitude)
        #expect(directory.names == ["reference-attitude"])
        #expect(try #require(store.load()).angle(to: attitude) < 1e-12)
        try store.save(attitude.conjugate)
        #expect(try #require(store.load()).angle(to: attitude.conjugate) < 1e-12)
        try store.save(nil)
        #expect(store.load() == nil)
        #expect(directory.names == [])
        let error = ReferenceStoreError(path: "/dev/null/state", failure: SystemFailure(code: ENOTDIR))
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
    func ignoresDamagedOrForeignFile(content: String) throws {
        try directory.write(content, to: "reference-attitude")
        let store = ReferenceStore(stateDirectory: directory.path)
        #expect(store.load() == nil)
        try store.save(attitude)
        #expect(store.load() != nil)
    }

    /// Bytes that are not text must not crash it.
    @Test func ignoresBytesThatAreNotText() throws {
        try directory.write("", to: "reference-attitude")
        try Data((0..<200).map { UInt8(255 - $0) }).write(
            to: URL(fileURLWithPath: directory.path("reference-attitude")))
        #expect(ReferenceStore(stateDirectory: directory.path).load() == nil)
    }

    @Test func reportsFailureAndKeepsOldFile() throws {
        let store = ReferenceStore(stateDirectory: directory.path)
        try store.save(attitude)
        // Blocks the new file, which is written beside the old one.
        try FileManager.default.createDirectory(
            atPath: directory.path + "/.reference-attitude.new", withIntermediateDirectories: false)
        #expect(throws: ReferenceStoreError(path: directory.path, failure: SystemFailure(code: EISDIR))) {
            try store.save(attitude.conjugate)
        }
        #expect(try #require(store.load()).angle(to: attitude) < 1e-12)
    }
}
