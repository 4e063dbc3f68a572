internal import Glibc
internal import JostleRuntime
internal import LinuxSystem
internal import SQLiteDatabase

/// The outbox's file in the state directory. It opens the file, and sets it aside if it is damaged or of a later
/// version of the program.
///
/// Used by one thread at a time: the main thread until the writer starts, then the writer's thread.
final class OutboxFile: @unchecked Sendable {
    private let directory: String
    let path: String
    private let maximumBytes: Int
    private var store: OutboxStore?

    /// Whether the file was read or is new, so that the outbox has everything in it.
    private var isKnown = false

    /// Whether the file was set aside and its replacement has not been written yet.
    private var isReplaced = false

    /// Uses `directory`, which is created if it does not exist.
    init(directory: String, maximumBytes: Int) {
        self.directory = directory
        path = "\(directory)/outbox.sqlite3"
        self.maximumBytes = maximumBytes
    }

    /// A file that was moved aside.
    struct QuarantinedFile: Equatable, Sendable, CustomStringConvertible {
        enum Reason: Equatable, Sendable {
            /// The file is damaged. So many messages were recovered from it.
            case damaged(String, saved: Int)
            /// A later version of the program wrote the file. Its messages stay in it.
            case laterVersion(Int64)
        }

        var name: String
        var reason: Reason
        /// Whether the file was deleted, because it could not be moved.
        var isDeleted = false

        var description: String {
            switch reason {
            case .damaged(let damage, let saved):
                """
                the outbox was damaged (\(damage)) and was \(isDeleted ? "deleted, because it cannot be " : "")moved to \
                \(name); \(saved) messages were recovered
                """
            case .laterVersion(let version):
                """
                the outbox was written by a later version of Jostle (its tables have version \(version), this one knows \
                \(OutboxDatabase.currentVersion)) and was moved to \(name); its messages are sent when a version that \
                knows them is installed
                """
            }
        }
    }

    /// A file that was opened and read.
    struct OpenResult: Sendable {
        /// What is in the file, or what could be recovered from it.
        var content = OutboxContent()
        var setAside: QuarantinedFile?
        /// Messages in `content` that were in files which an earlier version of the program had set aside.
        var returned = 0
        /// What is wrong with this file, or with one that was set aside.
        var warnings: [String] = []
        /// Why the file cannot be opened.
        var failure: String?

        /// What is to be logged.
        func log(_ write: (Log.Level, String) -> Void) {
            if let setAside { write(.error, setAside.description) }
            for warning in warnings { write(.warning, warning) }
            if returned > 0 {
                write(.info, "\(returned) messages of the outbox that an earlier version had set aside are sent now")
            }
        }
    }

    /// The outcome of an attempt to write.
    enum Outcome: Sendable {
        /// The batch is in the file. The log may be long enough for a checkpoint.
        case written(isCheckpointDue: Bool)
        /// The file could not be written or read, for this reason.
        case failed(String)
        /// Nothing was written: the file was closed or set aside. The next batch must contain everything.
        case replaced(QuarantinedFile?)
        /// Nothing was written: the file was opened for the first time.
        case opened(OpenResult)
    }

    // MARK: Reading

    /// Opens the file and reads it. A damaged file is set aside; the messages that could be read are returned.
    func open() -> OpenResult {
        FileContents.makeDirectories(directory)
        // SQLite would block on a FIFO until the other end is opened.
        if let failure = OutboxFile.refusal(of: path) { return OpenResult(failure: "\(path): \(failure)") }
        do {
            let file = try OutboxDatabase.open(path: path, maximumBytes: maximumBytes)
            guard file.isReadable else {
                let version = file.version
                // It must be closed before it is moved.
                _ = consume file
                return quarantine(laterVersion: version)
            }
            let hasWrongVersion = file.hasWrongVersion
            let (content, found) = try OutboxFile.read(file)
            var damage = found
            if damage == nil, file.database.isReadOnly, access(path, W_OK) == 0 {
                damage = "its header says that it cannot be written"
            }
            if let damage {
                _ = consume file
                return OpenResult(content: content, setAside: quarantine(damage, saved: content.messages.count))
            }
            var opened = OpenResult(content: content)
            do {
                try file.makePagesSmall(maximumBytes: maximumBytes)
            } catch {
                opened.warnings = ["\(path): its pages stay large, so that events write more than necessary: \(error)"]
            }
            let logged = try OutboxDatabase.withLog(file, path: path, maximumBytes: maximumBytes)
            store = try OutboxStore.open(logged, content: content)
            isKnown = true
            if hasWrongVersion {
                // The next checkpoint corrects it.
                opened.warnings += ["\(path): the version of the tables was damaged; the messages are as they were"]
            }
            takeBackFilesSetAside(&opened)
            return opened
        } catch {
            guard OutboxFile.isUseless(error) else { return OpenResult(failure: "\(path): \(error)") }
            return OpenResult(setAside: quarantine("\(error)", saved: 0))
        }
    }

