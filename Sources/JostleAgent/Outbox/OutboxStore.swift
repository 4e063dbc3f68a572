internal import Documents
internal import JostleConfiguration
internal import MosquittoClient
internal import MotionCore
internal import SQLiteDatabase

/// The contents of an outbox's file.
struct OutboxContent: Sendable {
    var messages: [(row: Int64, message: OutgoingMessage)] = []
    var gestures: [OpenGesture] = []
    var dropped: UInt64 = 0
    var expired: UInt64 = 0
}

/// The changes of one commit.
struct OutboxBatch: Sendable {
    /// New messages with their rows, in order.
    var added: [(row: Int64, message: OutgoingMessage)] = []
    /// Rows whose message has a corrected time.
    var corrected: [(row: Int64, message: OutgoingMessage)] = []
    var removed: [Int64] = []
    /// Gestures that began or ended.
    var gestures: [(gesture: OpenGesture, isOpen: Bool)] = []
    /// The totals of dropped and expired messages, if they changed.
    var totals: (dropped: UInt64, expired: UInt64)?
    /// Whether this is everything that the file should have, so that it can be written to a new file.
    var isComplete = false
    /// The number of messages in memory, which survive the loss of the file.
    var messagesInMemory = 0
}

/// The outbox's database: unacknowledged messages, gestures that have begun and not yet ended, and counters.
///
/// It uses a write-ahead log and does not sync at every commit. Committed data survives the end of the process, however
/// it ends. A power cut may lose what the kernel has not written to the disk: about the last half minute. Nothing is
/// written unless something changed.
///
/// Two operations wait for the disk: the checkpoint, which copies the log to the database, and the restart of the log.
/// On an SD card they take tenths of a second, so both are done when the owner knows that no message is waiting.
struct OutboxStore: ~Copyable {
    private let database: Database
    /// The number of rows changed since the last checkpoint.
    private var rowsInLog = 0

    /// The number of changed rows after which a checkpoint is due: some 400 pages. A checkpoint waits twice for the disk,
    /// which writes its own journal each time, so a smaller number would write more.
    private static let checkpointThreshold = 256

    /// The version of the tables. Version 1 was never released.
    static let version: Int64 = 2

    private static let tables = """
        CREATE TABLE message(
            token INTEGER PRIMARY KEY, topic TEXT NOT NULL, id TEXT, content BLOB NOT NULL, qos INTEGER NOT NULL,
            retain INTEGER NOT NULL, boot TEXT NOT NULL, monotonic INTEGER NOT NULL, wall INTEGER NOT NULL,
            clock_set INTEGER NOT NULL, lifetime INTEGER, checksum INTEGER NOT NULL);
        CREATE TABLE open_gesture(
            gesture TEXT, simulated INTEGER, checksum INTEGER NOT NULL, PRIMARY KEY(gesture, simulated)) WITHOUT ROWID;
        CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
        """

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
    private static let pageSize = 512

    /// The fewest bytes that a file may grow to.
    private static let fewestBytes = 1 << 18

    // MARK: Opening

    /// Opens the file at `path`, or creates it. It grows to at most `maximumBytes`.
    ///
    /// - Throws: the error that SQLite reports; of kind `damaged` if the file is not a database.
    init(path: String, maximumBytes: Int) throws(SQLiteError) {
        let database = try Database.openForOneProcess(path: path, "PRAGMA page_size = \(OutboxStore.pageSize)")
        // A fallback for a stream of events without a pause: see `checkpoint`.
        try database.execute("PRAGMA wal_autocheckpoint = 2000")
        let pages = max(OutboxStore.fewestBytes, maximumBytes) / OutboxStore.pageSize
        try database.execute("PRAGMA max_page_count = \(pages)")
        if try database.integer("SELECT count(*) FROM sqlite_master") == 0 {
            let version = OutboxCounter(name: OutboxCounter.version, value: UInt64(OutboxStore.version))
            // The end of the connection rolls a transaction back that was not committed.
            try database.execute(
                """
                BEGIN IMMEDIATE; \(OutboxStore.tables) PRAGMA user_version = \(version.value);
                \(OutboxStore.setting(version)); COMMIT;
                """)
        }
        self.database = database
    }

