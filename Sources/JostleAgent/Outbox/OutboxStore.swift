internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient
internal import MotionCore
internal import SQLiteDatabase

/// The outbox's database: unacknowledged messages, and gestures that have begun and not yet ended.
///
/// It uses a write-ahead log and does not sync at every commit. Committed data survives the end of the process, however
/// it ends; a power cut may lose the last moments. Nothing is written unless something changed.
///
/// Two operations wait for the disk: the checkpoint, which copies the log to the database, and the restart of the log.
/// On an SD card they take tenths of a second, so both are done when the owner knows that no message is waiting.
struct OutboxStore: ~Copyable {
    private let database: Database
    private var insert: Statement
    private var correct: Statement
    private var delete: Statement
    private var begin: Statement
    private var end: Statement
    private var setCounter: Statement
    /// The number of rows changed since the last checkpoint.
    private var rowsInLog: Int

    /// The number of changed rows after which a checkpoint is due: some 200 pages.
    private static let checkpointThreshold = 64

    /// The changes of one commit.
    struct Changes: Sendable {
        /// New messages with their rows, in order.
        var added: [(row: Int64, message: OutgoingMessage)] = []
        /// Rows whose time was corrected.
        var corrected: [(row: Int64, time: EventTime)] = []
        var removed: [Int64] = []
        /// Gestures that began or ended, in order.
        var gestures: [(gesture: OpenGesture, isOpen: Bool)] = []
        /// The totals of dropped and expired messages, if they changed.
        var totals: (dropped: UInt64, expired: UInt64)?

        var isEmpty: Bool {
            added.isEmpty && corrected.isEmpty && removed.isEmpty && gestures.isEmpty && totals == nil
        }

        var rows: Int { added.count + corrected.count + removed.count + gestures.count }
    }

    /// The contents of a file.
    struct Content: Sendable {
        var messages: [(row: Int64, message: OutgoingMessage)] = []
        var gestures: [OpenGesture] = []
        var dropped: UInt64 = 0
        var expired: UInt64 = 0
        /// The number of rows that cannot be messages of an outbox. They are ignored.
        var unusable = 0

        var isEmpty: Bool { messages.isEmpty && gestures.isEmpty }
    }

    /// The valid row numbers. New rows follow the largest, so at a hundred a second they last for 300 million years.
    private static let possibleRows: Range<Int64> = 1..<1 << 60

    /// The limits of a valid row: content in bytes, and lifetime in milliseconds.
    private static let largestContent = 1 << 20
    private static let possibleLifetimes: ClosedRange<Int64> = 0...9_000_000_000_000_000

    /// The schema's version, in `user_version`. A file without tables has 0.
    private static let version: Int64 = 1

    private static let tables = """
        CREATE TABLE message(
            token INTEGER PRIMARY KEY, topic TEXT NOT NULL, id TEXT, content BLOB NOT NULL, qos INTEGER NOT NULL,
            retain INTEGER NOT NULL, boot TEXT NOT NULL, monotonic INTEGER NOT NULL, wall INTEGER NOT NULL,
            clock_set INTEGER NOT NULL, lifetime INTEGER);
        CREATE TABLE open_gesture(gesture TEXT, simulated INTEGER, PRIMARY KEY(gesture, simulated)) WITHOUT ROWID;
        CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        PRAGMA user_version = \(version);
        """

    /// Opens the file at `path`, or creates it. It grows to at most `maximumBytes`.
    ///
    /// - Throws: the error that SQLite reports; of kind `damaged` if the file is not an outbox.
    static func open(path: String, maximumBytes: Int) throws(SQLiteError) -> OutboxStore {
        let database = try Database.open(path: path)
        database.setBusyTimeout(seconds: 0.5)
        // Exclusive: no shared-memory file is needed, and a second agent on the same state directory is detected.
        try database.execute("PRAGMA locking_mode = EXCLUSIVE")
        try database.execute("PRAGMA journal_mode = WAL")
        try database.execute("PRAGMA synchronous = NORMAL")
        try database.execute("PRAGMA journal_size_limit = 1048576")
        // A fallback for a stream of events without a pause: see `checkpoint`.
        try database.execute("PRAGMA wal_autocheckpoint = 1000")
        try database.execute("PRAGMA max_page_count = \(max(64, maximumBytes / 4096))")
        switch try database.integer("PRAGMA user_version") ?? 0 {
        case version: break
        case 0: try database.execute("BEGIN IMMEDIATE; \(tables) COMMIT")
        case let other: throw SQLiteError(damage: "the file is of version \(other), not \(version)")
        }
        let insert = try database.prepare("INSERT OR REPLACE INTO message VALUES(?,?,?,?,?,?,?,?,?,?,?)")
        let correct = try database.prepare("UPDATE message SET wall = ?, clock_set = ? WHERE token = ?")
        let delete = try database.prepare("DELETE FROM message WHERE token = ?")
        let begin = try database.prepare("INSERT OR REPLACE INTO open_gesture VALUES(?,?)")
        let end = try database.prepare("DELETE FROM open_gesture WHERE gesture = ? AND simulated = ?")
        let setCounter = try database.prepare("INSERT OR REPLACE INTO counter VALUES(?,?)")
        return OutboxStore(
            database: database, insert: insert, correct: correct, delete: delete, begin: begin, end: end,
            setCounter: setCounter, rowsInLog: 0)
    }

