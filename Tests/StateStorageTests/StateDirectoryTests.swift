import BrokerTestSupport
import Foundation
import LinuxSystem
import StateStorage
import Testing

/// Requirement: a file that outlives a run is written as a whole or not at all, and errors are typed.
@Suite struct StateDirectoryTests {
    private let directory = TemporaryDirectory.absent()
    private var state: StateDirectory { StateDirectory(path: directory.path) }

    @Test func writesReadsAndRemovesAFile() throws {
        #expect(state.read("name") == .none)
        try state.write("first", to: "name")
        #expect(state.read("name") == .text("first"))
        #expect(state.read("name", limit: 3) == .text("fir"))
        try state.write("second", to: "name")
        #expect(state.read("name") == .text("second"))
        #expect(directory.names == ["name"])
        try state.remove("name")
        try state.remove("name")
        #expect(state.read("name") == .none)
    }

    @Test func setsAnUnusableFileAside() throws {
        try state.write("torn", to: "name")
        #expect(state.setAside("name") == "name.bad")
        #expect(directory.names == ["name.bad"])
        #expect(state.setAside("name") == nil)
    }

    @Test func reportsTypedErrors() throws {
        try state.write("", to: "file")
        let below = StateDirectory(path: state.path(of: "file") + "/below")
        #expect(throws: SystemFailure(code: ENOTDIR)) { try below.write("text", to: "name") }
        #expect(throws: SystemFailure(code: ENOTDIR)) { try below.remove("name") }
        #expect(below.read("name") == .failed(SystemFailure(code: ENOTDIR)))
        #expect(mkfifo(state.path(of: "fifo"), 0o600) == 0)
        #expect(state.read("fifo") == .failed(.notRegularFile))
    }
}
