internal import CSQLite

/// A prepared statement, finalised at the end of the value's lifetime: sqlite3_finalize().
///
/// Column indices start at 0, as in SQLite.
package struct Statement: ~Copyable {
    private let statement: OpaquePointer
    private let connection: OpaquePointer

    init(statement: OpaquePointer, connection: OpaquePointer) {
        self.statement = statement
        self.connection = connection
    }

    deinit {
        sqlite3_finalize(statement)
    }

    /// A value of a parameter.
    package enum Value {
        case integer(Int64)
        case text(String)
        case bytes([UInt8])
        case null
    }

    /// Executes the statement with values for all of its parameters, and resets it.
    package mutating func run(_ values: Value...) throws(SQLiteError) {
        bind(values)
        while try step() {}
        sqlite3_reset(statement)
    }

    /// Sets all of its parameters, before the first `step`.
    package mutating func bind(_ values: [Value]) {
        for (index, value) in values.enumerated() { bind(Int32(index) + 1, value) }
    }

    private func bind(_ index: Int32, _ value: Value) {
        switch value {
        case .integer(let number): sqlite3_bind_int64(statement, index, number)
        case .text(var text):
            text.withUTF8 {
                _ = $0.withMemoryRebound(to: CChar.self) {
                    jostle_sqlite3_bind_text(statement, index, $0.baseAddress, Int32($0.count))
                }
            }
        case .bytes(let bytes):
            bytes.withUnsafeBytes { _ = jostle_sqlite3_bind_blob(statement, index, $0.baseAddress, Int32($0.count)) }
        case .null: sqlite3_bind_null(statement, index)
        }
    }

    /// Advances to the next row: sqlite3_step().
    ///
    /// - Returns: whether there is one.
    package mutating func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code:
            let error = SQLiteError(connection, code: code)
            sqlite3_reset(statement)
            throw error
        }
    }

    // MARK: Columns

    /// Whether a column is null.
    package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

    /// An integer; 0 if the column is not an integer.
    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

    /// A text; empty if the column is null.
    package func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

    /// Bytes; empty if the column is null.
    package func bytes(_ column: Int32) -> [UInt8] {
        // The pointer must be fetched first: it determines the form in which the length is counted.
        guard let start = sqlite3_column_blob(statement, column) else { return [] }
        let count = Int(sqlite3_column_bytes(statement, column))
        return [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }
}
