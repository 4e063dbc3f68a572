internal import MosquittoClient
internal import MotionCore
internal import SQLiteDatabase

/// The changes of one commit.
struct OutboxBatch: Sendable {
    /// New messages with their rows, in order.
    var added: [(row: Int64, message: OutgoingMessage)] = []
    /// Rows whose message has a corrected time.
    var corrected: [(row: Int64, message: OutgoingMessage)] = []
    var removed: [Int64] = []
    /// Gestures that began or ended, in order.
    var gestures: [(gesture: OpenGesture, isOpen: Bool)] = []
    /// The totals of dropped and expired messages, if they changed.
    var totals: (dropped: UInt64, expired: UInt64)?
    /// Whether this is everything that the file should have, so that it can be written to a new file.
    var isComplete = false
    /// The number of messages in memory, which survive the loss of the file.
    var messagesInMemory = 0

    init() {}

    /// Everything that a file should have.
    init(all content: OutboxContent) {
        added = content.messages
        gestures = content.gestures.map { ($0, true) }
        totals = (content.dropped, content.expired)
        isComplete = true
    }

    fileprivate var rows: Int { added.count + corrected.count + removed.count + gestures.count }
}

/// Writes the outbox's database: unacknowledged messages, and gestures that have begun and not yet ended.
///
/// It uses a write-ahead log and does not sync at every commit. Committed data survives the end of the process, however
/// it ends. A power cut may lose what the kernel has not written to the disk: about the last half minute. Nothing is
/// written unless something changed.
///
/// Two operations wait for the disk: the checkpoint, which copies the log to the database, and the restart of the log.
/// On an SD card they take tenths of a second, so both are done when the owner knows that no message is waiting.
struct OutboxStore: ~Copyable {
    private let database: Database
    private var insert: Statement
    private var delete: Statement
    private var begin: Statement
    private var end: Statement
    private var setCounter: Statement
    /// The number of rows changed since the last checkpoint.
    private var rowsInLog: Int
    /// Whether the next commit writes the row with the version, which files had not always.
    private var needsVersionRow: Bool

    /// The number of changed rows after which a checkpoint is due: some 400 pages. A checkpoint waits twice for the disk,
    /// which writes its own journal each time, so a smaller number would write more.
    private static let checkpointThreshold = 256

    private static let tables = """
        CREATE TABLE message(
            token INTEGER PRIMARY KEY, topic TEXT NOT NULL, id TEXT, content BLOB NOT NULL, qos INTEGER NOT NULL,
            retain INTEGER NOT NULL, boot TEXT NOT NULL, monotonic INTEGER NOT NULL, wall INTEGER NOT NULL,
            clock_set INTEGER NOT NULL, lifetime INTEGER, checksum INTEGER NOT NULL);
        CREATE TABLE open_gesture(
            gesture TEXT, simulated INTEGER, checksum INTEGER NOT NULL, PRIMARY KEY(gesture, simulated)) WITHOUT ROWID;
        CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
        PRAGMA user_version = \(OutboxDatabase.currentVersion);
        """

    /// Makes a file writable. One without tables gets them. One of an earlier version gets new tables with `content`,
    /// which was read from it: all of it, or the file stays as it is.
    ///
    /// - Throws: the error that SQLite reports.
    static func open(_ file: consuming OutboxDatabase, content: OutboxContent) throws(SQLiteError) -> OutboxStore {
        let version = file.version
        let isCurrent = version == OutboxDatabase.currentVersion
        let needsVersionRow = !isCurrent || !file.hasVersionRow
        let database = file.database
        // The end of the connection rolls a transaction back that was not committed.
        if !isCurrent {
            let removal = version == 0 ? "" : "DROP TABLE message; DROP TABLE open_gesture; DROP TABLE counter;"
            try database.execute("BEGIN IMMEDIATE; \(removal) \(tables)")
        }
        let insert = try database.prepare("INSERT OR REPLACE INTO message VALUES(?,?,?,?,?,?,?,?,?,?,?,?)")
        let delete = try database.prepare("DELETE FROM message WHERE token = ?")
        let begin = try database.prepare("INSERT OR REPLACE INTO open_gesture VALUES(?,?,?)")
        let end = try database.prepare("DELETE FROM open_gesture WHERE gesture = ? AND simulated = ?")
        let setCounter = try database.prepare("INSERT OR REPLACE INTO counter VALUES(?,?,?)")
        var store = OutboxStore(
            database: database, insert: insert, delete: delete, begin: begin, end: end, setCounter: setCounter,
            rowsInLog: 0, needsVersionRow: needsVersionRow)
        if !isCurrent {
            try store.apply(version == 0 ? OutboxBatch() : OutboxBatch(all: content))
            try store.database.execute("COMMIT")
            store.needsVersionRow = false
        }
        return store
    }

