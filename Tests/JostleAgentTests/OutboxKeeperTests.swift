import BrokerTestSupport
import Foundation
import MosquittoClient
import MotionCore
import SQLiteDatabase
import Synchronization
import Testing

@testable import JostleAgent

/// Requirement: an event exists from its commit; neither the end of the process nor a damaged or full disk loses one that
/// it need not, and what cannot be kept is told. On real files.
@Suite struct OutboxKeeperTests {
    /// Where messages go, what was noted, and how the clocks stand.
    private final class World: Sendable {
        struct State {
            var sent: [(text: String, token: UInt64)] = []
            var notes: [OutboxKeeper.Note] = []
            var clocks = ClockReading(
                boot: "a", monotonic: Timestamp(seconds: 100), wall: 1_795_000_000_000, isSet: true)
        }

        let state = Mutex(State())

        func news() -> [String] {
            state.withLock { state in
                defer { state.sent = [] }
                return state.sent.map(\.text)
            }
        }

        var notes: [OutboxKeeper.Note] { state.withLock { $0.notes } }
        var now: Timestamp { state.withLock { $0.clocks.monotonic } }

        func pass(_ seconds: Double) {
            state.withLock { state in
                state.clocks.monotonic = state.clocks.monotonic.advanced(bySeconds: seconds)
                state.clocks.wall += Int64(seconds * 1000)
            }
        }
    }

    private let directory: TemporaryDirectory
    private let world = World()

    init() throws {
        directory = try TemporaryDirectory()
    }

    private var path: String { directory.path("outbox.sqlite3") }

    private func keeper(
        in directory: String? = nil, count: Int = 10_000, maximumBytes: Int = 1 << 24
    ) -> OutboxKeeper {
        var limits = OutboxLimits()
        limits.count = count
        let world = self.world
        return OutboxKeeper(
            file: OutboxFile(directory: directory ?? self.directory.path, maximumBytes: maximumBytes), limits: limits,
            eventExpiry: 3600, clocks: { world.state.withLock { $0.clocks } },
            note: { note in world.state.withLock { $0.notes.append(note) } },
            send: { message, token in
                world.state.withLock {
                    $0.sent.append((String(decoding: message.payload, as: UTF8.self), token?.rawValue ?? 0))
                }
                return true
            })
    }

    /// A file is only synced to the disk with its log, which takes an SD card tenths of a second: not while a message waits.
    @Test func theLogIsTakenInWhenNothingHappens() throws {
        func size(_ suffix: String = "") throws -> Int {
            try #require(FileManager.default.attributesOfItem(atPath: path + suffix)[.size] as? Int)
        }
        let keeper = self.keeper()
        _ = keeper.work([.connected])
        let start = try size()
        for number in 1...120 {
            world.pass(1)
            _ = keeper.work([.add(message("\(number) " + String(repeating: "x", count: 200)))])
            #expect(world.news().count == 1)
        }
        #expect(try size() == start)
        let log = try size("-wal")
        #expect(log > 120 * 4096)
        world.pass(1.9)
        #expect(keeper.work([]) == world.now.advanced(bySeconds: 0.1))
        #expect(try size() == start)
        world.pass(0.2)
        _ = keeper.work([])
        #expect(try size() > start + 120 * 200)
        // Once, and what comes then is written over the log from its start.
        let taken = try size()
        _ = keeper.work([.add(message("last"))])
        world.pass(10)
        _ = keeper.work([])
        #expect(try size() == taken)
        #expect(try size("-wal") == log)
        keeper.close()
        let store = try OutboxStore.open(path: path, maximumBytes: 1 << 24)
        let (content, failure) = store.load()
        #expect(failure == nil && content.messages.count == 121)
    }

