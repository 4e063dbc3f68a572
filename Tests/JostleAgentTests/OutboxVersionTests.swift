import BrokerTestSupport
import Foundation
import SQLiteDatabase
import Testing

@testable import JostleAgent

/// Requirement: a file that another version of the program has written loses no message, and bytes that changed in a
/// row are noticed. These tests use real files.
@Suite final class OutboxVersionTests {
    private let directory = TemporaryDirectory.new()
    private let shake = OpenGesture(gesture: .shake, isSimulated: false)

    /// On the test's directory, opened at its first use.
    private lazy var rig = open()
    private var path: String { directory.path("outbox.sqlite3") }

    private func open(maximumBytes: Int = 1 << 24) -> OutboxRig {
        OutboxRig(directory: directory.path, maximumBytes: maximumBytes)
    }

    /// Closes a rig with these messages, an open shake and one dropped message in its file.
    private func write(_ texts: [String], in folder: String? = nil) {
        let rig = OutboxRig(directory: folder.map(directory.path) ?? directory.path)
        rig.process([.setGesture(shake, isOpen: true)] + texts.map { .add(rig.message($0)) })
        rig.process([.connected, .add(rig.message("refused")), .rejected(Int64(texts.count + 1))])
        rig.close()
    }

    private func execute(_ statements: String, on path: String? = nil) throws {
        let database = try Database.open(path: path ?? self.path)
        try database.execute(statements)
    }

    /// Makes a file one of a later version, with the same columns.
    private func makeLater(_ path: String? = nil, version: Int64 = 99) throws {
        let row = OutboxCounter(name: OutboxCounter.version, value: UInt64(version))
        try execute(
            """
            PRAGMA user_version = \(version);
            UPDATE counter SET value = \(version), checksum = \(row.checksum) WHERE name = '\(row.name)';
            """, on: path)
    }

    private func rename(_ old: String = "outbox.sqlite3", to name: String) throws {
        try FileManager.default.moveItem(atPath: directory.path(old), toPath: directory.path(name))
    }