    /// Reads an open file. Returns what could be read of it, and what is damaged.
    ///
    /// - Throws: an error that says nothing about the file, such as one of the disk.
    static func read(_ file: borrowing OutboxDatabase) throws(SQLiteError) -> (OutboxContent, damage: String?) {
        let defect = try file.integrityProblem()
        let (content, failure) = file.load()
        if let failure, !isUseless(failure) { throw failure }
        if let damage = defect ?? failure.map({ "\($0)" }) { return (content, damage) }
        let rows = content.damagedRows
        return (content, rows == 0 ? nil : "rows that are not as they were written: \(rows)")
    }

    /// Why a path is not a readable file; `nil` if it is one, or if nothing exists there.
    static func refusal(of path: String) -> SystemFailure? {
        do {
            _ = try FileContents.bytes(of: path, limit: 0)
            return nil
        } catch {
            return error.code == ENOENT ? nil : error
        }
    }

    // MARK: Writing

    /// Writes a batch as a whole, or not at all.
    ///
    /// While the file is closed, its content may no longer be what was written to it. So it is opened again, or
    /// created, only for a batch that contains everything.
    func write(_ batch: OutboxBatch) -> Outcome {
        guard isKnown else { return openLate() }
        guard store != nil || batch.isComplete else { return .replaced(nil) }
        let isNew = store == nil
        do {
            if isNew {
                FileContents.makeDirectories(directory)
                let file = try OutboxDatabase.open(path: path, maximumBytes: maximumBytes)
                guard file.version == 0 || file.version == OutboxDatabase.currentVersion else {
                    // Another program has put its file there.
                    _ = consume file
                    isKnown = false
                    return openLate()
                }
                store = try OutboxStore.open(file, content: OutboxContent())
            }
            let isCheckpointDue = try store?.commit(batch) ?? false
            isReplaced = false
            return .written(isCheckpointDue: isCheckpointDue)
        } catch {
            if isNew ? OutboxFile.isUseless(error) : error.kind == .damaged {
                let wasReplaced = isReplaced
                let setAside = quarantine("\(error)", saved: batch.messagesInMemory)
                return wasReplaced ? .failed("the new file is damaged as well") : .replaced(setAside)
            }
            // After a disk error, the file may work only after it was opened again.
            if error.kind != .full { store = nil }
            return .failed("\(path): \(error)")
        }
    }

    private func openLate() -> Outcome {
        let opened = open()
        if let failure = opened.failure { return .failed(failure) }
        return .opened(opened)
    }

    /// Checkpoints the log. This waits for the disk.
    func checkpoint() {
        do {
            try store?.checkpoint()
        } catch {
            // After a failed checkpoint the log keeps its contents, and they remain valid. A failing disk is noticed at
            // the next commit.
        }
    }

    /// Closes the file, which checkpoints the log.
    func close() {
        store = nil
    }

    // MARK: Damage

    /// Whether a file that cannot be opened or read is beyond repair: it is damaged, or has not the expected tables.
    private static func isUseless(_ error: SQLiteError) -> Bool { error.kind == .damaged || error.kind == .statement }
}

// Files that are set aside: damaged ones, and those of a later version, whose messages come back after the next upgrade.
extension OutboxFile {
    // MARK: Damaged files

    private var damagedPath: String { "\(directory)/outbox-damaged.sqlite3" }

    /// Moves the damaged file and its log aside, replacing one that was set aside before. What cannot be moved is
    /// deleted.
    private func quarantine(_ reason: String, saved: Int) -> QuarantinedFile {
        store = nil
        isKnown = true
        isReplaced = true
        let isMoved = moveDamaged(path)
        return QuarantinedFile(name: damagedPath, reason: .damaged(reason, saved: saved), isDeleted: !isMoved)
    }

    /// Moves a damaged file to where the last one is. Returns whether that succeeded; otherwise the file is deleted.
    private func moveDamaged(_ path: String) -> Bool {
        if OutboxFile.move(path, to: damagedPath) == nil { return true }
        OutboxFile.delete(path)
        return false
    }

