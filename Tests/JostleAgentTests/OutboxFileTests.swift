import BrokerTestSupport
import Foundation
import MotionCore
import SQLiteDatabase
import Testing

@testable import JostleAgent

/// Requirement: a committed event is not lost by the end of the process, and a damaged or full disk loses as few as
/// possible and is reported. These tests use real files.
@Suite final class OutboxFileTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// On the test's directory, opened at its first use.
    private lazy var rig = open()
    private var path: String { directory.path("outbox.sqlite3") }

    private func open(in directory: String? = nil, count: Int = 10_000, maximumBytes: Int = 1 << 24) -> OutboxRig {
        OutboxRig(directory: directory ?? self.directory.path, count: count, maximumBytes: maximumBytes)
    }

    /// The number of messages recovered from a damaged file, according to the log.
    private func saved(_ rig: OutboxRig) -> Int? {
        rig.lines.first.flatMap { $0.firstMatch(of: /was moved to .*; (\d+) messages were recovered/) }
            .flatMap { Int($0.output.1) }
    }

    /// Only a checkpoint syncs the file to disk, which takes an SD card tenths of a second: not while a message is
    /// waiting.
    @Test func checkpointsWhenIdle() throws {
        func size(_ suffix: String = "") throws -> Int {
            try #require(FileManager.default.attributesOfItem(atPath: path + suffix)[.size] as? Int)
        }
        rig.process([.connected])
        let start = try size()
        for number in 1...300 {
            rig.pass(1)
            rig.process([.add(rig.message("\(number) " + String(repeating: "x", count: 200)))])
            #expect(rig.takeSent().count == 1)
        }
        #expect(try size() == start)
        let log = try size("-wal")
        #expect(log > 300 * 512)
        rig.pass(1.9)
        #expect(rig.process([]) == rig.now.advanced(bySeconds: 0.1))
        #expect(try size() == start)
        rig.pass(0.2)
        rig.process([])
        #expect(try size() > start + 300 * 200)
        // One checkpoint; later writes reuse the log from its start.
        let taken = try size()
        rig.process([.add(rig.message("last"))])
        rig.pass(10)
        rig.process([])
        #expect(try size() == taken)
        #expect(try size("-wal") == log)
        rig.close()
        let (content, damage) = try OutboxRig.contents(of: path)
        #expect(damage == nil && content.messages.count == 301)
    }

    /// A copy of the file and its log as they are now: what another process would find if this one were killed.
    private func killed() throws -> String { try copy(of: directory.path, "killed") }

    private func copy(of place: String, _ name: String) throws -> String {
        let copy = directory.path(name)
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
        for file in ["/outbox.sqlite3", "/outbox.sqlite3-wal"]
        where FileManager.default.fileExists(atPath: place + file) {
            try FileManager.default.copyItem(atPath: place + file, toPath: copy + file)
        }
        return copy
    }

    @Test func storesMessagesBeforeSending() throws {
        rig.process([.connected, .add(rig.message("1")), .add(rig.message("2"))])
        #expect(rig.takeSent() == ["1", "2"])
        let next = open(in: try killed())
        next.process([.connected])
        #expect(next.takeSent() == ["1", "2"])
    }

    @Test func doesNotResendAcknowledgedMessages() throws {
        rig.process([.connected, .add(rig.message("1")), .add(rig.message("2")), .add(rig.message("3"))])
        let due = rig.process([.acknowledged(1), .rejected(2)])
        #expect(due != nil, "deletions are collected for a moment")
        rig.pass(Outbox.deletionDelay)
        rig.process([])
        _ = rig.takeSent()
        let next = open(in: try killed())
        #expect(next.statistics.count == 1 && next.statistics.dropped == 1)
        next.process([.connected])
        #expect(next.takeSent() == ["3"])
    }

    @Test func cleanExitKeepsMessagesAndRemovesLog() throws {
        rig.process([.add(rig.message("1")), .add(rig.message("2"))])
        rig.process([.connected, .acknowledged(1)])
        rig.close()
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        _ = rig.takeSent()
        let next = open()
        next.process([.connected, .add(rig.message("3"))])
        #expect(next.takeSent() == ["2", "3"])
    }

    @Test func storesEveryField() throws {
        rig.clocks.isSet = false
        var event = rig.message("")
        event.content = .event(id: "f00d-7", fields: #""gesture":"tap","phase":"recognized","side":"-x""#)
        event.topic = "jostle/ä/event/tap"
        event.isRetained = true
        event.lifetime = 12.5
        event.time.isClockSet = false
        rig.process([.add(event)])
        rig.close()
        let (content, damage) = try OutboxRig.contents(of: path)
        #expect(damage == nil)
        #expect(content.messages.map(\.message) == [event])
    }

    /// The log is what an event costs a memory card: half a kilobyte for its message, half for its gesture.
    @Test func eventsWriteLessThanTwoKilobytes() throws {
        func logSize() throws -> Int {
            try #require(FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int)
        }
        rig.process([.connected])
        let start = try logSize()
        for row: Int64 in 1...100 {
            rig.pass(0.7)
            var event = rig.message("")
            event.topic = "jostle/washer-1/event/shake"
            event.content = .event(
                id: "0123456789abcdef-\(row)", fields: #""gesture":"shake",\#(String(repeating: " ", count: 200))"x":0"#
            )
            rig.process([.setGesture(shake, isOpen: row % 2 == 1), .add(event)])
            rig.process([.acknowledged(row)])
        }
        #expect(rig.takeSent().count == 100)
        let written = try logSize() - start
        #expect(written < 100 * 1200, "\(written / 100) bytes an event")
    }

    @Test func writesNothingWithoutEvents() throws {
        rig.process([.connected])
        let before = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
        for _ in 0..<50 {
            rig.pass(60)
            #expect(rig.process([]) == nil)
            rig.process([.disconnected(undelivered: [])])
            rig.process([.connected])
        }
        let log = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date == before)
        let again = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
        #expect(log == again)
    }

    @Test func storesOpenGestures() throws {
        let shake = OpenGesture(gesture: .shake, isSimulated: false)
        let vibration = OpenGesture(gesture: .vibration, isSimulated: false)
        let made = OpenGesture(gesture: .shake, isSimulated: true)
        rig.process([
            .setGesture(shake, isOpen: true), .setGesture(vibration, isOpen: true), .setGesture(made, isOpen: true),
        ])
        rig.process([.setGesture(shake, isOpen: false)])
        let next = open(in: try killed())
        #expect(Set(next.interrupted) == [vibration, made])
        next.process([.setGesture(vibration, isOpen: false), .setGesture(made, isOpen: false)])
        next.close()
        #expect(open(in: directory.path("killed")).interrupted.isEmpty)
    }

    // MARK: Damage

    @Test func setsNonDatabaseAside() throws {
        try directory.write(String(repeating: "this is no database\n", count: 500), to: "outbox.sqlite3")
        rig.process([.connected, .add(rig.message("1"))])
        #expect(rig.takeSent() == ["1"])
        #expect(rig.statistics.failure == nil && rig.statistics.unstored == 0)
        #expect(FileManager.default.fileExists(atPath: directory.path("outbox-damaged.sqlite3")))
        let saved = try #require(self.saved(rig), "\(rig.lines)")
        #expect(saved == 0)
    }

    /// A page in the middle is torn; what comes before it is recovered.
    @Test func recoversMessagesBeforeDamage() throws {
        rig.process((1...400).map { .add(rig.message("\($0) " + String(repeating: "x", count: 400))) })
        rig.close()
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        let size = try file.seekToEnd()
        try file.seek(toOffset: size / 2 / 4096 * 4096)
        try file.write(contentsOf: Data(repeating: 0xA5, count: 4096))
        try file.close()

        let next = open()
        let saved = try #require(self.saved(next), "\(next.lines)")
        #expect((1..<400).contains(saved))
        next.process([.connected, .add(rig.message("last"))])
        let texts = next.takeSent().map { $0.prefix { $0 != " " } }
        #expect(texts == (1...saved).map { "\($0)" } + ["last"])
        next.close()
        #expect(open().statistics.count == saved + 1)
    }

    @Test func tornLogKeepsEarlierMessages() throws {
        for number in 1...20 { rig.process([.add(rig.message("\(number)"))]) }
        let copy = try killed()
        let log = copy + "/outbox.sqlite3-wal"
        let size = try #require(try FileManager.default.attributesOfItem(atPath: log)[.size] as? Int)
        truncate(log, size - 100)
        let next = open(in: copy)
        #expect(next.lines.isEmpty && next.statistics.count == 19)
    }

    /// A rig with an open gesture and 60 messages, whose file and log were overwritten with other bytes. SQLite notices
    /// when it reads pages that it has not cached.
    private func damagedMeanwhile() throws -> OutboxRig {
        rig.process([.setGesture(shake, isOpen: true)])
        let text = String(repeating: "x", count: 60_000)
        for number in 1...60 { rig.process([.add(rig.message("\(number) \(text)"))]) }
        for suffix in ["", "-wal"] {
            let file = try #require(FileHandle(forUpdatingAtPath: path + suffix))
            let size = try file.seekToEnd()
            try file.seek(toOffset: 0)
            try file.write(contentsOf: Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }))
            try file.close()
        }
        return rig
    }

    private let shake = OpenGesture(gesture: .shake, isSimulated: false)

    /// Waiting messages and gestures from before the damage are in the new file.
    @Test func keepsMessagesWhenFileIsDamagedInUse() throws {
        let rig = try damagedMeanwhile()
        var acknowledged: Int64 = 0
        while rig.lines.isEmpty, acknowledged < 60 {
            acknowledged += 1
            rig.process([.acknowledged(acknowledged), .add(rig.message("new"))])
        }
        let saved = try #require(self.saved(rig), "\(rig.lines)")
        #expect(saved == 60 && rig.statistics.failure == nil && rig.statistics.unstored == 0)
        let next = open(in: try killed())
        #expect(next.interrupted == [shake])
        #expect(next.statistics.count == 60)
        rig.close()
    }

    /// The damaged file cannot be replaced at once. When it can, everything is written to the new file.
    @Test func rewritesEverythingOnceNewFileCanBeCreated() throws {
        let rig = try damagedMeanwhile()
        // A directory stands in the place of the new file's log, and cannot be moved.
        #expect(rename(path + "-wal", directory.path("log")) == 0)
        for place in [path + "-wal", directory.path("outbox-damaged.sqlite3-wal/full")] {
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        }
        var acknowledged: Int64 = 0
        while rig.statistics.failure == nil, acknowledged < 60 {
            acknowledged += 1
            rig.process([.acknowledged(acknowledged), .add(rig.message("new"))])
        }
        #expect(rig.statistics.failure != nil && rig.statistics.unstored == 60)
        try FileManager.default.removeItem(atPath: path + "-wal")
        rig.pass(5)
        rig.process([])
        #expect(rig.statistics.failure == nil && rig.statistics.unstored == 0)
        let next = open(in: try killed())
        #expect(next.interrupted == [shake] && next.statistics.count == 60)
        rig.close()
    }

    /// Whatever a power cut or a worn memory card did to file and log: the rig opens the file or sets it aside, accepts
    /// and keeps new messages, duplicates no old ones and keeps their order.
    @Test func survivesRandomDamage() throws {
        let earlier = open()
        let text = String(repeating: "x", count: 400)
        earlier.process(
            [.setGesture(shake, isOpen: true)] + (1...400).map { .add(earlier.message("old \($0) \(text)")) })
        for token: Int64 in 1...100 { earlier.process([.acknowledged(token * 3)]) }
        earlier.close()
        let first = open()
        for number in 401...430 { first.process([.add(first.message("old \(number) \(text)"))]) }
        let template = try killed()
        let sizes = try ["", "-wal"].map { suffix in
            let attributes = try FileManager.default.attributesOfItem(atPath: template + "/outbox.sqlite3" + suffix)
            return try #require(attributes[.size] as? UInt64)
        }
        var setAside = 0
        for round in 0..<60 {
            let place = directory.path("round-\(round)")
            try FileManager.default.copyItem(atPath: template, toPath: place)
            let isLog = Bool.random()
            let victim = place + "/outbox.sqlite3" + (isLog ? "-wal" : "")
            let offset = UInt64.random(in: 0..<sizes[isLog ? 1 : 0])
            let file = try #require(FileHandle(forUpdatingAtPath: victim))
            let length = Bool.random() ? 0 : [1, 16, 512, 4096, 20_000].randomElement() ?? 1
            if length == 0 {
                try file.truncate(atOffset: offset)
            } else {
                try file.seek(toOffset: offset)
                try file.write(contentsOf: Data((0..<length).map { _ in UInt8.random(in: 0...255) }))
            }
            try file.close()
            let next = open(in: place)
            next.process([.connected, .add(next.message("new 1"))])
            next.process([.add(next.message("new 2"))])
            let damage = length == 0 ? "cut" : "\(length) random bytes"
            let comment = Comment(
                "\(victim), \(damage) at \(offset): \(next.lines), \(next.statistics.failure.map { "\($0)" } ?? "")")
            let sent = next.sent
            #expect(next.takeSent().suffix(2) == ["new 1", "new 2"], comment)
            #expect(sent.count <= 332 && zip(sent, sent.dropFirst()).allSatisfy { $0.row < $1.row }, comment)
            #expect(next.statistics.failure == nil && next.statistics.unstored == 0, comment)
            if !next.lines.isEmpty { setAside += 1 }
            // Everything that the killed rig knew is known to the next one.
            let last = open(in: try copy(of: place, "again-\(round)"))
            #expect(last.statistics.count == next.statistics.count, comment)
            next.close()
            last.close()
        }
        #expect(setAside > 0, "no round damaged the file")
        first.close()
    }

    /// SQLite reports it as a lack of memory, which is no reason to give up a file.
    @Test func aRowOfAnImpossibleSizeIsDamage() throws {
        let text = String(repeating: "x", count: 300)
        rig.process((1...40).map { .add(rig.message("old \($0) \(text)")) })
        rig.close()
        var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        // The last page of rows of a table. A row begins with its size, and the first one's place is behind the header.
        let page = try #require(Array(stride(from: 0, to: bytes.count, by: 512)).last { bytes[$0] == 13 })
        let row = page + Int(bytes[page + 8]) * 256 + Int(bytes[page + 9])
        bytes.replaceSubrange(row..<row + 6, with: [0x8F, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F])
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let next = open()
        #expect((saved(next) ?? 0) > 20, "\(next.lines)")
        next.process([.add(next.message("new"))])
        #expect(next.statistics.failure == nil && next.statistics.unstored == 0)
        next.close()
    }

    /// An impossible row number, from a damaged row, must not affect the numbers of later rows.
    @Test(arguments: ["-1", "0", "1152921504606846976", "4611686018427387905", "9223372036854775807"])
    func ignoresRowsWithImpossibleNumbers(token: String) throws {
        rig.process([.add(rig.message("1")), .add(rig.message("2")), .add(rig.message("3"))])
        rig.close()
        do {
            let database = try Database.open(path: path)
            try database.execute("UPDATE message SET token = \(token) WHERE token = 2")
        }
        let next = open()
        next.process([.connected, .add(rig.message("4"))])
        let tokens = next.sent.map(\.row)
        #expect(next.takeSent() == ["1", "3", "4"] && tokens == [1, 3, 4])
    }

    // MARK: Disks that cannot be written

    /// The file may not grow, which is the real error of a full disk.
    @Test func continuesFromMemoryOnFullDisk() throws {
        let rig = open(maximumBytes: 0)
        let large = String(repeating: "x", count: 60_000)
        rig.process([.connected])
        for number in 1...10 { rig.process([.add(rig.message("\(number) \(large)"))]) }
        #expect(rig.takeSent().count == 10, "each is sent nevertheless")
        #expect(rig.statistics.unstored > 0 && rig.statistics.failure != nil && rig.statistics.dropped == 0)
        let failures = rig.lines.count { $0.contains("cannot write") }
        #expect(failures == 1, "logged once")

        // The broker acknowledges some messages, and there is room again.
        rig.process((1...8).map { .acknowledged($0) })
        rig.pass(5)
        rig.process([])
        #expect(rig.statistics.failure == nil && rig.statistics.unstored == 0 && rig.statistics.count == 2)
        #expect(rig.lines.last == "the outbox can be written again")
        let next = open(in: try killed())
        #expect(next.statistics.count == 2)
        rig.close()
    }

    /// The broker has every message that could not be written. Nothing is left to write, but the recovery is noticed.
    @Test func noticesRecoveryWithNothingLeftToWrite() throws {
        let rig = open(maximumBytes: 0)
        rig.process([.connected, .add(rig.message(String(repeating: "x", count: 400_000)))])
        #expect(rig.takeSent().count == 1 && rig.statistics.failure != nil)
        rig.process([.acknowledged(1)])
        for _ in 0..<3 {
            rig.pass(5)
            let due = rig.process([])
            #expect(due.map { $0 > rig.now } ?? true, "otherwise the loop would spin")
        }
        #expect(rig.statistics.failure == nil && rig.lines.last == "the outbox can be written again")
        rig.close()
    }

    /// A write fails in the middle of a transaction, after an error on which SQLite does not roll back by itself. The
    /// next one must not fail because of that.
    @Test func writesAgainAfterFailureWithinTransaction() throws {
        let first = open()
        first.close()
        do {
            let database = try Database.open(path: path)
            try database.execute(
                """
                CREATE TRIGGER refuse BEFORE INSERT ON message WHEN new.content = CAST('refused' AS BLOB)
                BEGIN SELECT RAISE(ABORT, 'refused'); END
                """)
        }
        rig.process([.connected, .add(rig.message("1")), .add(rig.message("refused"))])
        #expect(rig.takeSent() == ["1", "refused"])
        #expect(rig.statistics.failure != nil && rig.statistics.unstored == 2)
        rig.process([.acknowledged(2)])
        rig.pass(5)
        rig.process([.add(rig.message("3"))])
        #expect(rig.statistics.failure == nil && rig.statistics.unstored == 0)
        let next = open(in: try killed())
        next.process([.connected])
        #expect(next.takeSent() == ["1", "3"])
    }

    @Test func continuesWithoutStateDirectory() throws {
        try directory.write("a file", to: "state")
        let rig = open(in: directory.path("state"))
        #expect(rig.statistics.failure != nil)
        rig.process([.connected, .add(rig.message("1"))])
        #expect(rig.takeSent() == ["1"])
        // The obstacle is removed, and waiting messages are written.
        try FileManager.default.removeItem(atPath: directory.path("state"))
        try FileManager.default.createDirectory(atPath: directory.path("state"), withIntermediateDirectories: true)
        rig.pass(10)
        rig.process([.add(rig.message("2"))])
        #expect(rig.statistics.failure == nil && rig.statistics.unstored == 0)
        rig.close()
        _ = rig.takeSent()
        let next = open(in: directory.path("state"))
        next.process([.connected])
        #expect(next.takeSent() == ["1", "2"])
    }

    /// Two agents share a state directory: the second keeps its events in memory, and opens the file when it is
    /// released.
    @Test func opensLockedFileWhenReleased() throws {
        let first = open()
        first.process([.add(first.message("first"))])
        let second = open()
        #expect(second.lines.first?.contains("cannot write") == true, "\(second.lines)")
        second.process([.connected, .add(second.message("second"))])
        #expect(second.takeSent() == ["second"])
        first.close()
        second.pass(10)
        second.process([])
        #expect(second.takeSent() == ["first"])
        #expect(second.statistics.count == 2 && second.statistics.unstored == 0)
        second.close()
        #expect(open().statistics.count == 2)
    }

    // MARK: Bounds and time

    @Test func logsLossesAndContinuesCounting() throws {
        let rig = open(count: 2)
        rig.process((1...5).map { .add(rig.message("\($0)")) })
        #expect(rig.lines.count == 1 && rig.lines[0].hasPrefix("dropped 3 messages"))
        rig.close()
        let next = open(count: 2)
        #expect(next.statistics.dropped == 3 && next.statistics.count == 2)
        next.process([.add(rig.message("6"))])
        #expect(next.statistics.dropped == 4 && next.lines.count == 1 && next.lines[0].hasPrefix("dropped 1 messages"))
    }

    @Test func settingClockCorrectsStoredTimes() throws {
        rig.clocks.isSet = false
        rig.clocks.wall = 1000
        rig.process([.add(rig.message("1"))])
        rig.pass(60)
        rig.clocks.isSet = true
        rig.clocks.wall = 1_795_000_060_000
        rig.process([])
        rig.close()
        let (content, _) = try OutboxRig.contents(of: path)
        let time = try #require(content.messages.first?.message.time)
        #expect(time.isClockSet && time.wall == 1_795_000_000_000)
    }

    // MARK: Validation

    /// An impossible value, from a damaged row or another program: arithmetic with it would crash the process.
    @Test(
        arguments: [
            "monotonic = -9223372036854775808", "monotonic = 9223372036854775807", "monotonic = 'x'||char(0)",
            "wall = -9223372036854775808", "wall = 9223372036854775807", "lifetime = -9223372036854775808",
            "lifetime = 9223372036854775807", "topic = 'a/#'", "topic = ''", "boot = hex(zeroblob(100))",
            "id = 'r-2', content = '}{'", "id = 'r-2', content = '\"a\":1,\"a\":2'", "id = hex(zeroblob(100))",
            "content = zeroblob(2000000)",
        ])
    func ignoresInvalidRows(change: String) throws {
        rig.process([.add(rig.message("1")), .add(rig.message("2")), .add(rig.message("3"))])
        rig.close()
        do {
            let database = try Database.open(path: path)
            try database.execute("UPDATE message SET \(change) WHERE token = 2")
        }
        let next = open()
        next.process([.connected, .add(next.message("4"))])
        next.pass(3600)
        next.process([.disconnected(undelivered: [1, 3, 4])])
        next.process([.connected])
        #expect(next.takeSent() == ["1", "3", "4", "1", "3", "4"])
    }

    /// The same values with the right checksum, from another program.
    @Test(arguments: 0..<9)
    func ignoresInvalidRowsWithChecksums(number: Int) throws {
        rig.process([.add(rig.message("1"))])
        var message = rig.message("2")
        switch number {
        case 0: message.topic = "a/#"
        case 1: message.topic = ""
        case 2: message.time.sinceBoot = Timestamp(nanoseconds: .min)
        case 3: message.time.sinceBoot = Timestamp(nanoseconds: .max)
        case 4: message.time.wall = .min
        case 5: message.time.boot = String(repeating: "0", count: 200)
        case 6: message.content = .event(id: "r-2", fields: "}{")
        case 7: message.content = .event(id: String(repeating: "0", count: 200), fields: "")
        default: message.content = .fixed([UInt8](repeating: 0, count: 2_000_000))
        }
        guard case .written = rig.file.write(OutboxBatch(added: [(2, message)])) else {
            throw Unexpected("not written")
        }
        rig.close()
        let next = open()
        #expect(next.lines.count == 1 && next.lines[0].contains("not as they were written: 1)"), "\(next.lines)")
        next.process([.connected])
        #expect(next.takeSent() == ["1"])
    }

    /// Opening a FIFO blocks until the other end is opened. The start must not block.
    @Test func doesNotBlockOnFIFO() throws {
        #expect(mkfifo(path, 0o600) == 0)
        #expect(rig.statistics.failure != nil)
        rig.process([.connected, .add(rig.message("1"))])
        #expect(rig.takeSent() == ["1"])
        #expect(unlink(path) == 0)
        rig.pass(5)
        rig.process()
        #expect(rig.statistics.failure == nil && rig.statistics.unstored == 0)
    }

    /// A file that had to be closed is opened again with its old content; what was finished meanwhile is not repeated.
    @Test func reopenedFileDropsFinishedMessages() throws {
        rig.process([.connected, .setGesture(shake, isOpen: true), .add(rig.message("1")), .add(rig.message("2"))])
        // The disk fails: the file is closed, the broker acknowledges everything, the gesture ends.
        rig.file.close()
        rig.process([.acknowledged(1), .acknowledged(2), .setGesture(shake, isOpen: false)])
        rig.pass(5)
        rig.process()
        #expect(rig.statistics.count == 0 && rig.statistics.failure == nil)
        let next = open(in: try killed())
        #expect(next.statistics.count == 0 && next.interrupted.isEmpty)
    }

    /// A damaged file that could not be opened at the start is set aside later, and this is logged.
    @Test func logsDamagedFileThatIsOpenedLate() throws {
        let state = directory.path("late")
        try directory.write("a file", to: "late")
        let rig = open(in: state)
        try FileManager.default.removeItem(atPath: state)
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
        try directory.write(String(repeating: "this is no database\n", count: 500), to: "late/outbox.sqlite3")
        rig.pass(5)
        rig.process([.connected, .add(rig.message("1"))])
        #expect(rig.lines.contains { $0.contains("was damaged") }, "\(rig.lines)")
        #expect(rig.statistics.failure == nil && rig.statistics.unstored == 0 && rig.takeSent() == ["1"])
        rig.close()
    }

    /// A message that was acknowledged just before the end is not in the file at the next start.
    @Test func cleanExitDeletesLastAcknowledged() throws {
        rig.process([.connected, .add(rig.message("1"))])
        rig.process([.acknowledged(1)])
        rig.close()
        #expect(open().statistics.count == 0)
    }
}