    /// The version of the tables if a later version of the program has written them; `nil` otherwise.
    func laterVersion() throws(SQLiteError) -> Int64? {
        var version = try database.integer("PRAGMA user_version") ?? 0
        // The row has a checksum, and `user_version` none. A later version may have no such row.
        if try database.integer("SELECT count(*) FROM pragma_table_info('counter')") == 3 {
            let name = OutboxCounter.version
            var rows = try database.prepare("SELECT value, checksum FROM counter WHERE name = '\(name)'")
            if try rows.step() {
                let row = OutboxCounter(name: name, value: UInt64(max(0, rows.integer(0))))
                if rows.integer(1) == row.checksum { version = rows.integer(0) }
            }
        }
        return version > OutboxStore.version ? version : nil
    }

    /// Whether the file cannot be written.
    var isReadOnly: Bool { database.isReadOnly }

    // MARK: Reading

    /// Reads the file. Returns what could be read of it, and what is damaged.
    ///
    /// - Throws: an error that says nothing about the file, such as one of the disk.
    func read() throws(SQLiteError) -> (OutboxContent, damage: String?) {
        let answer = try database.text("PRAGMA quick_check(1)") ?? ""
        var damage = answer == "ok" ? nil : answer
        var content = OutboxContent()
        do {
            var damagedRows = try readMessages(into: &content)
            damagedRows += try readGestures(into: &content)
            damagedRows += try readCounters(into: &content)
            if damagedRows > 0 { damage = damage ?? "rows that are not as they were written: \(damagedRows)" }
        } catch {
            // A row that claims to have gigabytes is reported as a lack of memory.
            guard damage != nil || error.showsDamage else { throw error }
            damage = damage ?? "\(error)"
        }
        return (content, damage)
    }

    /// The valid row numbers. New rows follow the largest, so at a hundred a second they last for 300 million years.
    private static let possibleRows: Range<Int64> = 1..<1 << 60

    /// The limits of a valid row: content in bytes, and lifetime in milliseconds.
    private static let largestContent = 1 << 20
    private static let possibleLifetimes: ClosedRange<Int64> = 0...9_000_000_000_000_000

