internal import Documents
internal import LinuxSystem
internal import SQLiteDatabase

/// The file of the history in the state directory. It opens the file, and sets it aside if it is damaged or no history.
///
/// Used by one thread at a time: that of a `StateWriter`.
final class HistoryFile: @unchecked Sendable {
    static let name = "page-history.sqlite3"

    private let directory: String
    private let maximumAge: Int64
    private let maximumBytes: Int64
    private var store: HistoryStore?
    private var path: String { "\(directory)/\(HistoryFile.name)" }

    /// It keeps rows for `maximumAge` seconds.
    init(directory: String, maximumAge: Double, maximumBytes: Int) {
        self.directory = directory
        self.maximumAge = Int64(1000 * maximumAge)
        self.maximumBytes = Int64(maximumBytes)
    }

    /// What became of an attempt.
    struct Outcome: Sendable {
        /// Why the file cannot be written or read; `nil` if it can.
        var failure: String?
        /// That a file was set aside, and why.
        var notice: String?
    }

    /// Writes rows as a whole, or none of them.
    func write(_ rows: [HistoryRow], at milliseconds: Int64) -> Outcome {
        use { () throws(SQLiteError) in try store?.write(rows, at: milliseconds) }
    }

    /// What a page asks for.
    struct Question: Sendable {
        var board: String
        /// Milliseconds since 1970; the end is not included.
        var times: Range<Int64>
        /// Rows that are not in the file yet.
        var more: [HistoryRow] = []
        /// Why the history has a gap at its end; `nil` if it has none.
        var problem: String?
    }

    /// Answers a question: a JSON object.
    func answer(_ question: Question, at milliseconds: Int64) -> (bytes: [UInt8], outcome: Outcome) {
        let times = question.times.clamped(to: (milliseconds - maximumAge)..<Int64.max)
        var found: (rows: [[UInt8]], next: Int64?) = ([], nil)
        let outcome = use { () throws(SQLiteError) in
            if let rows = try store?.rows(of: question.board, times) { found = rows }
        }
        if found.next == nil {
            found.rows += question.more.filter { $0.time < times.upperBound }
                .map { HistoryRow.json(time: $0.time, kind: $0.kind.rawValue, content: $0.content) }
        }
        var object = JSONObject()
        object.add("from", times.lowerBound)
        object.add("to", times.upperBound)
        object.add("more", found.next != nil)
        object.add("next", found.next)
        object.add("problem", outcome.failure ?? question.problem)
        let rows = Array(found.rows.joined(separator: [UInt8(ascii: ",")]))
        return (Array("{\(object.fields),\"rows\":[".utf8) + rows + Array("]}".utf8), outcome)
    }

    /// Closes the file, which checkpoints its log.
    func close() { store = nil }

    /// Opens the file if it is not open, and uses it; a new one if it had to be set aside.
    private func use(_ body: () throws(SQLiteError) -> Void) -> Outcome {
        var outcome = Outcome()
        for _ in 0..<2 {
            var damage: String
            do {
                if try open(&outcome) { return outcome }
                guard store == nil else {
                    try body()
                    outcome.failure = nil
                    return outcome
                }
                damage = "it is no history of this version of Jostle"
            } catch {
                outcome.failure = "\(path): \(error)"
                let isDamaged = store == nil ? error.showsDamage : error.kind == .damaged
                // After a disk error, the file may work only after it was opened again.
                if error.kind != .full { store = nil }
                guard isDamaged, outcome.notice == nil else { return outcome }
                damage = "\(error)"
            }
            let aside = "\(path).bad"
            let isMoved = DatabaseFile.setAside(path, as: aside)
            outcome.notice =
                "the history cannot be used (\(damage)) and was "
                + (isMoved ? "moved to \(aside)" : "deleted, because it cannot be moved to \(aside)")
        }
        return outcome
    }

    /// Opens the file unless it is open, or is foreign. Returns whether that failed.
    private func open(_ outcome: inout Outcome) throws(SQLiteError) -> Bool {
        guard store == nil else { return false }
        FileContents.makeDirectories(directory)
        if let failure = DatabaseFile.refusal(of: path) {
            outcome.failure = "\(path): \(failure)"
            return true
        }
        let opened = try HistoryStore(path: path, maximumAge: maximumAge, maximumBytes: maximumBytes)
        if !opened.isForeign { store = consume opened }
        return false
    }
}