    private func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: directory.path(name)) }

    // MARK: Versions

    @Test func keepsMessagesOfLaterVersion() throws {
        write(["later 1", "later 2"])
        try makeLater()
        let aside = directory.path("outbox-version-99.sqlite3")
        #expect(rig.lines.count == 1 && rig.lines[0].contains("was moved to \(aside);"), "\(rig.lines)")
        rig.process([.connected, .add(rig.message("new"))])
        #expect(rig.takeSent() == ["new"] && rig.statistics.failure == nil && rig.statistics.unstored == 0)
        rig.close()
        let database = try Database.open(path: aside)
        #expect(try database.integer("SELECT count(*) FROM message") == 2)
    }

    /// The row with the version is garbled, or a later version does without it.
    @Test(arguments: [
        "UPDATE counter SET checksum = 1 WHERE name = 'version'", "DELETE FROM counter WHERE name = 'version'",
        "DROP TABLE counter",
    ])
    func recognisesLaterVersionByItsHeader(change: String) throws {
        write(["later"])
        try makeLater()
        try execute(change)
        #expect(rig.lines.count == 1 && exists("outbox-version-99.sqlite3"), "\(rig.lines)")
    }

    /// The later version was killed, so that its last messages are in its log.
    @Test func keepsLogOfLaterVersion() throws {
        let later = open()
        later.process([.add(later.message("later 1"))])
        try makeLater(copyOfFiles(to: "killed"))
        let killed = OutboxRig(directory: directory.path("killed"))
        #expect(killed.lines.count == 1)
        killed.close()
        let database = try Database.open(path: directory.path("killed/outbox-version-99.sqlite3"))
        #expect(try database.integer("SELECT count(*) FROM message") == 1)
        later.close()
    }

    private func copyOfFiles(to name: String) throws -> String {
        try FileManager.default.createDirectory(atPath: directory.path(name), withIntermediateDirectories: true)
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(
                atPath: path + suffix, toPath: directory.path("\(name)/outbox.sqlite3\(suffix)"))
        }
        return directory.path("\(name)/outbox.sqlite3")
    }

    /// An earlier version had set a file aside, and this version knows it.
    @Test func sendsMessagesThatEarlierVersionSetAside() throws {
        let aside = "outbox-version-\(OutboxStore.version).sqlite3"
        write(["1", "2", "3"], in: "first")
        write(["4", "5"])
        try rename("first/outbox.sqlite3", to: aside)
        for start in ["first", "second"] {
            let rig = open()
            #expect(rig.lines.count == (start == "first" ? 1 : 0), "\(rig.lines)")
            #expect(rig.interrupted == [shake] && rig.statistics.dropped == 2)
            rig.process([.connected, .add(rig.message(start))])
            #expect(rig.takeSent() == ["1", "2", "3", "4", "5", "first"] + (start == "first" ? [] : ["second"]))
            #expect(!exists(aside))
            rig.close()
        }
    }

    @Test func keepsFileSetAsideThatDoesNotFit() throws {
        let name = "outbox-version-\(OutboxStore.version).sqlite3"
        write([String(repeating: "x", count: 300_000)])
        try rename(to: name)
        let full = open(maximumBytes: 0)
        full.process([.connected, .add(full.message("1"))])
        #expect(full.takeSent() == ["1"] && exists(name))
        full.close()
        rig.process([.connected])
        #expect(rig.takeSent().count == 2 && !exists(name))
    }

    /// A later version has left messages twice, and did not take the first ones back. None is overwritten.
    @Test func keepsSecondFileOfLaterVersion() throws {
        let aside = directory.path("outbox-version-99.sqlite3")
        try Data("first".utf8).write(to: URL(fileURLWithPath: aside))
        write(["later"])
        try makeLater()
        #expect(rig.statistics.failure?.contains("move \(aside) away") == true, "\(rig.lines)")
        rig.process([.connected, .add(rig.message("new"))])
        #expect(rig.takeSent() == ["new"] && rig.statistics.unstored == 1, "from memory")
        #expect(try Data(contentsOf: URL(fileURLWithPath: aside)).count == 5)
        try FileManager.default.removeItem(atPath: aside)
        rig.pass(5)
        rig.process()
        #expect(rig.statistics.failure == nil && rig.statistics.unstored == 0, "\(rig.lines)")
        rig.close()
        let database = try Database.open(path: aside)
        #expect(try database.integer("SELECT count(*) FROM message") == 1)
    }

    /// A file that cannot be moved stays with its log.
    @Test func leavesFilesThatCannotBeMoved() throws {
        for suffix in ["", "-wal"] { try Data("x".utf8).write(to: URL(fileURLWithPath: path + suffix)) }
        #expect(DatabaseFile.move(path, to: directory.path("none/file"))?.code == ENOENT)
        #expect(exists("outbox.sqlite3") && exists("outbox.sqlite3-wal"))
        // The log can be moved, the file cannot.
        try FileManager.default.createDirectory(atPath: directory.path("aside/x"), withIntermediateDirectories: true)
        #expect(DatabaseFile.move(path, to: directory.path("aside"))?.code == EISDIR)
        #expect(exists("outbox.sqlite3") && exists("outbox.sqlite3-wal") && !exists("aside-wal"))
        #expect(DatabaseFile.move(path, to: directory.path("moved")) == nil)
        #expect(exists("moved") && exists("moved-wal") && !exists("outbox.sqlite3") && !exists("outbox.sqlite3-wal"))
    }

    /// A garbled row or page in a file that was set aside: the rest is taken back, and the damage is reported.
    @Test(arguments: ["row", "page"])
    func reportsDamageInFilesSetAside(damage: String) throws {
        let name = "outbox-version-\(OutboxStore.version).sqlite3"
        write(["1", "2", "3"], in: "first")
        try rename("first/outbox.sqlite3", to: name)
        switch damage {
        case "row":
            try execute("UPDATE message SET content = CAST('x' AS BLOB) WHERE token = 2", on: directory.path(name))
        default:
            var bytes = try Data(contentsOf: URL(fileURLWithPath: directory.path(name)))
            // All pages but the first, whose header has the size of a page: big-endian, at byte 16.
            let first = Int(bytes[16]) << 8 | Int(bytes[17])
            try #require(first >= 512 && first < bytes.count)
            bytes.replaceSubrange(first..<bytes.count, with: Data(repeating: 0xA5, count: bytes.count - first))
            try bytes.write(to: URL(fileURLWithPath: directory.path(name)))
        }
        #expect(rig.lines.contains { $0.hasPrefix("\(directory.path(name)) was damaged (") }, "\(rig.lines)")
        rig.process([.connected, .add(rig.message("4"))])
        #expect(rig.takeSent() == (damage == "row" ? ["1", "3", "4"] : ["4"]))
        #expect(!exists(name) && exists("outbox-damaged.sqlite3"))
    }

    // MARK: Garbled bytes

    /// The version has no checksum in `user_version`, and a second place.
    @Test(arguments: [0, 1, 130, -5])
    func correctsGarbledVersion(number: Int) throws {
        write(["1", "2"])
        try execute("PRAGMA user_version = \(number)")
        #expect(rig.lines.isEmpty, "\(rig.lines)")
        rig.process([.connected])
        #expect(rig.takeSent() == ["1", "2"] && rig.interrupted == [shake])
        for number in 1...300 { rig.process([.add(rig.message("\(number)"))]) }
        for row in 3...302 { rig.process([.acknowledged(Int64(row))]) }
        rig.pass(10)
        rig.process()
        rig.pass(10)
        rig.process()
        rig.close()
        #expect(try Database.open(path: path).integer("PRAGMA user_version") == OutboxStore.version)
    }

    /// The write version in the header (byte 18): SQLite only reads a file with a higher one than it knows.
    @Test func replacesFileWhoseHeaderForbidsWriting() throws {
        write(["1", "2"])
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[18] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        #expect(rig.lines.count == 1 && rig.lines[0].hasSuffix("2 messages were recovered"), "\(rig.lines)")
        rig.process([.connected, .add(rig.message("3"))])
        #expect(rig.takeSent() == ["1", "2", "3"] && rig.statistics.failure == nil && rig.statistics.unstored == 0)
    }

    /// Bytes change in an intact page: the integrity check of SQLite finds nothing.
    @Test func noticesGarbledMessage() throws {
        write(["first message", "second message", "third message"])
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let place = try #require(bytes.range(of: Data("second".utf8)))
        bytes.replaceSubrange(place, with: Data("zecond".utf8))
        try bytes.write(to: URL(fileURLWithPath: path))
        #expect(try Database.open(path: path).text("PRAGMA quick_check") == "ok")

        #expect(rig.lines.count == 1 && rig.lines[0].contains("not as they were written: 1)"), "\(rig.lines)")
        #expect(rig.lines.first?.hasSuffix("2 messages were recovered") == true)
        rig.process([.connected, .add(rig.message("new"))])
        #expect(rig.takeSent() == ["first message", "third message", "new"])
        rig.close()
        let next = open()
        #expect(next.lines.isEmpty && next.statistics.count == 3 && next.interrupted == [shake])
    }

    @Test(
        arguments: [
            "message SET topic = 'u'", "message SET id = 'r-1'", "message SET content = CAST('2' AS BLOB)",
            "message SET qos = 0", "message SET retain = 1", "message SET boot = 'b'",
            "message SET monotonic = monotonic + 1", "message SET wall = wall + 1", "message SET clock_set = 0",
            "message SET lifetime = 1000000", "message SET checksum = checksum + 1",
            "open_gesture SET gesture = 'tilt'", "open_gesture SET simulated = 1", "open_gesture SET gesture = 'wave'",
            "counter SET value = 3 WHERE name = 'dropped'", "counter SET name = 'x' WHERE name = 'dropped'",
            "counter SET value = 3 WHERE name = 'version'",
        ])
    func noticesChange(change: String) throws {
        write(["1"])
        do {
            let rig = open()
            #expect(rig.lines.isEmpty)
            rig.close()
        }
        try execute("UPDATE \(change)")
        let rig = open()
        #expect(rig.lines.count == 1 && rig.lines[0].contains("was damaged"), "\(rig.lines)")
        #expect(rig.statistics.count == (change.hasPrefix("message") ? 0 : 1))
        #expect(rig.interrupted == (change.hasPrefix("open_gesture") ? [] : [shake]))
        #expect(rig.statistics.dropped == (change.hasSuffix("'dropped'") ? 0 : 1))
        rig.close()
    }

    @Test(
        arguments: [
            "topic = 'u'", "id = 'r-2'", "content = CAST('\"gesture\":\"top\"' AS BLOB)", "wall = wall + 1",
        ])
    func noticesChangedEvent(change: String) throws {
        let first = open()
        var event = first.message("")
        event.content = .event(id: "r-1", fields: #""gesture":"tap""#)
        first.process([.add(event)])
        first.close()
        try execute("UPDATE message SET \(change)")
        #expect(rig.lines.count == 1 && rig.lines[0].contains("was damaged"), "\(rig.lines)")
        #expect(rig.statistics.count == 0)
    }

    /// Lifetimes are stored as whole milliseconds. What was rounded must have the same checksum when it is read.
    @Test(arguments: [0.0, 0.001, 0.0004, 0.29, 1.005, 4.35, 1e9, 123_456_789.987, 2e12, 1e300])
    func checksumSurvivesRounding(lifetime: Double) throws {
        var message = rig.message("1")
        message.lifetime = lifetime
        rig.process([.add(message)])
        rig.close()
        let (content, damage) = try OutboxRig.contents(of: path)
        // A message without a lifetime was dropped before it was stored.
        #expect(damage == nil && content.messages.count == (lifetime == 0 ? 0 : 1))
    }
}
