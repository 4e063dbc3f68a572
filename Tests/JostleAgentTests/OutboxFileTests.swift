import BrokerTestSupport
import Foundation
import MosquittoClient
import MotionCore
import SQLiteDatabase
import Testing

@testable import JostleAgent

/// Requirement: an event exists from its commit; neither the end of the process nor a damaged or full disk loses one that
/// it need not, and what cannot be kept is told. On real files.
@Suite struct OutboxFileTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private var path: String { directory.path("outbox.sqlite3") }

    private func rig(in directory: String? = nil, count: Int = 10_000, maximumBytes: Int = 1 << 24) -> OutboxRig {
        OutboxRig(directory: directory ?? self.directory.path, count: count, maximumBytes: maximumBytes)
    }

    /// How many messages of a damaged file could be read, as the log says.
    private func saved(_ rig: OutboxRig) -> Int? {
        rig.lines.first.flatMap { $0.firstMatch(of: /it lies in .* now; (\d+) messages of it were saved/) }
            .flatMap { Int($0.output.1) }
    }

    /// A file is only synced to the disk with its log, which takes an SD card tenths of a second: not while a message waits.
    @Test func theLogIsTakenInWhenNothingHappens() throws {
        func size(_ suffix: String = "") throws -> Int {
            try #require(FileManager.default.attributesOfItem(atPath: path + suffix)[.size] as? Int)
        }
        let rig = self.rig()
        rig.work([.connected])
        let start = try size()
        for number in 1...120 {
            rig.pass(1)
            rig.work([.add(rig.message("\(number) " + String(repeating: "x", count: 200)))])
            #expect(rig.news().count == 1)
        }
        #expect(try size() == start)
        let log = try size("-wal")
        #expect(log > 120 * 4096)
        rig.pass(1.9)
        #expect(rig.work([]) == rig.now.advanced(bySeconds: 0.1))
        #expect(try size() == start)
        rig.pass(0.2)
        rig.work([])
        #expect(try size() > start + 120 * 200)
        // Once, and what comes then is written over the log from its start.
        let taken = try size()
        rig.work([.add(rig.message("last"))])
        rig.pass(10)
        rig.work([])
        #expect(try size() == taken)
        #expect(try size("-wal") == log)
        rig.close()
        let store = try OutboxStore.open(path: path, maximumBytes: 1 << 24)
        let (content, failure) = store.load()
        #expect(failure == nil && content.messages.count == 121)
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

    @Test func whatIsHandedToTheClientIsWrittenDownBefore() throws {
        let rig = rig()
        rig.work([.connected, .add(rig.message("1")), .add(rig.message("2"))])
        #expect(rig.news() == ["1", "2"])
        let next = self.rig(in: try killed())
        next.work([.connected])
        #expect(next.news() == ["1", "2"])
        rig.close()
    }

    @Test func whatTheBrokerHasIsNotSentByTheNextRun() throws {
        let rig = rig()
        rig.work([.connected, .add(rig.message("1")), .add(rig.message("2")), .add(rig.message("3"))])
        let due = rig.work([.acknowledged(1), .rejected(2)])
        #expect(due != nil, "departures are gathered for a moment")
        rig.pass(1)
        rig.work([])
        _ = rig.news()
        let next = self.rig(in: try killed())
        #expect(next.figures.count == 1 && next.figures.dropped == 1)
        next.work([.connected])
        #expect(next.news() == ["3"])
        rig.close()
    }

    @Test func aCleanEndKeepsWhatWaitsAndNoLogBesideIt() throws {
        let rig = rig()
        rig.work([.add(rig.message("1")), .add(rig.message("2"))])
        rig.work([.connected, .acknowledged(1)])
        rig.close()
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        _ = rig.news()
        let next = self.rig()
        next.work([.connected, .add(rig.message("3"))])
        #expect(next.news() == ["2", "3"])
        next.close()
    }

    @Test func everyFieldOutlivesTheRun() throws {
        let rig = rig()
        rig.clocks.isSet = false
        var event = rig.message("")
        event.content = .event(id: "f00d-7", fields: #""gesture":"tap","phase":"recognized","side":"-x""#)
        event.topic = "jostle/ä/event/tap"
        event.isRetained = true
        event.lifetime = 12.5
        event.time.isClockSet = false
        rig.work([.add(event)])
        rig.close()
        let store = try OutboxStore.open(path: path, maximumBytes: 1 << 20)
        let defect = try store.integrityProblem()
        let messages = store.load().content.messages
        #expect(defect == nil)
        #expect(messages.map(\.message) == [event])
    }

    @Test func nothingIsWrittenWithoutAnEvent() throws {
        let rig = rig()
        rig.work([.connected])
        let before = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
        for _ in 0..<50 {
            rig.pass(60)
            #expect(rig.work([]) == nil)
            rig.work([.disconnected(undelivered: [])])
            rig.work([.connected])
        }
        let log = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date == before)
        let again = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
        #expect(log == again)
        rig.close()
    }

    @Test func gesturesThatWereOpenAreKnownToTheNextRun() throws {
        let rig = rig()
        let shake = OpenGesture(gesture: .shake, isSimulated: false)
        let vibration = OpenGesture(gesture: .vibration, isSimulated: false)
        let made = OpenGesture(gesture: .shake, isSimulated: true)
        rig.work([.setGesture(shake, isOpen: true), .setGesture(vibration, isOpen: true), .setGesture(made, isOpen: true)])
        rig.work([.setGesture(shake, isOpen: false)])
        let next = self.rig(in: try killed())
        #expect(Set(next.interrupted) == [vibration, made])
        next.work([.setGesture(vibration, isOpen: false), .setGesture(made, isOpen: false)])
        next.close()
        #expect(self.rig(in: directory.path("killed")).interrupted.isEmpty)
        rig.close()
    }

    // MARK: Damage

    @Test func whatIsNoDatabaseIsSetAside() throws {
        try directory.write(String(repeating: "this is no database\n", count: 500), to: "outbox.sqlite3")
        let rig = rig()
        rig.work([.connected, .add(rig.message("1"))])
        #expect(rig.news() == ["1"])
        #expect(rig.figures.failure == nil && rig.figures.unstored == 0)
        #expect(FileManager.default.fileExists(atPath: directory.path("outbox-damaged.sqlite3")))
        let saved = try #require(self.saved(rig), "\(rig.lines)")
        #expect(saved == 0)
        rig.close()
    }

    /// A page in the middle is torn: what comes before it is saved.
    @Test func ofATornFileWhatCanBeReadIsSaved() throws {
        let rig = rig()
        rig.work((1...400).map { .add(rig.message("\($0) " + String(repeating: "x", count: 400))) })
        rig.close()
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        let size = try file.seekToEnd()
        try file.seek(toOffset: size / 2 / 4096 * 4096)
        try file.write(contentsOf: Data(repeating: 0xA5, count: 4096))
        try file.close()

        let next = self.rig()
        let saved = try #require(self.saved(next), "\(next.lines)")
        #expect((1..<400).contains(saved))
        next.work([.connected, .add(rig.message("last"))])
        let news = next.news().map { $0.prefix { $0 != " " } }
        #expect(news == (1...saved).map { "\($0)" } + ["last"])
        next.close()
        #expect(self.rig().figures.count == saved + 1)
    }

    @Test func aTornEndOfTheLogCostsNothingBeforeIt() throws {
        let rig = rig()
        for number in 1...20 { rig.work([.add(rig.message("\(number)"))]) }
        let copy = try killed()
        let log = copy + "/outbox.sqlite3-wal"
        let size = try #require(try FileManager.default.attributesOfItem(atPath: log)[.size] as? Int)
        truncate(log, size - 1000)
        let next = self.rig(in: copy)
        #expect(next.lines.isEmpty && next.figures.count == 19)
        rig.close()
    }

    /// A rig with an open gesture and 60 messages, in whose file and log are bytes that are not its own since. SQLite
    /// notices where it reads what it does not remember.
    private func damagedMeanwhile() throws -> OutboxRig {
        let rig = rig()
        rig.work([.setGesture(shake, isOpen: true)])
        let text = String(repeating: "x", count: 60_000)
        for number in 1...60 { rig.work([.add(rig.message("\(number) \(text)"))]) }
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

    /// What waits, and gestures that began before the damage, are in the file that takes the damaged one's place.
    @Test func whatIsOpenOutlivesAFileThatIsDamagedMeanwhile() throws {
        let rig = try damagedMeanwhile()
        var acknowledged: Int64 = 0
        while rig.lines.isEmpty, acknowledged < 60 {
            acknowledged += 1
            rig.work([.acknowledged(acknowledged), .add(rig.message("new"))])
        }
        let saved = try #require(self.saved(rig), "\(rig.lines)")
        #expect(saved == 60 && rig.figures.failure == nil && rig.figures.unstored == 0)
        let next = self.rig(in: try killed())
        #expect(next.interrupted == [shake])
        #expect(next.figures.count == 60)
        rig.close()
    }

    /// The damaged file cannot be replaced at once: when it can be, everything goes into the new one.
    @Test func whatWasWrittenIsWrittenAgainWhereTheNewFileHadToWait() throws {
        let rig = try damagedMeanwhile()
        // A new file would have its log where a directory stands.
        #expect(rename(path + "-wal", directory.path("log")) == 0)
        try FileManager.default.createDirectory(atPath: path + "-wal", withIntermediateDirectories: true)
        var acknowledged: Int64 = 0
        while rig.figures.failure == nil, acknowledged < 60 {
            acknowledged += 1
            rig.work([.acknowledged(acknowledged), .add(rig.message("new"))])
        }
        #expect(rig.figures.failure != nil && rig.figures.unstored == 60)
        try FileManager.default.removeItem(atPath: path + "-wal")
        rig.pass(5)
        rig.work([])
        #expect(rig.figures.failure == nil && rig.figures.unstored == 0)
        let next = self.rig(in: try killed())
        #expect(next.interrupted == [shake] && next.figures.count == 60)
        rig.close()
    }

    /// Whatever a power cut or a worn card made of file and log: the rig opens it or sets it aside, takes and keeps what
    /// comes, and of what was there it doubles nothing and keeps the order.
    @Test func noDamageIsFatal() throws {
        let earlier = rig()
        let text = String(repeating: "x", count: 400)
        earlier.work([.setGesture(shake, isOpen: true)] + (1...400).map { .add(earlier.message("old \($0) \(text)")) })
        for token: Int64 in 1...100 { earlier.work([.acknowledged(token * 3)]) }
        earlier.close()
        let first = rig()
        for number in 401...430 { first.work([.add(first.message("old \(number) \(text)"))]) }
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
            if Bool.random() {
                try file.truncate(atOffset: offset)
            } else {
                try file.seek(toOffset: offset)
                let length = [1, 16, 512, 4096, 20_000].randomElement() ?? 1
                try file.write(contentsOf: Data((0..<length).map { _ in UInt8.random(in: 0...255) }))
            }
            try file.close()
            let next = rig(in: place)
            next.work([.connected, .add(next.message("new 1"))])
            next.work([.add(next.message("new 2"))])
            let comment = Comment("round \(round): \(victim) at \(offset)")
            let sent = next.sent
            #expect(next.news().suffix(2) == ["new 1", "new 2"], comment)
            #expect(sent.count <= 332 && zip(sent, sent.dropFirst()).allSatisfy { $0.row < $1.row }, comment)
            #expect(next.figures.failure == nil && next.figures.unstored == 0, comment)
            if !next.lines.isEmpty { setAside += 1 }
            // What the killed one knew, the next one knows.
            let last = rig(in: try copy(of: place, "again-\(round)"))
            #expect(last.figures.count == next.figures.count, comment)
            next.close()
            last.close()
        }
        #expect(setAside > 0, "the damage is none")
        first.close()
    }

    /// A number out of range, of one row that a card got wrong, would be passed on to all that follow.
    @Test(arguments: ["-1", "0", "1152921504606846976", "4611686018427387905", "9223372036854775807"])
    func aRowOfAnImpossibleNumberIsLeftOut(token: String) throws {
        let rig = rig()
        rig.work([.add(rig.message("1")), .add(rig.message("2")), .add(rig.message("3"))])
        rig.close()
        do {
            let database = try Database.open(path: path)
            try database.execute("UPDATE message SET token = \(token) WHERE token = 2")
        }
        let next = self.rig()
        next.work([.connected, .add(rig.message("4"))])
        let tokens = next.sent.map(\.row)
        #expect(next.news() == ["1", "3", "4"] && tokens == [1, 3, 4])
        next.close()
    }

    @Test func anotherVersionsFileIsSetAside() throws {
        do {
            let database = try Database.open(path: path)
            try database.execute("CREATE TABLE message(other); PRAGMA user_version = 99")
        }
        let rig = rig()
        rig.work([.add(rig.message("1"))])
        #expect(rig.figures.failure == nil && rig.lines.count == 1)
        rig.close()
    }

    // MARK: A disk that takes nothing

    /// The file may not grow: the true error of a full disk.
    @Test func onAFullDiskEventsGoOnAndAreWrittenWhenThereIsRoom() throws {
        let rig = rig(maximumBytes: 0)
        let large = String(repeating: "x", count: 60_000)
        rig.work([.connected])
        for number in 1...10 { rig.work([.add(rig.message("\(number) \(large)"))]) }
        #expect(rig.news().count == 10, "each goes to the broker all the same")
        #expect(rig.figures.unstored > 0 && rig.figures.failure != nil && rig.figures.dropped == 0)
        let failures = rig.lines.count { $0.contains("cannot be written") }
        #expect(failures == 1, "told once")

        // The broker takes some; there is room again.
        rig.work((1...8).map { .acknowledged($0) })
        rig.pass(5)
        rig.work([])
        rig.pass(5)
        rig.work([])
        #expect(rig.figures.failure == nil && rig.figures.unstored == 0 && rig.figures.count == 2)
        #expect(rig.lines.last == "the outbox is written again")
        let next = self.rig(in: try killed())
        #expect(next.figures.count == 2)
        rig.close()
    }

    /// The broker has all that could not be written: nothing is left to write, and that it can be is noticed all the same.
    @Test func aFailureIsOverAlsoWhereNothingIsLeftToWrite() throws {
        let rig = rig(maximumBytes: 0)
        rig.work([.connected, .add(rig.message(String(repeating: "x", count: 400_000)))])
        #expect(rig.news().count == 1 && rig.figures.failure != nil)
        rig.work([.acknowledged(1)])
        for _ in 0..<3 {
            rig.pass(5)
            let due = rig.work([])
            #expect(due.map { $0 > rig.now } ?? true, "it would turn without end")
        }
        #expect(rig.figures.failure == nil && rig.lines.last == "the outbox is written again")
        rig.close()
    }

    @Test func withoutADirectoryToWriteInItGoesOnAndSaysSo() throws {
        try directory.write("a file", to: "state")
        let rig = rig(in: directory.path("state"))
        #expect(rig.figures.failure != nil)
        rig.work([.connected, .add(rig.message("1"))])
        #expect(rig.news() == ["1"])
        // The hindrance goes away: what waits is written down.
        try FileManager.default.removeItem(atPath: directory.path("state"))
        try FileManager.default.createDirectory(atPath: directory.path("state"), withIntermediateDirectories: true)
        rig.pass(10)
        rig.work([.add(rig.message("2"))])
        #expect(rig.figures.failure == nil && rig.figures.unstored == 0)
        rig.close()
        _ = rig.news()
        let next = self.rig(in: directory.path("state"))
        next.work([.connected])
        #expect(next.news() == ["1", "2"])
        next.close()
    }

    /// Two agents on one state directory: the second keeps its events in memory, and takes the file over when it is free.
    @Test func aFileThatAnotherAgentHasIsTakenOverWhenItIsFree() throws {
        let first = rig()
        first.work([.add(first.message("first"))])
        let second = rig()
        #expect(second.lines.first?.contains("cannot be written") == true, "\(second.lines)")
        second.work([.connected, .add(second.message("second"))])
        #expect(second.news() == ["second"])
        first.close()
        second.pass(10)
        second.work([])
        #expect(second.news() == ["first"])
        #expect(second.figures.count == 2 && second.figures.unstored == 0)
        second.close()
        #expect(rig().figures.count == 2)
    }

    // MARK: Bounds and time

    @Test func lossesAreToldAndCountOnOverRuns() throws {
        let rig = rig(count: 2)
        rig.work((1...5).map { .add(rig.message("\($0)")) })
        #expect(rig.lines.count == 1 && rig.lines[0].hasPrefix("3 messages were dropped"))
        rig.close()
        let next = self.rig(count: 2)
        #expect(next.figures.dropped == 3 && next.figures.count == 2)
        next.work([.add(rig.message("6"))])
        #expect(next.figures.dropped == 4 && next.lines.count == 1 && next.lines[0].hasPrefix("1 messages"))
        next.close()
    }

    @Test func aClockThatIsSetCorrectsWhatIsWrittenDown() throws {
        let rig = rig()
        rig.clocks.isSet = false
        rig.clocks.wall = 1000
        rig.work([.add(rig.message("1"))])
        rig.pass(60)
        rig.clocks.isSet = true
        rig.clocks.wall = 1_795_000_060_000
        rig.work([])
        rig.close()
        let store = try OutboxStore.open(path: path, maximumBytes: 1 << 20)
        let content = store.load().content
        let time = try #require(content.messages.first?.message.time)
        #expect(time.isClockSet && time.wall == 1_795_000_000_000)
    }

    // MARK: What is read back is checked

    /// A value of one row that a card got wrong, or somebody wrote: arithmetic with it would end the process.
    @Test(
        arguments: [
            "monotonic = -9223372036854775808", "monotonic = 9223372036854775807", "monotonic = 'x'||char(0)",
            "wall = -9223372036854775808", "wall = 9223372036854775807", "lifetime = -9223372036854775808",
            "lifetime = 9223372036854775807", "topic = 'a/#'", "topic = ''", "boot = hex(zeroblob(100))",
            "id = 'r-2', content = '}{'", "id = 'r-2', content = '\"a\":1,\"a\":2'", "id = hex(zeroblob(100))",
            "content = zeroblob(2000000)",
        ])
    func aRowThatNoOutboxWroteIsLeftOut(change: String) throws {
        let rig = rig()
        rig.work([.add(rig.message("1")), .add(rig.message("2")), .add(rig.message("3"))])
        rig.close()
        do {
            let database = try Database.open(path: path)
            try database.execute("UPDATE message SET \(change) WHERE token = 2")
        }
        let next = self.rig()
        next.work([.connected, .add(next.message("4"))])
        next.pass(3600)
        next.work([.disconnected(undelivered: [1, 3, 4])])
        next.work([.connected])
        // Text in the place of a number reads as zero, which a clock can show.
        let expected = change.contains("'x'") ? ["1", "2", "3", "4"] : ["1", "3", "4"]
        #expect(next.news().filter { expected.contains($0) }.prefix(expected.count) == expected[...])
        next.close()
    }

    /// Whoever opens a FIFO waits for the other end: the start must not.
    @Test func aFIFOInTheFilesPlaceBlocksNothing() throws {
        #expect(mkfifo(path, 0o600) == 0)
        let rig = rig()
        #expect(rig.figures.failure != nil)
        rig.work([.connected, .add(rig.message("1"))])
        #expect(rig.news() == ["1"])
        #expect(unlink(path) == 0)
        rig.pass(5)
        rig.work()
        #expect(rig.figures.failure == nil && rig.figures.unstored == 0)
        rig.close()
    }

    /// A file that had to be closed is opened again with all that it had: what was done meanwhile is not done again.
    @Test func aFileThatIsOpenedAgainForgetsWhatWasDoneMeanwhile() throws {
        let rig = rig()
        rig.work([.connected, .setGesture(shake, isOpen: true), .add(rig.message("1")), .add(rig.message("2"))])
        // The disk fails: the file is closed, the broker has everything, the gesture ends.
        rig.file?.close()
        rig.work([.acknowledged(1), .acknowledged(2), .setGesture(shake, isOpen: false)])
        rig.pass(5)
        rig.work()
        #expect(rig.figures.count == 0 && rig.figures.failure == nil)
        let next = self.rig(in: try killed())
        #expect(next.figures.count == 0 && next.interrupted.isEmpty)
        rig.close()
    }

    /// A damaged file that could not be opened at the start is set aside later, and the log says so.
    @Test func aDamagedFileThatIsOpenedLateIsSetAsideWithAWord() throws {
        let state = directory.path("late")
        try directory.write("a file", to: "late")
        let rig = rig(in: state)
        try FileManager.default.removeItem(atPath: state)
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
        try directory.write(String(repeating: "this is no database\n", count: 500), to: "late/outbox.sqlite3")
        rig.pass(5)
        rig.work([.connected, .add(rig.message("1"))])
        #expect(rig.lines.contains { $0.contains("was damaged") }, "\(rig.lines)")
        #expect(rig.figures.failure == nil && rig.figures.unstored == 0 && rig.news() == ["1"])
        rig.close()
    }

    /// What the broker acknowledged just before the end is not in the file of the next start.
    @Test func aCleanEndForgetsWhatWasAcknowledgedLast() throws {
        let rig = rig()
        rig.work([.connected, .add(rig.message("1"))])
        rig.work([.acknowledged(1)])
        rig.close()
        #expect(self.rig().figures.count == 0)
    }
}
