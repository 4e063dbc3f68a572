internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient
internal import MotionCore
internal import SQLiteDatabase

/// The outbox's file: messages until the broker has them, and gestures that began and have not come to their end.
///
/// A write-ahead log without a sync at every commit: what is committed outlives the process, however that ends; a power
/// cut may take the last moments. Nothing is written unless something changed.
///
/// Two things do wait for the disk: taking the log into the file (a checkpoint), and starting it over. On an SD card they take
/// tenths of a second, so both are done when the owner says that no message waits.
struct OutboxStore: ~Copyable {
    private let database: Database
    private var insert: Statement
    private var correct: Statement
    private var delete: Statement
    private var begin: Statement
    private var end: Statement
    private var setCounter: Statement
    /// Rows that were changed since the log was taken into the file.
    private var logged: Int

    /// Rows in the log after which it is taken into the file: some 200 pages.
    private static let longLog = 64

    /// What a commit writes down.
    struct Changes: Sendable {
        /// New messages, in order, each with its row.
        var added: [(row: Int64, message: OutgoingMessage)] = []
        /// Messages whose time is known better now.
        var corrected: [(row: Int64, time: EventTime)] = []
        var removed: [Int64] = []
        /// Gestures that began or came to their end, in order.
        var gestures: [(gesture: OpenGesture, isOpen: Bool)] = []
        /// All that was ever dropped, and that grew too old, if it became more.
        var totals: (dropped: UInt64, expired: UInt64)?

        var isEmpty: Bool {
            added.isEmpty && corrected.isEmpty && removed.isEmpty && gestures.isEmpty && totals == nil
        }

        var rows: Int { added.count + corrected.count + removed.count + gestures.count }
    }

    /// What a file holds.
    struct Content: Sendable {
        var messages: [(row: Int64, message: OutgoingMessage)] = []
        var gestures: [OpenGesture] = []
        var dropped: UInt64 = 0
        var expired: UInt64 = 0
        /// Rows that cannot be messages of an outbox, and are left alone.
        var unusable = 0

        var isEmpty: Bool { messages.isEmpty && gestures.isEmpty }
    }

    /// Rows that a file may have: numbers count on from the largest, a hundred a second for 300 million years.
    private static let possibleRows: Range<Int64> = 1..<1 << 60

    /// Bytes of a message, and milliseconds of its lifetime, beyond which it is none of ours.
    private static let largestContent = 1 << 20
    private static let possibleLifetimes: ClosedRange<Int64> = 0...9_000_000_000_000_000

    /// The version of the tables, in `user_version`; 0 is a file without any.
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

    /// Opens the file at `path`, which is made where there is none, of at most `maximumBytes`.
    ///
    /// - Throws: what SQLite says; of kind `damaged` where this is no such file.
    static func open(path: String, maximumBytes: Int) throws(SQLiteError) -> OutboxStore {
        let database = try Database.open(path: path)
        database.setBusyTimeout(seconds: 0.5)
        // Exclusive: no second file is shared with others, and a second agent on the same state is noticed.
        try database.execute("PRAGMA locking_mode = EXCLUSIVE")
        try database.execute("PRAGMA journal_mode = WAL")
        try database.execute("PRAGMA synchronous = NORMAL")
        try database.execute("PRAGMA journal_size_limit = 1048576")
        // For a log of which events never cease: see `checkpoint`.
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
            setCounter: setCounter, logged: 0)
    }

    /// What is wrong with the file, in a few words; `nil` where nothing is.
    func defect() throws(SQLiteError) -> String? {
        let answer = try database.text("PRAGMA quick_check(1)") ?? ""
        return answer == "ok" ? nil : answer
    }

    /// Reads what can be read: of a damaged file what comes before the damage.
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

    /// The message of a row; `nil` if no outbox can have written it.
    ///
    /// Others may have written here, or a worn card got it wrong. It is checked as closely as what comes over the network: what
    /// could never be sent would stand before everything else, and arithmetic with an impossible time would overflow.
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

    /// Whether a text is a JSON object, without which the payload made of it would be none.
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

    /// Writes changes, all or none; `isWhole` if they are everything that the file is to have.
    ///
    /// - Returns: whether the log is long enough to be taken into the file.
    @discardableResult
    mutating func commit(_ changes: Changes, isWhole: Bool = false) throws(SQLiteError) -> Bool {
        logged += changes.rows
        try database.execute("BEGIN IMMEDIATE")
        do throws(SQLiteError) {
            // What the file has of an earlier state is not known to be true any more.
            if isWhole { try database.execute("DELETE FROM message; DELETE FROM open_gesture") }
            // First: a message that is taken over from another run may get the number of one that is removed.
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
            for (gesture, isOpen) in changes.gestures { try note(gesture, isOpen: isOpen) }
            if let totals = changes.totals {
                try set("dropped", totals.dropped)
                try set("expired", totals.expired)
            }
            try database.execute("COMMIT")
        } catch {
            // SQLite may have rolled back by itself.
            if database.isInTransaction { try database.execute("ROLLBACK") }
            throw error
        }
        return logged >= OutboxStore.longLog
    }

    /// Takes the log into the file, and starts it over with something that changes nothing.
    mutating func checkpoint() throws(SQLiteError) {
        logged = 0
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

    private mutating func note(_ gesture: OpenGesture, isOpen: Bool) throws(SQLiteError) {
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