    private func message(_ text: String) -> OutgoingMessage {
        OutgoingMessage(
            topic: "t", content: .fixed(Array(text.utf8)),
            time: EventTime(world.now, world.state.withLock { $0.clocks }))
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
        let keeper = keeper()
        _ = keeper.work([.connected, .add(message("1")), .add(message("2"))])
        #expect(world.news() == ["1", "2"])
        let next = self.keeper(in: try killed())
        _ = next.work([.connected])
        #expect(world.news() == ["1", "2"])
        keeper.close()
    }

    @Test func whatTheBrokerHasIsNotSentByTheNextRun() throws {
        let keeper = keeper()
        _ = keeper.work([.connected, .add(message("1")), .add(message("2")), .add(message("3"))])
        let due = keeper.work([.acknowledged(1), .rejected(2)])
        #expect(due != nil, "departures are gathered for a moment")
        world.pass(1)
        _ = keeper.work([])
        _ = world.news()
        let next = self.keeper(in: try killed())
        #expect(next.figures.count == 1 && next.figures.dropped == 1)
        _ = next.work([.connected])
        #expect(world.news() == ["3"])
        keeper.close()
    }

    @Test func aCleanEndKeepsWhatWaitsAndNoLogBesideIt() throws {
        let keeper = keeper()
        _ = keeper.work([.add(message("1")), .add(message("2"))])
        _ = keeper.work([.connected, .acknowledged(1)])
        keeper.close()
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        _ = world.news()
        let next = self.keeper()
        _ = next.work([.connected, .add(message("3"))])
        #expect(world.news() == ["2", "3"])
        next.close()
    }

    @Test func everyFieldOutlivesTheRun() throws {
        world.state.withLock { $0.clocks.isSet = false }
        let keeper = keeper()
        var event = message("")
        event.content = .event(id: "f00d-7", fields: #""gesture":"tap","phase":"recognized","side":"-x""#)
        event.topic = "jostle/ä/event/tap"
        event.isRetained = true
        event.lifetime = 12.5
        event.time.isClockSet = false
        _ = keeper.work([.add(event)])
        keeper.close()
        let store = try OutboxStore.open(path: path, maximumBytes: 1 << 20)
        let defect = try store.defect()
        let messages = store.load().content.messages
        #expect(defect == nil)
        #expect(messages.map(\.message) == [event])
    }

    @Test func nothingIsWrittenWithoutAnEvent() throws {
        let keeper = keeper()
        _ = keeper.work([.connected])
        let before = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
        for _ in 0..<50 {
            world.pass(60)
            #expect(keeper.work([]) == nil)
            _ = keeper.work([.disconnected(undelivered: [])])
            _ = keeper.work([.connected])
        }
        let log = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date == before)
        let again = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
        #expect(log == again)
        keeper.close()
    }

    @Test func gesturesThatWereOpenAreKnownToTheNextRun() throws {
        let keeper = keeper()
        let shake = OpenGesture(gesture: .shake, isSimulated: false)
        let vibration = OpenGesture(gesture: .vibration, isSimulated: false)
        let made = OpenGesture(gesture: .shake, isSimulated: true)
        _ = keeper.work([.note(shake, isOpen: true), .note(vibration, isOpen: true), .note(made, isOpen: true)])
        _ = keeper.work([.note(shake, isOpen: false)])
        let next = self.keeper(in: try killed())
        #expect(Set(next.interrupted) == [vibration, made])
        _ = next.work([.note(vibration, isOpen: false), .note(made, isOpen: false)])
        next.close()
        #expect(self.keeper(in: directory.path("killed")).interrupted.isEmpty)
        keeper.close()
    }

    // MARK: Damage

    @Test func whatIsNoDatabaseIsSetAside() throws {
        try directory.write(String(repeating: "this is no database\n", count: 500), to: "outbox.sqlite3")
        let keeper = keeper()
        _ = keeper.work([.connected, .add(message("1"))])
        #expect(world.news() == ["1"])
        #expect(keeper.figures.failure == nil && keeper.figures.unstored == 0)
        #expect(FileManager.default.fileExists(atPath: directory.path("outbox-damaged.sqlite3")))
        guard case .setAside(_, _, let saved) = world.notes.first else {
            Issue.record("\(world.notes)")
            return
        }
        #expect(saved == 0)
        keeper.close()
    }

