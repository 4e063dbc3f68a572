internal import CSQLite

/// The version of SQLite that is loaded, such as 3.46.1 (`sqlite3_libversion`).
package var sqliteVersion: String {
    String(cString: sqlite3_libversion())
}
