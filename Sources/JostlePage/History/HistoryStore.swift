internal import SQLiteDatabase

/// The database of the history: rows in the order in which they came, so that the oldest ones stand together.
struct HistoryStore: ~Copyable {
    private let database: Database
    /// Milliseconds for which rows are kept, and the most bytes of the file.
    private let maximumAge: Int64
    private let maximumBytes: Int64
    /// When what is too old was last deleted, milliseconds since 1970.
    private var lastDeletion: Int64 = 0

    /// Whether the file is no history of this version, and must be left alone.
    let isForeign: Bool

    /// What identifies a history, and the version of its table.
    private static let (application, version) = (Int64(0x4A6F_7374), Int64(1))

    private static let table = """
        CREATE TABLE entry(
            number INTEGER PRIMARY KEY, board TEXT NOT NULL, time INTEGER NOT NULL, kind TEXT NOT NULL, id TEXT,
            content BLOB NOT NULL);
        CREATE INDEX entry_time ON entry(board, time);
        CREATE UNIQUE INDEX entry_id ON entry(board, id) WHERE id IS NOT NULL;
        """

    /// The size of a page of a new file, bytes. A row changes three pages, of which only one is shared by all boards. Pages
    /// of 4096 bytes would write three times as much to a memory card.
    private static let pageSize = 1024

    /// The most rows and bytes that are read at once.
    static let maximumAnswer = (rows: 2000, bytes: 1 << 20)
    /// Bytes below `maximumBytes` at which the oldest rows are deleted: more than comes between two looks at the size.
    static let reserve: Int64 = 4 << 20
    /// Milliseconds between two deletions of what is too old, and the most rows that go at once.
    private static let deletion = (period: Int64(600_000), rows: Int64(5000))

    // MARK: Opening

    /// Opens the file at `path`, or creates it.
    ///
    /// - Throws: the error that SQLite reports; of kind `damaged` if the file is not a database.
    init(path: String, maximumAge: Int64, maximumBytes: Int64) throws(SQLiteError) {
        let database = try Database.openForOneProcess(
            path: path, "PRAGMA page_size = \(HistoryStore.pageSize); PRAGMA auto_vacuum = INCREMENTAL")
        // Pages that change again and again are written once.
        try database.execute("PRAGMA wal_autocheckpoint = 4000")
        let isNew = try database.integer("SELECT count(*) FROM sqlite_master") == 0
        if isNew {
            try database.execute(
                """
                BEGIN IMMEDIATE; \(HistoryStore.table) PRAGMA application_id = \(HistoryStore.application);
                PRAGMA user_version = \(HistoryStore.version); COMMIT;
                """)
        }
        let application = try database.integer("PRAGMA application_id")
        let version = try database.integer("PRAGMA user_version")
        let isKnown = application == HistoryStore.application && version == HistoryStore.version
        if !isNew, isKnown { try HistoryStore.endRecording(in: database) }
        isForeign = !isKnown
        self.database = database
        self.maximumAge = maximumAge
        self.maximumBytes = maximumBytes
    }

    /// Notes that nothing was recorded since the last row, unless the last run has said so at its end.
    private static func endRecording(in database: borrowing Database) throws(SQLiteError) {
        let all = "board = '\(HistoryRow.allBoards)'"
        let last = try database.text("SELECT content FROM entry WHERE \(all) ORDER BY time DESC, number DESC LIMIT 1")
        guard last == "true" else { return }
        try database.execute(
            """
            INSERT INTO entry(board, time, kind, content)
            SELECT '\(HistoryRow.allBoards)', time, '\(HistoryRow.Kind.recording.rawValue)', 'false' FROM entry
            ORDER BY number DESC LIMIT 1
            """)
    }

    // MARK: Writing

    /// Writes rows as a whole, or none of them.
    mutating func write(_ rows: [HistoryRow], at milliseconds: Int64) throws(SQLiteError) {
        try database.execute("BEGIN IMMEDIATE")
        do {
            try insert(rows)
            try deleteSurplus()
            try database.execute("COMMIT")
        } catch {
            // SQLite may have rolled back already.
            if database.isInTransaction { try database.execute("ROLLBACK") }
            throw error
        }
        guard abs(milliseconds - lastDeletion) >= HistoryStore.deletion.period else { return }
        lastDeletion = milliseconds
        while try deleteOld(at: milliseconds) {}
    }

