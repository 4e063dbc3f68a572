internal import CSQLite

/// A connection to a database file, closed at the end of the value's lifetime: sqlite3_open_v2(), sqlite3_close_v2().
///
/// To be used by one thread at a time.
package struct Database: ~Copyable {
    let connection: OpaquePointer

    private init(connection: OpaquePointer) {
        self.connection = connection
    }

    deinit {
        // Waits for statements that have not been finalised.
        sqlite3_close_v2(connection)
    }

    /// Opens the database at `path`; creates an empty one if there is none.
    ///
    /// - Throws: why it cannot be opened. A file that is not a database is only detected when it is read.
    package static func open(path: String) throws(SQLiteError) -> Database {
        var connection: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let code = sqlite3_open_v2(path, &connection, flags, nil)
        guard code == SQLITE_OK, let connection else {
            let error = SQLiteError(connection, code: code)
            sqlite3_close_v2(connection)
            throw error
        }
        sqlite3_extended_result_codes(connection, 1)
        return Database(connection: connection)
    }

    /// Opens the database at `path` for this process alone, with a write-ahead log that is not synced at every commit: a
    /// power cut may lose what the kernel has not written to the disk, about the last half minute. `first` says what must be
    /// known before a new file has content, such as the size of its pages.
    package static func openForOneProcess(path: String, _ first: String) throws(SQLiteError) -> Database {
        let database = try open(path: path)
        // Exclusive: no shared-memory file is needed, and a second process with the same state directory is detected.
        try database.execute("PRAGMA busy_timeout = 500; PRAGMA locking_mode = EXCLUSIVE; \(first)")
        try database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        try database.execute("PRAGMA journal_size_limit = 1048576")
        return database
    }

    /// Executes statements without parameters and discards their results: sqlite3_exec().
    package func execute(_ sql: String) throws(SQLiteError) {
        let code = sqlite3_exec(connection, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteError(connection, code: code) }
    }

    /// Prepares a statement for repeated use: sqlite3_prepare_v3().
    package func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw SQLiteError(connection, code: code) }
        return Statement(statement: statement, connection: connection)
    }

    /// The integer in the first column of the first row; `nil` if there is no row.
    package func integer(_ sql: String) throws(SQLiteError) -> Int64? {
        var statement = try prepare(sql)
        return try statement.step() ? statement.integer(0) : nil
    }

    /// The text in the first column of the first row; `nil` if there is no row.
    package func text(_ sql: String) throws(SQLiteError) -> String? {
        var statement = try prepare(sql)
        return try statement.step() ? statement.text(0) : nil
    }

    /// Whether nothing can be written: sqlite3_db_readonly(). Known once something was read.
    package var isReadOnly: Bool { sqlite3_db_readonly(connection, "main") != 0 }

    /// Whether a transaction is open. SQLite rolls it back by itself on some errors.
    package var isInTransaction: Bool { sqlite3_get_autocommit(connection) == 0 }
}

/// The version of SQLite that is loaded, such as 3.46.1 (`sqlite3_libversion`).
package var sqliteVersion: String {
    String(cString: sqlite3_libversion())
}

/// An error reported by SQLite.
package struct SQLiteError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The extended result code, such as SQLITE_IOERR_WRITE.
    package let code: Int32

    /// SQLite's message.
    package let message: String

    /// The kind of error, by what a caller can do about it.
    package enum Kind: Equatable, Sendable {
        /// No space left on the disk, or the file's size limit is reached.
        case full
        /// The file is not a database, is corrupt, or has a row that is larger than any that was written.
        case damaged
        /// A statement does not fit the database: a table is missing, or exists already.
        case statement
        /// Another connection holds the lock, the file may not be written, or the disk failed.
        case other
    }

    /// The kind of error.
    package var kind: Kind {
        switch code & 0xFF {
        case SQLITE_FULL: .full
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_TOOBIG: .damaged
        case SQLITE_ERROR: .statement
        default: .other
        }
    }

    /// Whether a file that cannot be opened or read is beyond repair: it is damaged, or has not the expected tables.
    package var showsDamage: Bool { kind == .damaged || kind == .statement }

    package var description: String { "SQLite: \(message) (\(code))" }

    /// The last error of a connection.
    init(_ connection: OpaquePointer?, code: Int32) {
        self.code = connection.map { sqlite3_extended_errcode($0) } ?? code
        let text = connection.flatMap { sqlite3_errmsg($0) } ?? sqlite3_errstr(code)
        message = text.map { String(cString: $0) } ?? "error \(code)"
    }
}
