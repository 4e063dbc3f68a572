import BrokerTestSupport
import Foundation
import JostleConfiguration
import JostleRuntime
import LinuxSystem
import SQLiteDatabase
import Testing

@testable import HTTPServer
@testable import JostlePage

/// Requirement: the history is bounded in age and size, and no file and no disk is its end. These tests use real files.
@Suite struct HistoryFileTests {
    private static let now: Int64 = 1_795_182_600_000
    private static let day: Int64 = 86_400_000
    private let directory = TemporaryDirectory.absent()

    private var path: String { directory.path(HistoryFile.name) }

    private func file(days: Double = 30, bytes: Int = 200_000_000) -> HistoryFile {
        HistoryFile(directory: directory.path, maximumAge: 86_400 * days, maximumBytes: bytes)
    }

    private static func row(_ time: Int64, _ id: String? = nil, board: String = "a", _ content: String = "{}")
        -> HistoryRow
    {
        HistoryRow(
            board: board, time: now + time, kind: id == nil ? .board : .gesture, id: id, content: Array(content.utf8))
    }

    private func write(_ file: HistoryFile, _ rows: [HistoryRow], at time: Int64 = 0) -> HistoryFile.Outcome {
        file.write(rows, at: Self.now + time)
    }

    private struct Answer {
        var rows: [[String: Any]]
        var next: Int64?
        var problem: String?
        var outcome: HistoryFile.Outcome

        /// The times of the rows, since now.
        var times: [Int64] { rows.map { ($0["t"] as? NSNumber)?.int64Value ?? 0 }.map { $0 - HistoryFileTests.now } }
    }

    private func ask(
        _ file: HistoryFile, _ times: Range<Int64>, board: String = "a", more: [HistoryRow] = [], at time: Int64 = 0
    ) throws -> Answer {
        let question = HistoryFile.Question(
            board: board, times: Self.now + times.lowerBound..<Self.now + times.upperBound, more: more)
        let (bytes, outcome) = file.answer(question, at: Self.now + time)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        #expect(object["more"] as? Bool == (object["next"] != nil))
        return Answer(
            rows: try #require(object["rows"] as? [[String: Any]]),
            next: (object["next"] as? NSNumber).map { $0.int64Value - Self.now }, problem: object["problem"] as? String,
            outcome: outcome)
    }

    @Test func rowsComeBackInOrderAndOnce() throws {
        let file = file()
        let content = #"{"gesture":"shake","note":"ä \"x\" </script>"}"#
        let written = write(
            file,
            [
                Self.row(-50, "r-2", content), Self.row(-100, "r-1"), Self.row(-50, "r-2"), Self.row(-70),
                Self.row(-60, "r-1", board: "b"), Self.row(0, "r-3"),
            ])
        #expect(written.failure == nil && written.notice == nil)
        // Delivered again later, and to a server that was restarted meanwhile.
        file.close()
        #expect(write(self.file(), [Self.row(-20, "r-1")]).failure == nil)
        let answer = try ask(file, -1000..<0, more: [Self.row(-10), Self.row(5)])
        #expect(answer.times == [-100, -70, -50, -10])
        #expect(answer.rows.map { $0["kind"] as? String } == ["gesture", "board", "gesture", "board"])
        let data = try #require(answer.rows[2]["data"] as? [String: Any])
        #expect(data["note"] as? String == "ä \"x\" </script>")
        #expect(try ask(file, -1000..<0, board: "c").rows.isEmpty)
    }

    /// What comes after that is of a board that came back.
    @Test func anErasedBoardLeavesNothingBehind() throws {
        let file = file()
        let erasure = HistoryRow(board: "a", time: Self.now, kind: .erasure, content: [])
        #expect(write(file, [Self.row(-100, "r-1"), Self.row(-90, board: "b"), Self.row(-80)]).failure == nil)
        #expect(write(file, [Self.row(-70, "r-2"), erasure, Self.row(-60, "r-1")]).failure == nil)
        #expect(try ask(file, -1000..<1000).times == [-60])
        #expect(try ask(file, -1000..<1000, board: "b").times == [-90])
        file.close()
        let database = try Database.open(path: path)
        #expect(try database.integer("SELECT count(*) FROM entry") == 2)
    }