    /// A page in the middle is torn: what comes before it is saved.
    @Test func ofATornFileWhatCanBeReadIsSaved() throws {
        let keeper = keeper()
        _ = keeper.work((1...400).map { .add(message("\($0) " + String(repeating: "x", count: 400))) })
        keeper.close()
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        let size = try file.seekToEnd()
        try file.seek(toOffset: size / 2 / 4096 * 4096)
        try file.write(contentsOf: Data(repeating: 0xA5, count: 4096))
        try file.close()

        let next = self.keeper()
        guard case .setAside(_, _, let saved) = world.notes.first else {
            Issue.record("\(world.notes)")
            return
        }
        #expect((1..<400).contains(saved))
        _ = next.work([.connected, .add(message("last"))])
        let news = world.news().map { $0.prefix { $0 != " " } }
        #expect(news == (1...saved).map { "\($0)" } + ["last"])
        next.close()
        #expect(self.keeper().figures.count == saved + 1)
    }

    @Test func aTornEndOfTheLogCostsNothingBeforeIt() throws {
        let keeper = keeper()
        for number in 1...20 { _ = keeper.work([.add(message("\(number)"))]) }
        let copy = try killed()
        let log = copy + "/outbox.sqlite3-wal"
        let size = try #require(try FileManager.default.attributesOfItem(atPath: log)[.size] as? Int)
        truncate(log, size - 1000)
        let next = self.keeper(in: copy)
        #expect(world.notes.isEmpty && next.figures.count == 19)
        keeper.close()
    }

