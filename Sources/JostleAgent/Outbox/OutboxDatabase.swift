internal import Documents
internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient
internal import MotionCore
internal import SQLiteDatabase

/// The contents of an outbox's file.
struct OutboxContent: Sendable {
    var messages: [(row: Int64, message: OutgoingMessage)] = []
    var gestures: [OpenGesture] = []
    var dropped: UInt64 = 0
    var expired: UInt64 = 0
    /// The number of rows that no outbox has written like this. They are left out.
    var damagedRows = 0
}

/// An outbox's file that is open and not changed yet: which version wrote it, and what is in it.
struct OutboxDatabase: ~Copyable {
    let database: Database

    /// The version of the tables; 0 for a file without tables.
    let version: Int64

    /// Whether `user_version` has another number, because its bytes have changed.
    let hasWrongVersion: Bool

    /// Whether a row with a checksum has the version as well.
    let hasVersionRow: Bool

    /// The version that this program writes. It can also read the earlier ones:
    ///
    /// 1. The tables without `checksum`.
    /// 2. Each row has a checksum.
    static let currentVersion: Int64 = 2

    /// The size of a page of a new file, bytes: the smallest that SQLite permits.
    ///
    /// Whatever changes, the log gets whole pages. An event has about 300 bytes, and changes one page of the messages
    /// and often one of the open gestures. Pages of 4096 bytes, SQLite's default, would write ten times as much to a
    /// memory card.
    ///
    /// Several of these pages share a block of the disk. SQLite assumes that a power cut during a write damages no bytes
    /// outside of that write (SQLITE_IOCAP_POWERSAFE_OVERWRITE). On a disk that tears a block of 4096 bytes, a cut during
    /// a checkpoint can damage neighbouring pages that are not in the log. The integrity check and the checksums of the
    /// rows find that at the next start.
    static let pageSize: Int64 = 512

    /// The most bytes of content in a file whose pages are made smaller at the start, which copies the content. A file
    /// with more keeps its pages until it is smaller, so that a start does not wait for a slow disk.
    private static let largestConversion: Int64 = 1 << 20

    /// The fewest bytes that a file may grow to.
    private static let fewestBytes = 1 << 18

    /// Opens the file at `path`, or creates it. It grows to at most `maximumBytes`.
    ///
    /// - Throws: the error that SQLite reports; of kind `damaged` if the file is not a database.
    static func open(path: String, maximumBytes: Int) throws(SQLiteError) -> OutboxDatabase {
        let database = try Database.open(path: path)
        database.setBusyTimeout(seconds: 0.5)
        // Exclusive: no shared-memory file is needed, and a second agent on the same state directory is detected.
        try database.execute("PRAGMA locking_mode = EXCLUSIVE")
        // For a new file. An existing one has its size already.
        try database.execute("PRAGMA page_size = \(pageSize)")
        try database.execute("PRAGMA journal_mode = WAL")
        try database.execute("PRAGMA synchronous = NORMAL")
        try database.execute("PRAGMA journal_size_limit = 1048576")
        // A fallback for a stream of events without a pause: see `OutboxStore.checkpoint`.
        try database.execute("PRAGMA wal_autocheckpoint = 2000")
        let size = try database.integer("PRAGMA page_size") ?? pageSize
        try database.execute("PRAGMA max_page_count = \(Int64(max(fewestBytes, maximumBytes)) / max(size, pageSize))")
        let written = try database.integer("PRAGMA user_version") ?? 0
        let inRow = try versionInRow(database)
        var version = inRow ?? 0
        if inRow == nil { version = try tableVersion(database, written: written) }
        return OutboxDatabase(
            database: database, version: version, hasWrongVersion: version != written, hasVersionRow: inRow != nil)
    }