    @Test func partsOfALongAnswerHaveEachRowOnce() throws {
        let file = file()
        // Many at the same time, also where a part ends.
        let rows = (0..<5000).map { Self.row(Int64($0 / 7) - 2000, "r-\($0)") }
        #expect(write(file, rows).failure == nil)
        var times: [Int64] = []
        var next: Int64? = -3000
        var parts = 0
        while let start = next, parts < 10 {
            parts += 1
            let answer = try ask(file, start..<0)
            #expect(answer.rows.count <= HistoryStore.maximumAnswer.rows + 3)
            times += answer.times.filter { $0 >= start }
            next = answer.next
        }
        #expect(parts == 3 && times == rows.map { $0.time - Self.now })
    }

    /// What was so at the beginning of a time is known, as far as it was recorded.
    @Test func lastRowsBeforeATimeComeFirst() throws {
        let file = file()
        let all = HistoryRow.allBoards
        func row(_ minutes: Int64, _ kind: HistoryRow.Kind, _ content: String, board: String = "a") -> HistoryRow {
            HistoryRow(board: board, time: Self.now - 60_000 * minutes, kind: kind, content: Array(content.utf8))
        }
        let rows: [HistoryRow] = [
            row(9000, .recording, "true", board: all), row(800, .board, #"{"online":false}"#),
            row(700, .board, #"{"online":true}"#),
            row(90, .levels, "[1,2]"), row(50, .levels, "[3,4]"), row(20, .board, #"{"online":false}"#),
            row(5, .recording, "false", board: all),
        ]
        #expect(write(file, rows).failure == nil)
        #expect(try ask(file, -60_000 * 30..<0).times.map { $0 / -60_000 } == [9000, 700, 50, 5, 20])
        #expect(try ask(file, -60_000 * 600..<(-60_000 * 300)).times.map { $0 / -60_000 } == [9000, 700])
    }

    @Test func whatIsTooOldIsNeitherKeptNorTold() throws {
        let file = file(days: 2)
        let old = (0..<6000).map { Self.row(-3 * Self.day + Int64($0), "r-\($0)") }
        let recent = (0..<10).map { Self.row(-Self.day + Int64($0), "s-\($0)") }
        #expect(write(file, old + recent, at: -Self.day).failure == nil)
        #expect(try ask(file, -9 * Self.day..<0, at: -Self.day).rows.count > 1000)
        // Another write, a day later.
        #expect(write(file, [Self.row(0, "t")]).failure == nil)
        let kept = try ask(file, -9 * Self.day..<1).times
        #expect(kept == recent.map { $0.time - Self.now } + [0])
        file.close()
        let database = try Database.open(path: path)
        #expect(try database.integer("SELECT count(*) FROM entry") == 11)
    }

    @Test func fileStaysWithinItsSize() throws {
        let file = file(bytes: 10_000_000)
        let content = "\"\(String(repeating: "x", count: 1500))\""
        var largest: Int64 = 0
        for round in 0..<12 {
            let rows = (0..<1000).map { Self.row(Int64(1000 * round + $0) - 100_000, "\(round)-\($0)", content) }
            #expect(write(file, rows).failure == nil)
            for name in ["", "-wal"] {
                var status = stat()
                if stat(path + name, &status) == 0, name.isEmpty { largest = max(largest, Int64(status.st_size)) }
            }
        }
        #expect(largest <= 10_000_000)
        let last = try ask(file, -88_100..<0)
        #expect(last.times.last == -88_001, "the newest rows are kept")
        let first = try ask(file, -100_000..<(-99_000))
        #expect(first.rows.isEmpty, "the oldest are not")
        // Less is granted: the disk gets the rest back.
        file.close()
        let smaller = self.file(bytes: 6_000_000)
        for round in 0..<40 { #expect(write(smaller, [Self.row(Int64(round), "z-\(round)", content)]).failure == nil) }
        smaller.close()
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_size <= 6_000_000)
    }

    @Test(arguments: ["garbage", "other", "version", "directory"])
    func foreignFileIsSetAsideAndCostsNothingElse(_ kind: String) throws {
        switch kind {
        case "garbage": try directory.write(String(repeating: "no database. ", count: 1000), to: HistoryFile.name)
        case "directory":
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        default:
            try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
            if kind == "version" { #expect(write(file(), [Self.row(-100, "old")]).failure == nil) }
            let database = try Database.open(path: path)
            try database.execute(kind == "version" ? "PRAGMA user_version = 2" : "CREATE TABLE t(a)")
        }
        let file = file()
        let written = write(file, [Self.row(-50, "new")])
        if kind == "directory" {
            #expect(written.failure?.hasPrefix(path) == true && written.notice == nil)
            #expect(try ask(file, -1000..<0).problem == written.failure)
            return
        }
        #expect(written.failure == nil)
        #expect(written.notice?.hasSuffix("was moved to \(path).bad") == true, "\(written)")
        #expect(FileManager.default.fileExists(atPath: "\(path).bad"))
        #expect(try ask(file, -1000..<0).times == [-50])
        let next = write(file, [Self.row(-40, "next")])
        #expect(next.failure == nil && next.notice == nil, "said once")
    }

    /// Damage that is only found when the rows are read.
    @Test func fileThatIsDamagedLaterIsSetAside() throws {
        let file = file()
        #expect(write(file, (0..<3000).map { Self.row(Int64($0) - 5000, "r-\($0)") }).failure == nil)
        file.close()
        let handle = try #require(FileHandle(forUpdatingAtPath: path))
        let size = try handle.seekToEnd()
        for page in 2..<Int(size / 4096) where page % 2 == 0 {
            try handle.seek(toOffset: UInt64(4096 * page))
            try handle.write(contentsOf: Data(repeating: 0xA5, count: 4096))
        }
        try handle.close()
        let answer = try ask(file, -9000..<0)
        #expect(answer.outcome.notice?.contains("page-history.sqlite3.bad") == true, "\(answer.outcome)")
        #expect(write(file, [Self.row(-50, "new")]).failure == nil)
        #expect(try ask(file, -1000..<0).times == [-50])
    }

    /// A server that was killed has said nothing of it: at its next start it knows.
    @Test func gapAfterAKillIsKnown() throws {
        let recording = HistoryRow(
            board: HistoryRow.allBoards, time: Self.now - 900, kind: .recording, content: Array("true".utf8))
        let first = file()
        #expect(write(first, [recording, Self.row(-500, "r-1")]).failure == nil)
        first.close()
        let rows = try ask(file(), -1000..<0).rows
        #expect(rows.map { $0["kind"] as? String } == ["recording", "recording", "gesture"])
        #expect(rows.map { $0["data"] as? Bool } == [true, false, nil])
        #expect(rows[1]["t"] as? Int64 == Self.now - 500)
    }

    // MARK: The thread

    /// The history with a disk that refuses, until it does not: the rows wait, and what found no room is a gap.
    @Test func rowsWaitForADiskThatRefuses() async throws {
        let wake = try #require(WakeSignal())
        try FileManager.default.createDirectory(
            atPath: (directory.path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: directory.path))
        let history = History(
            directory: directory.path, JostleSettings.Page.History(), wake: wake, log: Log(level: .error))
        history.record(true, at: Self.now)
        history.advance([:], at: 10, milliseconds: Self.now)
        #expect(wake.isSignalled(within: 300))
        wake.clear()
        history.deliver(at: Self.now)
        try FileManager.default.removeItem(atPath: directory.path)
        history.record(false, at: Self.now + 1)
        history.advance([:], at: 20, milliseconds: Self.now)
        history.finish(at: Self.now + 2)
        #expect(try ask(file(), -1000..<1000).times == [0, 1])
    }

    @Test func questionsAreBounded() async throws {
        let wake = try #require(WakeSignal())
        let history = History(
            directory: directory.path, JostleSettings.Page.History(), wake: wake, log: Log(level: .error))
        var answers: [HTTPStream] = []
        let times = Self.now - 1000..<Self.now
        for _ in 0..<8 { answers.append(try history.ask("a", times, at: Self.now)) }
        #expect(throws: PageRefusal.tooManyQuestions) {
            _ = try history.ask("a", times, at: Self.now)
        }
        // A page that went away makes no room: the disk still has its question.
        answers.removeFirst().close()
        #expect(throws: PageRefusal.tooManyQuestions) { _ = try history.ask("a", times, at: Self.now) }
        var last: HTTPStream?
        let hasRoom = await eventually {
            history.deliver(at: Self.now)
            last = try? history.ask("a", times, at: Self.now) { $0 + [0x0A] }
            return last != nil
        }
        #expect(hasRoom)
        history.finish(at: Self.now)
        history.deliver(at: Self.now)
        var text: [UInt8] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 1)
        defer { buffer.deallocate() }
        while case .bytes(let count)? = last?.read(into: buffer) { text += buffer[..<count] }
        #expect(String(decoding: text, as: UTF8.self).hasSuffix("\"more\":false,\"rows\":[]}\n"))
    }
}