    /// A keeper with an open gesture and 60 messages, in whose file and log are bytes that are not its own since. SQLite
    /// notices where it reads what it does not remember.
    private func damagedMeanwhile() throws -> OutboxKeeper {
        let keeper = keeper()
        _ = keeper.work([.note(shake, isOpen: true)])
        let text = String(repeating: "x", count: 60_000)
        for number in 1...60 { _ = keeper.work([.add(message("\(number) \(text)"))]) }
        for suffix in ["", "-wal"] {
            let file = try #require(FileHandle(forUpdatingAtPath: path + suffix))
            let size = try file.seekToEnd()
            try file.seek(toOffset: 0)
            try file.write(contentsOf: Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }))
            try file.close()
        }
        return keeper
    }

    private let shake = OpenGesture(gesture: .shake, isSimulated: false)

    /// What waits, and gestures that began before the damage, are in the file that takes the damaged one's place.
    @Test func whatIsOpenOutlivesAFileThatIsDamagedMeanwhile() throws {
        let keeper = try damagedMeanwhile()
        var acknowledged: UInt64 = 0
        while world.notes.isEmpty, acknowledged < 60 {
            acknowledged += 1
            _ = keeper.work([.acknowledged(acknowledged), .add(message("new"))])
        }
        guard case .setAside(_, _, let saved) = world.notes.first else {
            Issue.record("\(world.notes)")
            return
        }
        #expect(saved == 60 && keeper.figures.failure == nil && keeper.figures.unstored == 0)
        let next = self.keeper(in: try killed())
        #expect(next.interrupted == [shake])
        #expect(next.figures.count == 60)
        keeper.close()
    }

    /// The damaged file cannot be replaced at once: when it can be, everything goes into the new one.
    @Test func whatWasWrittenIsWrittenAgainWhereTheNewFileHadToWait() throws {
        let keeper = try damagedMeanwhile()
        // A new file would have its log where a directory stands.
        #expect(rename(path + "-wal", directory.path("log")) == 0)
        try FileManager.default.createDirectory(atPath: path + "-wal", withIntermediateDirectories: true)
        var acknowledged: UInt64 = 0
        while keeper.figures.failure == nil, acknowledged < 60 {
            acknowledged += 1
            _ = keeper.work([.acknowledged(acknowledged), .add(message("new"))])
        }
        #expect(keeper.figures.failure != nil && keeper.figures.unstored == 60)
        try FileManager.default.removeItem(atPath: path + "-wal")
        world.pass(5)
        _ = keeper.work([])
        #expect(keeper.figures.failure == nil && keeper.figures.unstored == 0)
        let next = self.keeper(in: try killed())
        #expect(next.interrupted == [shake] && next.figures.count == 60)
        keeper.close()
    }

    /// Whatever a power cut or a worn card made of file and log: the keeper opens it or sets it aside, takes and keeps what
    /// comes, and of what was there it doubles nothing and keeps the order.
    @Test func noDamageIsFatal() throws {
        let earlier = keeper()
        let text = String(repeating: "x", count: 400)
        _ = earlier.work([.note(shake, isOpen: true)] + (1...400).map { .add(message("old \($0) \(text)")) })
        for token: UInt64 in 1...100 { _ = earlier.work([.acknowledged(token * 3)]) }
        earlier.close()
        let first = keeper()
        for number in 401...430 { _ = first.work([.add(message("old \(number) \(text)"))]) }
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
            world.state.withLock { $0.notes = [] }
            let next = keeper(in: place)
            _ = next.work([.connected, .add(message("new 1"))])
            _ = next.work([.add(message("new 2"))])
            let sent = world.state.withLock { $0.sent }
            let comment = Comment("round \(round): \(victim) at \(offset)")
            #expect(world.news().suffix(2) == ["new 1", "new 2"], comment)
            #expect(sent.count <= 332 && zip(sent, sent.dropFirst()).allSatisfy { $0.token < $1.token }, comment)
            #expect(next.figures.failure == nil && next.figures.unstored == 0, comment)
            if !world.notes.isEmpty { setAside += 1 }
            // What the killed one knew, the next one knows.
            let last = keeper(in: try copy(of: place, "again-\(round)"))
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
        let keeper = keeper()
        _ = keeper.work([.add(message("1")), .add(message("2")), .add(message("3"))])
        keeper.close()
        do {
            let database = try Database.open(path: path)
            try database.execute("UPDATE message SET token = \(token) WHERE token = 2")
        }
        let next = self.keeper()
        _ = next.work([.connected, .add(message("4"))])
        let tokens = world.state.withLock { $0.sent.map(\.token) }
        #expect(world.news() == ["1", "3", "4"] && tokens == [1, 3, 4])
        next.close()
    }

    @Test func anotherVersionsFileIsSetAside() throws {
        do {
            let database = try Database.open(path: path)
            try database.execute("CREATE TABLE message(other); PRAGMA user_version = 99")
        }
        let keeper = keeper()
        _ = keeper.work([.add(message("1"))])
        #expect(keeper.figures.failure == nil && world.notes.count == 1)
        keeper.close()
    }

    // MARK: A disk that takes nothing

    /// The file may not grow: the true error of a full disk.
    @Test func onAFullDiskEventsGoOnAndAreWrittenWhenThereIsRoom() throws {
        let keeper = keeper(maximumBytes: 0)
        let large = String(repeating: "x", count: 60_000)
        _ = keeper.work([.connected])
        for number in 1...10 { _ = keeper.work([.add(message("\(number) \(large)"))]) }
        #expect(world.news().count == 10, "each goes to the broker all the same")
        #expect(keeper.figures.unstored > 0 && keeper.figures.failure != nil && keeper.figures.dropped == 0)
        let failures = world.notes.count { if case .storeFailed = $0 { true } else { false } }
        #expect(failures == 1, "told once")

        // The broker takes some; there is room again.
        _ = keeper.work((1...8).map { .acknowledged($0) })
        world.pass(5)
        _ = keeper.work([])
        world.pass(5)
        _ = keeper.work([])
        #expect(keeper.figures.failure == nil && keeper.figures.unstored == 0 && keeper.figures.count == 2)
        #expect(world.notes.last == .storeWorks)
        let next = self.keeper(in: try killed())
        #expect(next.figures.count == 2)
        keeper.close()
    }

    /// The broker has all that could not be written: nothing is left to write, and that it can be is noticed all the same.
    @Test func aFailureIsOverAlsoWhereNothingIsLeftToWrite() throws {
        let keeper = keeper(maximumBytes: 0)
        _ = keeper.work([.connected, .add(message(String(repeating: "x", count: 400_000)))])
        #expect(world.news().count == 1 && keeper.figures.failure != nil)
        _ = keeper.work([.acknowledged(1)])
        for _ in 0..<3 {
            world.pass(5)
            let due = keeper.work([])
            #expect(due.map { $0 > world.now } ?? true, "it would turn without end")
        }
        #expect(keeper.figures.failure == nil && world.notes.last == .storeWorks)
        keeper.close()
    }

    @Test func withoutADirectoryToWriteInItGoesOnAndSaysSo() throws {
        try directory.write("a file", to: "state")
        let keeper = keeper(in: directory.path("state"))
        #expect(keeper.figures.failure != nil)
        _ = keeper.work([.connected, .add(message("1"))])
        #expect(world.news() == ["1"])
        // The hindrance goes away: what waits is written down.
        try FileManager.default.removeItem(atPath: directory.path("state"))
        try FileManager.default.createDirectory(atPath: directory.path("state"), withIntermediateDirectories: true)
        world.pass(10)
        _ = keeper.work([.add(message("2"))])
        #expect(keeper.figures.failure == nil && keeper.figures.unstored == 0)
        keeper.close()
        _ = world.news()
        let next = self.keeper(in: directory.path("state"))
        _ = next.work([.connected])
        #expect(world.news() == ["1", "2"])
        next.close()
    }

    /// Two agents on one state directory: the second keeps its events in memory, and takes the file over when it is free.
    @Test func aFileThatAnotherAgentHasIsTakenOverWhenItIsFree() throws {
        let first = keeper()
        _ = first.work([.add(message("first"))])
        let second = keeper()
        guard case .storeFailed = world.notes.first else {
            Issue.record("\(world.notes)")
            return
        }
        _ = second.work([.connected, .add(message("second"))])
        #expect(world.news() == ["second"])
        first.close()
        world.pass(10)
        _ = second.work([])
        #expect(world.news() == ["first"])
        #expect(second.figures.count == 2 && second.figures.unstored == 0)
        second.close()
        #expect(keeper().figures.count == 2)
    }

    // MARK: Bounds and time

    @Test func lossesAreToldAndCountOnOverRuns() throws {
        let keeper = keeper(count: 2)
        _ = keeper.work((1...5).map { .add(message("\($0)")) })
        #expect(world.notes == [.dropped(3)])
        keeper.close()
        let next = self.keeper(count: 2)
        #expect(next.figures.dropped == 3 && next.figures.count == 2)
        _ = next.work([.add(message("6"))])
        #expect(next.figures.dropped == 4 && world.notes == [.dropped(3), .dropped(1)])
        next.close()
    }

    @Test func aClockThatIsSetCorrectsWhatIsWrittenDown() throws {
        world.state.withLock { state in
            state.clocks.isSet = false
            state.clocks.wall = 1000
        }
        let keeper = keeper()
        _ = keeper.work([.add(message("1"))])
        world.pass(60)
        world.state.withLock { state in
            state.clocks.isSet = true
            state.clocks.wall = 1_795_000_060_000
        }
        _ = keeper.work([])
        keeper.close()
        let store = try OutboxStore.open(path: path, maximumBytes: 1 << 20)
        let content = store.load().content
        let time = try #require(content.messages.first?.message.time)
        #expect(time.isClockSet && time.wall == 1_795_000_000_000)
    }
}
