import BrokerTestSupport
import Foundation
import LinuxSystem
import StateStorage
import Testing

/// Requirement: a caller never waits for the disk, and a failed write is retried until it succeeds.
@Suite struct StateWriterTests {
    private let directory = TemporaryDirectory.absent()
    private var path: String { directory.path + "/below/file" }

    private func text(_ path: String) -> String? { FileContents.text(ofOptional: path, limit: 99) }

    @Test func writesAndRemovesFilesAndCreatesDirectories() throws {
        let writer = StateWriter()
        let results = Journal<Bool>()
        #expect(writer.flush(within: 0))
        writer.write(Array("contents".utf8), to: path) { results.append($0.isSuccess) }
        #expect(writer.flush(within: 30))
        #expect(text(path) == "contents")
        #expect(results.entries == [true])
        writer.write(nil, to: path)
        #expect(writer.flush(within: 30))
        #expect(text(path) == nil)
        #expect(writer.finish(within: 30))
        #expect(writer.faults.isEmpty)
    }

    /// The observer of the times is told before the completion, and delays it.
    @Test func tellsTheTimeOfEachWriteBeforeItsCompletion() {
        let order = Journal<String>()
        let writer = StateWriter { order.append($0 > .zero ? "time" : "no time") }
        writer.perform { order.append("job") }
        writer.write(Array("contents".utf8), to: path) { _ in order.append("completion") }
        #expect(writer.flush(within: 30))
        #expect(order.entries == ["job", "time", "completion"])
    }

    /// While a job blocks the thread, 100 requests for a file become one write, and the caller continues.
    @Test func aStuckDiskBlocksNoCallerAndIsAFault() async throws {
        let writer = StateWriter()
        let gate = Gate()
        let attempts = Counter()
        writer.perform { gate.pass() }
        #expect(await eventually { gate.arrivals == 1 })
        for number in 1...100 {
            writer.write(Array("\(number)".utf8), to: path) { _ in attempts.countUp() }
        }
        #expect(await eventually { writer.faults.map(\.reason) == [.stuck] })
        #expect(!writer.flush(within: 0.01))
        gate.open()
        #expect(writer.flush(within: 30))
        #expect(text(path) == "100")
        #expect(attempts.value == 1)
        #expect(writer.faults.isEmpty)
    }

    /// A reader does not mistake the outdated file on disk for the latest content.
    @Test func readsPendingContents() async throws {
        let state = StateDirectory(path: directory.path)
        try state.write("old", to: "name")
        let writer = StateWriter()
        #expect(state.read("name", pendingIn: writer) == .text("old"))
        let gate = Gate()
        writer.perform { gate.pass() }
        writer.write(Array("new".utf8), to: state.path(of: "name"))
        #expect(state.read("name", pendingIn: writer) == .text("new"))
        writer.write(nil, to: state.path(of: "name"))
        #expect(state.read("name", pendingIn: writer) == .none)
        #expect(state.read("name") == .text("old"))
        gate.open()
        #expect(writer.flush(within: 30))
        #expect(state.read("name", pendingIn: writer) == .none)
        #expect(state.read("name") == .none)
    }

    @Test func retriesAFailedWriteUntilItSucceeds() async throws {
        let writer = StateWriter()
        let results = Journal<String>()
        let changes = Counter()
        writer.setObserver { changes.countUp() }
        // A file is where the directory should be.
        try directory.write("", to: "below")
        writer.write(Array("contents".utf8), to: path) { result in
            switch result {
            case .success: results.append("written")
            case .failure(let failure): results.append("\(failure)")
            }
        }
        #expect(await eventually { writer.faults.map(\.path) == [path] && changes.value > 0 })
        #expect(writer.faults.map(\.reason) == [.failed(SystemFailure(code: ENOTDIR))])
        #expect(writer.faults.map(\.description) == ["\(path): cannot be written: Not a directory"])
        try FileManager.default.removeItem(atPath: directory.path + "/below")
        #expect(writer.flush(within: 40))
        #expect(text(path) == "contents")
        #expect(writer.faults.isEmpty)
        #expect(results.entries.first == "Not a directory" && results.entries.last == "written")
        #expect(results.entries.filter { $0 == "written" }.count == 1)
        #expect(await eventually { changes.value == results.count })
    }

    /// Opening a FIFO to read would block for a writer, and to write for a reader.
    @Test func replacesAFIFO() throws {
        try directory.write("", to: "other")
        let fifo = directory.path + "/fifo"
        #expect(mkfifo(fifo, 0o600) == 0)
        let writer = StateWriter()
        writer.write([7], to: fifo)
        #expect(writer.finish(within: 30))
        #expect(try FileContents.bytes(of: fifo, limit: 9) == [7])
    }

    @Test func completesPendingRequestsAtTheEndAndRefusesLaterOnes() async throws {
        let writer = StateWriter()
        let gate = Gate()
        let results = Journal<Bool>()
        writer.perform { gate.pass() }
        writer.write([1], to: path) { results.append($0.isSuccess) }
        gate.open()
        #expect(writer.finish(within: 30))
        #expect(try FileContents.bytes(of: path, limit: 9) == [1])
        writer.write([2], to: path) { results.append($0.isSuccess) }
        writer.perform { Issue.record("after the end") }
        #expect(results.entries == [true, false])
        #expect(writer.finish(within: 30))
        #expect(try FileContents.bytes(of: path, limit: 9) == [1])
    }

    @Test func reportsFailuresAtTheEnd() throws {
        try directory.write("", to: "below")
        let writer = StateWriter()
        writer.write([1], to: path)
        #expect(!writer.finish(within: 30))
        #expect(writer.faults.map(\.path) == [path])
    }

    @Test func detachesAStuckThread() async throws {
        let writer = StateWriter()
        let gate = Gate()
        writer.perform { gate.pass() }
        #expect(await eventually { gate.arrivals == 1 })
        writer.write([1], to: path)
        #expect(!writer.finish(within: 0.05))
        gate.open()
        #expect(await eventually { text(path) != nil })
    }

    /// Deallocating the writer loses no request.
    @Test func aDeallocatedWriterCompletesPendingRequests() async throws {
        do {
            let writer = StateWriter()
            writer.write([1], to: path)
        }
        #expect(await eventually { text(path) != nil })
    }

    /// On the writer's own thread there is nothing to wait for.
    @Test func flushOnTheWriterThreadDoesNotBlock() throws {
        let writer = StateWriter()
        let answers = Journal<Bool>()
        writer.perform { [weak writer] in answers.append(writer?.flush(within: 60) ?? true) }
        #expect(writer.flush(within: 30))
        #expect(answers.entries == [false])
    }
}

extension Result {
    fileprivate var isSuccess: Bool {
        if case .success = self { true } else { false }
    }
}
