import Foundation
import SQLiteDatabase
import Testing

/// Requirement: bound values are returned unchanged, and errors are classified. Uses real files.
@Suite struct DatabaseTests {
    private let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("jostle-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    private func path(_ name: String = "a.sqlite3") -> String { directory.appendingPathComponent(name).path }

    private func remove() { try? FileManager.default.removeItem(at: directory) }

    @Test func returnsBoundValuesUnchanged() throws {
        defer { remove() }
        let database = try Database.open(path: path())
        try database.execute("CREATE TABLE t(a INTEGER, b TEXT, c BLOB, d TEXT, e TEXT)")
        var insert = try database.prepare("INSERT INTO t VALUES(?,?,?,?,?)")
        try insert.run(.integer(.min), .text("wört 'quoted'\n"), .bytes([0, 255, 7]), .null, .text(""))
        try insert.run(.null, .text("wört"), .bytes([]), .null, .text(""))

        var rows = try database.prepare("SELECT * FROM t ORDER BY rowid")
        try #require(try rows.step())
        let first = (rows.integer(0), rows.text(1), rows.bytes(2), rows.isNull(3), rows.text(4), rows.isNull(4))
        #expect(first.0 == .min && first.1 == "wört 'quoted'\n" && first.2 == [0, 255, 7])
        #expect(first.3 && first.4.isEmpty && !first.5)
        try #require(try rows.step())
        let second = (rows.isNull(0), rows.bytes(2), rows.isNull(2))
        #expect(second.0 && second.1.isEmpty && !second.2)
        let hasMore = try rows.step()
        #expect(!hasMore)
        let count = try database.integer("SELECT count(*) FROM t")
        let nobody = try database.integer("SELECT a FROM t WHERE a = 5")
        #expect(count == 2 && nobody == nil)
    }

    @Test func classifiesErrors() throws {
        defer { remove() }
        #expect(kind { _ = try Database.open(path: path("none/a.sqlite3")) } == .other)
        try Data("no database at all, but long enough to look at".utf8).write(to: URL(fileURLWithPath: path("text")))
        #expect(
            kind { _ = try Database.open(path: path("text")).integer("SELECT count(*) FROM sqlite_master") } == .damaged
        )
        #expect(kind { try Database.open(path: path()).execute("NO SUCH WORD") } == .statement)

        let full = try Database.open(path: path("full"))
        try full.execute("PRAGMA max_page_count = 4; CREATE TABLE t(a)")
        #expect(kind { try full.execute("INSERT INTO t VALUES(zeroblob(100000))") } == .full)

        let first = try Database.open(path: path("busy"))
        try first.execute("BEGIN EXCLUSIVE")
        let second = try Database.open(path: path("busy"))
        #expect(kind { try second.execute("CREATE TABLE t(a)") } == .other)
    }

    @Test func aRolledBackTransactionChangesNothing() throws {
        defer { remove() }
        let database = try Database.open(path: path())
        try database.execute("CREATE TABLE t(a); BEGIN; INSERT INTO t VALUES(1)")
        let during = database.isInTransaction
        try database.execute("ROLLBACK")
        let after = database.isInTransaction
        let count = try database.integer("SELECT count(*) FROM t")
        #expect(during && !after && count == 0)
    }

    private func kind(_ body: () throws -> Void) -> SQLiteError.Kind? {
        do {
            try body()
            return nil
        } catch {
            return (error as? SQLiteError)?.kind
        }
    }
}
