import BrokerTestSupport
import Foundation
import Testing

@testable import JostleAgent

/// Requirement: a state directory has one agent at a time, and a disk that permits no lock does not prevent the start.
@Suite struct StateDirectoryLockTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func refusal(of path: String) -> (any Error)? {
        do {
            _ = try StateDirectoryLock.acquire(path) { Issue.record("\($0)") }
            return nil
        } catch {
            return error
        }
    }

    @Test func refusesASecondAgentAndNamesTheFirst() throws {
        let path = directory.path("state/left")
        var warnings: [String] = []
        let lock = try StateDirectoryLock.acquire(path) { warnings.append($0) }
        #expect(lock != nil && StateDirectoryLock.holder(of: path)?.processIdentifier == getpid())
        let text = refusal(of: path).map { "\($0)" } ?? ""
        #expect(
            text.contains("(process \(getpid())) uses the state directory \(path); stop that agent first"), "\(text)")
        withExtendedLifetime(lock) {}
        #expect(warnings.isEmpty)
    }

    @Test func releasesTheDirectoryWithTheAgent() throws {
        for _ in 0..<3 {
            let lock = try StateDirectoryLock.acquire(directory.path) { Issue.record("\($0)") }
            #expect(lock != nil)
        }
        #expect(StateDirectoryLock.holder(of: directory.path) == nil)
    }

    @Test func startsWithoutALock() throws {
        try directory.write("a file", to: "state")
        var warnings: [String] = []
        let lock = try StateDirectoryLock.acquire(directory.path("state")) { warnings.append($0) }
        #expect(lock == nil && warnings.count == 1)
        #expect(warnings[0].hasPrefix("cannot lock \(directory.path("state"))/agent.lock: Not a directory;"))
    }
}