    /// The version in the row that has a checksum; `nil` if there is no such row.
    private static func versionInRow(_ database: borrowing Database) throws(SQLiteError) -> Int64? {
        guard try database.integer("SELECT count(*) FROM pragma_table_info('counter')") == 3 else { return nil }
        var rows = try database.prepare("SELECT value, checksum FROM counter WHERE name = '\(OutboxCounter.version)'")
        guard try rows.step() else { return nil }
        let counter = OutboxCounter(name: OutboxCounter.version, value: UInt64(max(0, rows.integer(0))))
        return rows.integer(1) == counter.checksum ? rows.integer(0) : nil
    }

    /// The version of the tables of a file that has it in `user_version` only. A number that no version can have
    /// written there is corrected, as far as the columns show the right one.
    private static func tableVersion(
        _ database: borrowing Database, written: Int64
    ) throws(SQLiteError) -> Int64 {
        guard written <= currentVersion else { return written }
        switch try database.integer("SELECT count(*) FROM pragma_table_info('message')") {
        case 11: return 1
        case 12: return 2
        default:
            guard written >= 0 else { throw SQLiteError(damage: "the version of its tables is \(written)") }
            return written
        }
    }

    /// Whether this program can read the file. A later version may write other tables.
    var isReadable: Bool { (0...OutboxDatabase.currentVersion).contains(version) }

    /// Gives a file that an earlier version has created pages of `pageSize`. A crash or a power cut leaves it as it was
    /// before or as it is afterwards.
    ///
    /// - Throws: the error that SQLite reports. The file then has its old pages, but maybe no log: see `withLog`.
    func makePagesSmall(maximumBytes: Int) throws(SQLiteError) {
        let size = try database.integer("PRAGMA page_size") ?? OutboxDatabase.pageSize
        let pages = try database.integer("PRAGMA page_count") ?? 0
        let unused = try database.integer("PRAGMA freelist_count") ?? 0
        let limit = Int64(max(OutboxDatabase.fewestBytes, maximumBytes))
        // VACUUM does not obey max_page_count, and small pages need a little more room.
        let largest = min(OutboxDatabase.largestConversion, limit / 2)
        guard size > OutboxDatabase.pageSize, (pages - unused) * size <= largest else { return }
        var failure: SQLiteError?
        do {
            // The size cannot change while there is a log.
            try database.execute("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL")
            try database.execute("PRAGMA page_size = \(OutboxDatabase.pageSize)")
            try database.execute("PRAGMA max_page_count = \(limit / OutboxDatabase.pageSize); VACUUM")
        } catch {
            failure = error
        }
        try database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        try database.execute("PRAGMA max_page_count = \(limit / (failure == nil ? OutboxDatabase.pageSize : size))")
        if let failure { throw failure }
    }

    /// Whether changes go to a log and do not wait for the disk.
    private var hasLog: Bool {
        get throws(SQLiteError) {
            let journal = try database.text("PRAGMA journal_mode")
            let waits = try database.integer("PRAGMA synchronous")
            return journal == "wal" && waits == 1
        }
    }

    /// The file with a log, as `open` returns it: opened again if `makePagesSmall` failed halfway and could not go back.
    /// Otherwise every event of the run would wait for the disk.
    ///
    /// - Throws: the error that SQLite reports. The file is then closed.
    static func withLog(
        _ file: consuming OutboxDatabase, path: String, maximumBytes: Int
    ) throws(SQLiteError) -> OutboxDatabase {
        let isComplete = try file.hasLog
        if isComplete { return file }
        _ = consume file
        return try open(path: path, maximumBytes: maximumBytes)
    }

    /// The first problem that the integrity check finds; `nil` if there is none.
    func integrityProblem() throws(SQLiteError) -> String? {
        let answer = try database.text("PRAGMA quick_check(1)") ?? ""
        return answer == "ok" ? nil : answer
    }

    /// Reads the file. If it is damaged, the content before the damage is returned.
    func load() -> (content: OutboxContent, failure: SQLiteError?) {
        var content = OutboxContent()
        guard version != 0 else { return (content, nil) }
        do {
            try loadMessages(into: &content)
            try loadGestures(into: &content)
            try loadCounters(into: &content)
            return (content, nil)
        } catch {
            return (content, error)
        }
    }