    /// Reads the messages. Returns the number of rows that no outbox has written like this.
    ///
    /// The integrity check of SQLite knows nothing of the bytes in a row, so each row has a checksum.
    private func readMessages(into content: inout OutboxContent) throws(SQLiteError) -> Int {
        var damagedRows = 0
        var rows = try database.prepare("SELECT * FROM message ORDER BY token")
        while try rows.step() {
            if OutboxStore.possibleRows.contains(rows.integer(0)), let message = OutboxStore.message(in: rows),
                message.checksum == rows.integer(11)
            {
                content.messages.append((rows.integer(0), message))
            } else {
                damagedRows += 1
            }
        }
        return damagedRows
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

    private func readGestures(into content: inout OutboxContent) throws(SQLiteError) -> Int {
        var damagedRows = 0
        var rows = try database.prepare("SELECT * FROM open_gesture ORDER BY gesture")
        while try rows.step() {
            let isSimulated = rows.integer(1) != 0
            if let open = Gesture(word: rows.text(0)).map({ OpenGesture(gesture: $0, isSimulated: isSimulated) }),
                open.checksum == rows.integer(2)
            {
                content.gestures.append(open)
            } else {
                damagedRows += 1
            }
        }
        return damagedRows
    }

    private func readCounters(into content: inout OutboxContent) throws(SQLiteError) -> Int {
        var damagedRows = 0
        var rows = try database.prepare("SELECT * FROM counter")
        while try rows.step() {
            let counter = OutboxCounter(name: rows.text(0), value: UInt64(max(0, rows.integer(1))))
            guard counter.checksum == rows.integer(2) else {
                damagedRows += 1
                continue
            }
            switch counter.name {
            case OutboxCounter.dropped: content.dropped = counter.value
            case OutboxCounter.expired: content.expired = counter.value
            default: break
            }
        }
        return damagedRows
    }

    // MARK: Writing

    /// Writes changes in one transaction. `waits` until they are on the disk.
    ///
    /// - Returns: whether a checkpoint is due.
    @discardableResult
    mutating func commit(_ batch: OutboxBatch, waits: Bool = false) throws(SQLiteError) -> Bool {
        rowsInLog += batch.added.count + batch.corrected.count + batch.removed.count + batch.gestures.count
        try database.execute("PRAGMA synchronous = \(waits ? "FULL" : "NORMAL"); BEGIN IMMEDIATE")
        do {
            // The file's earlier content may be outdated.
            if batch.isComplete { try database.execute("DELETE FROM message; DELETE FROM open_gesture") }
            try apply(batch)
            try database.execute("COMMIT")
        } catch {
            // SQLite may have rolled back already.
            if database.isInTransaction { try database.execute("ROLLBACK") }
            throw error
        }
        return rowsInLog >= OutboxStore.checkpointThreshold
    }

    /// Executes changes in the open transaction.
    private func apply(_ batch: OutboxBatch) throws(SQLiteError) {
        // Deletions come first: a message from another run may get the number of a deleted row.
        for row in batch.removed { try database.execute("DELETE FROM message WHERE token = \(row)") }
        if !batch.added.isEmpty || !batch.corrected.isEmpty { try put(batch.added + batch.corrected) }
        for (open, isOpen) in batch.gestures {
            let (word, simulated) = (open.gesture.word, open.isSimulated ? 1 : 0)
            try database.execute(
                isOpen
                    ? "INSERT OR REPLACE INTO open_gesture VALUES('\(word)', \(simulated), \(open.checksum))"
                    : "DELETE FROM open_gesture WHERE gesture = '\(word)' AND simulated = \(simulated)")
        }
        if let totals = batch.totals {
            try database.execute(
                OutboxStore.setting(OutboxCounter(name: OutboxCounter.dropped, value: totals.dropped)) + ";"
                    + OutboxStore.setting(OutboxCounter(name: OutboxCounter.expired, value: totals.expired)))
        }
    }

    /// The statement that sets a counter.
    private static func setting(_ counter: OutboxCounter) -> String {
        let value = Int64(clamping: counter.value)
        return "INSERT OR REPLACE INTO counter VALUES('\(counter.name)', \(value), \(counter.checksum))"
    }

    private func put(_ messages: [(row: Int64, message: OutgoingMessage)]) throws(SQLiteError) {
        var insert = try database.prepare("INSERT OR REPLACE INTO message VALUES(?,?,?,?,?,?,?,?,?,?,?,?)")
        for (row, message) in messages {
            var id: String?
            let content: [UInt8]
            switch message.content {
            case .event(let own, let fields): (id, content) = (own, Array(fields.utf8))
            case .fixed(let bytes): content = bytes
            }
            try insert.run(
                .integer(row), .text(message.topic), id.map { .text($0) } ?? .null, .bytes(content),
                .integer(Int64(message.qos.rawValue)), .integer(message.isRetained ? 1 : 0), .text(message.time.boot),
                .integer(message.time.sinceBoot.nanoseconds), .integer(message.time.wall),
                .integer(message.time.isClockSet ? 1 : 0), message.storedLifetime.map { .integer($0) } ?? .null,
                .integer(message.checksum))
        }
    }

    /// Checkpoints the log, and restarts it with a write that changes nothing.
    mutating func checkpoint() throws(SQLiteError) {
        rowsInLog = 0
        try database.execute("PRAGMA wal_checkpoint(PASSIVE); PRAGMA user_version = \(OutboxStore.version)")
    }
}