    /// The first problem that the integrity check finds; `nil` if there is none.
    func integrityProblem() throws(SQLiteError) -> String? {
        let answer = try database.text("PRAGMA quick_check(1)") ?? ""
        return answer == "ok" ? nil : answer
    }

    /// Reads the file. If it is damaged, the content before the damage is returned.
    func load() -> (content: Content, failure: SQLiteError?) {
        var content = Content()
        do throws(SQLiteError) {
            try loadMessages(into: &content)
            try loadGestures(into: &content)
            content.dropped = try counter("dropped")
            content.expired = try counter("expired")
            return (content, nil)
        } catch {
            return (content, error)
        }
    }

    private func loadMessages(into content: inout Content) throws(SQLiteError) {
        var rows = try database.prepare("SELECT * FROM message ORDER BY token")
        while try rows.step() {
            guard OutboxStore.possibleRows.contains(rows.integer(0)), let message = OutboxStore.message(in: rows) else {
                content.unusable += 1
                continue
            }
            content.messages.append((rows.integer(0), message))
        }
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
        do throws(ConfigurationProblem) {
            let tree = try JSONReader.read(Array(text.utf8), source: .message("event"))
            if case .mapping = tree.value { return true }
            return false
        } catch {
            return false
        }
    }

    private func loadGestures(into content: inout Content) throws(SQLiteError) {
        var rows = try database.prepare("SELECT gesture, simulated FROM open_gesture ORDER BY gesture")
        while try rows.step() {
            let word = rows.text(0)
            guard let gesture = Gesture.allCases.first(where: { $0.word == word }) else { continue }
            content.gestures.append(OpenGesture(gesture: gesture, isSimulated: rows.integer(1) != 0))
        }
    }

    private func counter(_ name: StaticString) throws(SQLiteError) -> UInt64 {
        UInt64(max(0, try database.integer("SELECT value FROM counter WHERE name = '\(name)'") ?? 0))
    }

    // MARK: Writing

    /// Writes changes in one transaction. `isComplete` means that they are everything the file should have.
    ///
    /// - Returns: whether a checkpoint is due.
    @discardableResult
    mutating func commit(_ changes: Changes, isComplete: Bool = false) throws(SQLiteError) -> Bool {
        rowsInLog += changes.rows
        try database.execute("BEGIN IMMEDIATE")
        do throws(SQLiteError) {
            // The file's earlier content may be outdated.
            if isComplete { try database.execute("DELETE FROM message; DELETE FROM open_gesture") }
            // Deletions come first: a message from another run may get the number of a deleted row.
            for row in changes.removed {
                delete.bind(1, row)
                try delete.run()
            }
            for (row, message) in changes.added { try add(message, row) }
            for (row, time) in changes.corrected {
                correct.bind(1, time.wall)
                correct.bind(2, time.isClockSet ? 1 : 0)
                correct.bind(3, row)
                try correct.run()
            }
            for (gesture, isOpen) in changes.gestures { try record(gesture, isOpen: isOpen) }
            if let totals = changes.totals {
                try set("dropped", totals.dropped)
                try set("expired", totals.expired)
            }
            try database.execute("COMMIT")
        } catch {
            // SQLite may have rolled back already.
            if database.isInTransaction { try database.execute("ROLLBACK") }
            throw error
        }
        return rowsInLog >= OutboxStore.checkpointThreshold
    }

    /// Checkpoints the log, and restarts it with a write that changes nothing.
    mutating func checkpoint() throws(SQLiteError) {
        rowsInLog = 0
        try database.execute("PRAGMA wal_checkpoint(PASSIVE); PRAGMA user_version = \(OutboxStore.version)")
    }

    private mutating func add(_ message: OutgoingMessage, _ row: Int64) throws(SQLiteError) {
        insert.bind(1, row)
        insert.bind(2, message.topic)
        switch message.content {
        case .event(let id, let fields):
            insert.bind(3, id)
            insert.bind(4, Array(fields.utf8))
        case .fixed(let bytes):
            insert.bind(3, String?.none)
            insert.bind(4, bytes)
        }
        insert.bind(5, Int64(message.qos.rawValue))
        insert.bind(6, message.isRetained ? 1 : 0)
        insert.bind(7, message.time.boot)
        insert.bind(8, message.time.sinceBoot.nanoseconds)
        insert.bind(9, message.time.wall)
        insert.bind(10, message.time.isClockSet ? 1 : 0)
        insert.bind(11, message.lifetime.map { Int64(min($0 * 1000, 9e15)) })
        try insert.run()
    }

    private mutating func record(_ gesture: OpenGesture, isOpen: Bool) throws(SQLiteError) {
        let word = gesture.gesture.word
        let simulated: Int64 = gesture.isSimulated ? 1 : 0
        if isOpen {
            begin.bind(1, word)
            begin.bind(2, simulated)
            try begin.run()
        } else {
            end.bind(1, word)
            end.bind(2, simulated)
            try end.run()
        }
    }

    private mutating func set(_ name: String, _ value: UInt64) throws(SQLiteError) {
        setCounter.bind(1, name)
        setCounter.bind(2, Int64(clamping: value))
        try setCounter.run()
    }
}
