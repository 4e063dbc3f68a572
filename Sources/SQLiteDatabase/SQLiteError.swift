internal import CSQLite

/// Why SQLite could not do something.
package struct SQLiteError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The extended result code: SQLITE_IOERR_WRITE, say.
    package let code: Int32

    /// What SQLite says of it.
    package let message: String

    /// What it means for whoever keeps something there.
    package enum Kind: Equatable, Sendable {
        /// No room on the disk, or in the file's limit.
        case full
        /// Another connection has it.
        case busy
        /// The file is no database, or a damaged one.
        case damaged
        /// It may not be read, written or made there.
        case denied
        /// The disk failed.
        case inputOutput
        case other
    }

    /// What it means.
    package var kind: Kind {
        switch code & 0xFF {
        case SQLITE_FULL: .full
        case SQLITE_BUSY, SQLITE_LOCKED: .busy
        case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
        case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH: .denied
        case SQLITE_IOERR: .inputOutput
        default: .other
        }
    }

    package var description: String { "SQLite: \(message) (\(code))" }

    /// Makes an error that the owner of a database found: its content is not what it should be.
    package init(damage message: String) {
        code = SQLITE_CORRUPT
        self.message = message
    }

    /// The last error of a connection.
    init(_ connection: OpaquePointer?, code: Int32) {
        self.code = connection.map { sqlite3_extended_errcode($0) } ?? code
        let text = connection.flatMap { sqlite3_errmsg($0) } ?? sqlite3_errstr(code)
        message = text.map { String(cString: $0) } ?? "error \(code)"
    }
}