    // MARK: Files of other versions

    /// The name of a file of a later version. The number tells several of one version apart.
    private func asidePath(version: Int64, number: Int) -> String {
        "\(directory)/outbox-version-\(version)\(number == 1 ? "" : "-\(number)").sqlite3"
    }

    private static let filesSetAside = 1...9

    /// Moves a file of a later version aside, with its log. One that cannot be moved stays, and the outbox lives in
    /// memory.
    private func quarantine(laterVersion version: Int64) -> OpenResult {
        let numbers = OutboxFile.filesSetAside
        let free = numbers.first { access(asidePath(version: version, number: $0), F_OK) != 0 }
        guard let free else {
            let last = asidePath(version: version, number: numbers.upperBound)
            return OpenResult(
                failure: "\(path) is of a later version of Jostle (\(version)), and there are \(numbers.count) files "
                    + "like it already, up to \(last): move them away")
        }
        let aside = asidePath(version: version, number: free)
        if let failure = OutboxFile.move(path, to: aside) {
            return OpenResult(
                failure:
                    "\(path) is of a later version of Jostle (\(version)) and cannot be moved to \(aside): \(failure)")
        }
        store = nil
        isKnown = true
        isReplaced = true
        return OpenResult(setAside: QuarantinedFile(name: aside, reason: .laterVersion(version)))
    }

    /// Puts the messages of files that an earlier version has set aside, and that this version can read, before those
    /// of the file. A file set aside is deleted when its messages are on the disk; until then they stay in it.
    private func takeBackFilesSetAside(_ opened: inout OpenResult) {
        for version in 1...OutboxDatabase.currentVersion {
            // The later a file was set aside, the larger is its number.
            for number in OutboxFile.filesSetAside.reversed() {
                let aside = asidePath(version: version, number: number)
                guard access(aside, F_OK) == 0 else { continue }
                do {
                    try takeBack(aside, &opened)
                } catch {
                    opened.warnings.append("\(aside): \(error); its messages stay in it until the next start")
                }
            }
        }
    }

    private func takeBack(_ aside: String, _ opened: inout OpenResult) throws(SQLiteError) {
        if let failure = OutboxFile.refusal(of: aside) {
            opened.warnings.append("\(aside): \(failure)")
            return
        }
        guard let (earlier, damage) = try contents(of: aside) else { return }
        var together = opened.content
        let rows = earlier.messages + together.messages
        together.messages = rows.enumerated().map { (Int64($0.offset) + 1, $0.element.message) }
        together.gestures += earlier.gestures.filter { !together.gestures.contains($0) }
        together.dropped += earlier.dropped
        together.expired += earlier.expired
        try store?.commitDurably(together)
        opened.content = together
        opened.returned += earlier.messages.count
        guard let damage else { return OutboxFile.delete(aside) }
        let isMoved = moveDamaged(aside)
        opened.warnings.append(
            "\(aside) was damaged (\(damage)) and was \(isMoved ? "moved to \(damagedPath)" : "deleted"); "
                + "\(earlier.messages.count) messages were recovered")
    }

    /// What is in a file that was set aside, and what is damaged; `nil` if another version must read it.
    private func contents(of path: String) throws(SQLiteError) -> (OutboxContent, damage: String?)? {
        do {
            let file = try OutboxDatabase.open(path: path, maximumBytes: maximumBytes)
            guard file.isReadable else { return nil }
            return try OutboxFile.read(file)
        } catch {
            guard OutboxFile.isUseless(error) else { throw error }
            return (OutboxContent(), "\(error)")
        }
    }

    // MARK: Moving

    /// Moves a file and its log. The log goes first: without its file it would be lost.
    ///
    /// - Returns: why the file cannot be moved; then it is where it was.
    static func move(_ path: String, to aside: String) -> SystemFailure? {
        unlink(path + "-shm")
        let hasLog = access(path + "-wal", F_OK) == 0
        if hasLog, rename(path + "-wal", aside + "-wal") != 0 { return SystemFailure(code: errno) }
        guard rename(path, aside) != 0 else { return nil }
        let failure = SystemFailure(code: errno)
        if hasLog { rename(aside + "-wal", path + "-wal") }
        return failure
    }

    private static func delete(_ path: String) {
        // A log without its file would be read into the next file of this name.
        for suffix in ["-wal", "-shm", ""] { unlink(path + suffix) }
    }
}
