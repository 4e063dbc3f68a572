internal import CSQLite

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