    /// The valid row numbers. New rows follow the largest, so at a hundred a second they last for 300 million years.
    private static let possibleRows: Range<Int64> = 1..<1 << 60

    /// The limits of a valid row: content in bytes, and lifetime in milliseconds.
    private static let largestContent = 1 << 20
    private static let possibleLifetimes: ClosedRange<Int64> = 0...9_000_000_000_000_000

    private func loadMessages(into content: inout OutboxContent) throws(SQLiteError) {
        var rows = try database.prepare("SELECT * FROM message ORDER BY token")
        while try rows.step() {
            guard OutboxDatabase.possibleRows.contains(rows.integer(0)),
                let message = OutboxDatabase.message(in: rows), hasChecksum(of: message, rows, column: 11)
            else {
                content.damagedRows += 1
                continue
            }
            content.messages.append((rows.integer(0), message))
        }
    }

    /// Whether a row has the checksum of what was read from it. The integrity check of SQLite knows nothing of the
    /// bytes in a row.
    private func hasChecksum(of row: some OutboxRow, _ rows: borrowing Statement, column: Int32) -> Bool {
        version < 2 || rows.integer(column) == row.checksum
    }

    /// The message in a row; `nil` if an outbox cannot have written the row.
    ///
    /// Another program or a worn memory card may have changed the file, so it is checked as strictly as network input.
    /// A message that can never be sent would block the queue, and arithmetic with an impossible time would overflow.
    private static func message(in rows: borrowing Statement) -> OutgoingMessage? {
        let bytes = rows.bytes(3)
        guard MQTTTopic.isValid(name: rows.text(1)), bytes.count <= largestContent,
            let time = EventTime(
                stored: rows.text(6), sinceBoot: rows.integer(7), wall: rows.integer(8),
                isClockSet: rows.integer(9) != 0)
        else { return nil }
        var lifetime: Double?
        if !rows.isNull(10) {
            guard possibleLifetimes.contains(rows.integer(10)) else { return nil }
            lifetime = Double(rows.integer(10)) / 1000
        }
        var content = OutgoingMessage.Content.fixed(bytes)
        if !rows.isNull(2) {
            let id = rows.text(2)
            let fields = String(decoding: bytes, as: UTF8.self)
            guard id.utf8.count <= 64, isObject("{\(fields)}") else { return nil }
            content = .event(id: id, fields: fields)
        }
        return OutgoingMessage(
            topic: rows.text(1), content: content, qos: rows.integer(4) == 0 ? .atMostOnce : .atLeastOnce,
            isRetained: rows.integer(5) != 0, time: time, lifetime: lifetime)
    }

    /// Whether a text is a JSON object. Otherwise the payload built from it would be invalid.
    private static func isObject(_ text: String) -> Bool {
        (try? JSONReader.read(Array(text.utf8), source: .message("event")))?.members != nil
    }

    private func loadGestures(into content: inout OutboxContent) throws(SQLiteError) {
        var rows = try database.prepare("SELECT * FROM open_gesture ORDER BY gesture")
        while try rows.step() {
            let word = rows.text(0)
            guard let gesture = Gesture(word: word) else {
                content.damagedRows += 1
                continue
            }
            let open = OpenGesture(gesture: gesture, isSimulated: rows.integer(1) != 0)
            if hasChecksum(of: open, rows, column: 2) {
                content.gestures.append(open)
            } else {
                content.damagedRows += 1
            }
        }
    }

    private func loadCounters(into content: inout OutboxContent) throws(SQLiteError) {
        var rows = try database.prepare("SELECT * FROM counter")
        while try rows.step() {
            let counter = OutboxCounter(name: rows.text(0), value: UInt64(max(0, rows.integer(1))))
            guard hasChecksum(of: counter, rows, column: 2) else {
                content.damagedRows += 1
                continue
            }
            switch counter.name {
            case OutboxCounter.dropped: content.dropped = counter.value
            case OutboxCounter.expired: content.expired = counter.value
            default: break
            }
        }
    }
}