    // MARK: Writing

    /// Writes everything that the file should have, and waits until it is on the disk.
    mutating func commitDurably(_ content: OutboxContent) throws(SQLiteError) {
        try database.execute("PRAGMA synchronous = FULL")
        do {
            try commit(OutboxBatch(all: content))
        } catch {
            try database.execute("PRAGMA synchronous = NORMAL")
            throw error
        }
        try database.execute("PRAGMA synchronous = NORMAL")
    }

    /// Writes changes in one transaction.
    ///
    /// - Returns: whether a checkpoint is due.
    @discardableResult
    mutating func commit(_ changes: OutboxBatch) throws(SQLiteError) -> Bool {
        rowsInLog += changes.rows
        try database.execute("BEGIN IMMEDIATE")
        do {
            // The file's earlier content may be outdated.
            if changes.isComplete { try database.execute("DELETE FROM message; DELETE FROM open_gesture") }
            try apply(changes)
            try database.execute("COMMIT")
        } catch {
            // SQLite may have rolled back already.
            if database.isInTransaction { try database.execute("ROLLBACK") }
            throw error
        }
        needsVersionRow = false
        return rowsInLog >= OutboxStore.checkpointThreshold
    }

    /// Executes changes in the open transaction.
    private mutating func apply(_ changes: OutboxBatch) throws(SQLiteError) {
        // Deletions come first: a message from another run may get the number of a deleted row.
        for row in changes.removed {
            delete.bind(1, row)
            try delete.run()
        }
        for (row, message) in changes.added { try put(message, row) }
        for (row, message) in changes.corrected { try put(message, row) }
        for (gesture, isOpen) in changes.gestures { try record(gesture, isOpen: isOpen) }
        if let totals = changes.totals {
            try set(OutboxCounter(name: OutboxCounter.dropped, value: totals.dropped))
            try set(OutboxCounter(name: OutboxCounter.expired, value: totals.expired))
        }
        if needsVersionRow {
            try set(OutboxCounter(name: OutboxCounter.version, value: UInt64(OutboxDatabase.currentVersion)))
        }
    }

    /// Checkpoints the log, and restarts it with a write that changes nothing.
    mutating func checkpoint() throws(SQLiteError) {
        rowsInLog = 0
        try database.execute("PRAGMA wal_checkpoint(PASSIVE); PRAGMA user_version = \(OutboxDatabase.currentVersion)")
    }

    private mutating func put(_ message: OutgoingMessage, _ row: Int64) throws(SQLiteError) {
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
        insert.bind(11, message.storedLifetime)
        insert.bind(12, message.checksum)
        try insert.run()
    }

    private mutating func record(_ gesture: OpenGesture, isOpen: Bool) throws(SQLiteError) {
        let word = gesture.gesture.word
        let simulated: Int64 = gesture.isSimulated ? 1 : 0
        if isOpen {
            begin.bind(1, word)
            begin.bind(2, simulated)
            begin.bind(3, gesture.checksum)
            try begin.run()
        } else {
            end.bind(1, word)
            end.bind(2, simulated)
            try end.run()
        }
    }

    private mutating func set(_ counter: OutboxCounter) throws(SQLiteError) {
        setCounter.bind(1, counter.name)
        setCounter.bind(2, Int64(clamping: counter.value))
        setCounter.bind(3, counter.checksum)
        try setCounter.run()
    }
}