    private func insert(_ rows: [HistoryRow]) throws(SQLiteError) {
        // What was delivered twice has the id of a row.
        var insert = try database.prepare(
            "INSERT OR IGNORE INTO entry(board, time, kind, id, content) VALUES(?,?,?,?,?)")
        for row in rows {
            guard row.kind != .erasure else {
                var erase = try database.prepare("DELETE FROM entry WHERE board = ?")
                try erase.run(.text(row.board))
                continue
            }
            try insert.run(
                .text(row.board), .integer(row.time), .text(row.kind.rawValue), row.id.map { .text($0) } ?? .null,
                .bytes(row.content))
        }
    }

    /// Deletes the oldest rows if the file is nearly as large as it may be, and gives the disk what is more than that.
    private func deleteSurplus() throws(SQLiteError) {
        let limit = (maximumBytes - HistoryStore.reserve) / Int64(HistoryStore.pageSize)
        let surplus = (try database.integer("PRAGMA page_count") ?? 0) - limit
        guard surplus > 0 else { return }
        while try database.integer("PRAGMA freelist_count") ?? 0 < surplus {
            guard let first = try database.integer("SELECT min(number) FROM entry"),
                let last = try database.integer("SELECT max(number) FROM entry")
            else { break }
            try database.execute("DELETE FROM entry WHERE number <= \(first + (last - first) / 50)")
        }
        try database.execute("PRAGMA incremental_vacuum(\(surplus))")
    }

    /// Deletes rows that are too old, the first ones of the file; returns whether there may be more. A clock that was wrong
    /// may have dated some to a time that has not come.
    private func deleteOld(at milliseconds: Int64) throws(SQLiteError) -> Bool {
        guard let first = try database.integer("SELECT min(number) FROM entry"), first > 0 else { return false }
        let times = "time BETWEEN \(milliseconds - maximumAge) AND \(milliseconds + 86_400_000)"
        let kept = try database.integer("SELECT number FROM entry WHERE \(times) ORDER BY number LIMIT 1") ?? .max
        let end = min(kept, first + HistoryStore.deletion.rows)
        guard first < end else { return false }
        try database.execute("DELETE FROM entry WHERE number < \(end)")
        return end < kept
    }

    // MARK: Reading

    /// A row as pages get it.
    typealias Found = (time: Int64, json: [UInt8])

    /// The rows of a board in a time, and with which time to go on if these are not all. Before them come the last rows before
    /// that time, which say how it was at its beginning.
    func rows(of board: String, _ times: Range<Int64>) throws(SQLiteError) -> (rows: [[UInt8]], next: Int64?) {
        let most = HistoryStore.maximumAnswer
        let before = "time < \(times.lowerBound) ORDER BY time DESC, number DESC"
        let within = "time >= \(times.lowerBound) AND time < \(times.upperBound) ORDER BY time, number"
        func last(_ kind: HistoryRow.Kind, within milliseconds: Int64) -> String {
            "kind = '\(kind.rawValue)' AND time >= \(times.lowerBound - milliseconds) AND \(before)"
        }
        let (condition, levels) = HistoryRecorder.periods
        var rows = try find(before, HistoryRow.allBoards, 1)
        rows += try find(last(.board, within: condition + levels), board, 1)
        // A row of levels says what was up to an hour after its time, and is complete a minute later.
        rows += try find(last(.levels, within: levels + 120_000), board, 1)
        rows += try find(within, HistoryRow.allBoards, most.rows)
        let found = try find(within, board, most.rows + 1)
        guard let last = found.last?.time,
            found.count > most.rows || found.reduce(0, { $0 + $1.json.count }) >= most.bytes
        else { return ((rows + found).map(\.json), nil) }
        // There may be more of the time of the last one: all of them come next time.
        let whole = found.prefix { $0.time < last }
        return whole.isEmpty
            ? ((rows + found).map(\.json), last + 1) : ((rows + whole).map(\.json), last)
    }

    private func find(_ condition: String, _ board: String, _ limit: Int) throws(SQLiteError) -> [Found] {
        var found: [Found] = []
        var size = 0
        var query = try database.prepare(
            "SELECT time, kind, content FROM entry WHERE board = ? AND \(condition) LIMIT \(limit)")
        query.bind([.text(board)])
        while size < HistoryStore.maximumAnswer.bytes, try query.step() {
            let time = query.integer(0)
            found.append((time, HistoryRow.json(time: time, kind: query.text(1), content: query.bytes(2))))
            size += found.last?.json.count ?? 0
        }
        return found
    }
}
