internal import Glibc
internal import JostleMessages
internal import LinuxSystem
internal import SQLiteDatabase

/// The outbox's file in the state directory. It opens the file, and sets it aside if it is damaged or of a later
/// version of the program.
///
/// Used by one thread at a time: the main thread until the writer starts, then the writer's thread.
final class OutboxFile: @unchecked Sendable {
    let directory: String
    let path: String
    let maximumBytes: Int
    var store: OutboxStore?

    /// Whether the file was read or is new, so that the outbox has everything in it.
    var isKnown = false

    /// Whether the file was set aside and its replacement has not been written yet.
    var isReplaced = false

    /// Uses `directory`, which is created if it does not exist.
    init(directory: String, maximumBytes: Int) {
        self.directory = directory
        path = "\(directory)/outbox.sqlite3"
        self.maximumBytes = maximumBytes
    }

    /// A file that was moved aside.
    struct SetAside: Equatable, Sendable, CustomStringConvertible {
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
    struct Opened: Sendable {
        /// What is in the file, or what could be recovered from it.
        var content = OutboxContent()
        var setAside: SetAside?
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
        case replaced(SetAside?)
        /// Nothing was written: the file was opened for the first time.
        case opened(Opened)
    }

    // MARK: Reading

    /// Opens the file and reads it. A damaged file is set aside; the messages that could be read are returned.
    func open() -> Opened {
        FileContents.makeDirectories(directory)
        // SQLite would block on a FIFO until the other end is opened.
        if let failure = OutboxFile.refusal(of: path) { return Opened(failure: "\(path): \(failure)") }
        do throws(SQLiteError) {
            let file = try OutboxDatabase.open(path: path, maximumBytes: maximumBytes)
            guard file.isReadable else {
                let version = file.version
                // It must be closed before it is moved.
                _ = consume file
                return putAside(laterVersion: version)
            }
            let hasWrongVersion = file.hasWrongVersion
            let (content, found) = try OutboxFile.read(file)
            var damage = found
            if damage == nil, file.database.isReadOnly, access(path, W_OK) == 0 {
                damage = "its header says that it cannot be written"
            }
            if let damage {
                _ = consume file
                return Opened(content: content, setAside: putAside(damage, saved: content.messages.count))
            }
            var opened = Opened(content: content)
            do throws(SQLiteError) {
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
            guard OutboxFile.isUseless(error) else { return Opened(failure: "\(path): \(error)") }
            return Opened(setAside: putAside("\(error)", saved: 0))
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
        do throws(SystemFailure) {
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
        do throws(SQLiteError) {
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
            let isCheckpointDue = try store?.commit(batch.changes, isComplete: batch.isComplete) ?? false
            isReplaced = false
            return .written(isCheckpointDue: isCheckpointDue)
        } catch {
            if isNew ? OutboxFile.isUseless(error) : error.kind == .damaged {
                let wasReplaced = isReplaced
                let setAside = putAside("\(error)", saved: batch.messagesInMemory)
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
        do throws(SQLiteError) {
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
    static func isUseless(_ error: SQLiteError) -> Bool { error.kind == .damaged || error.kind == .statement }
}

/// Changes to be written to the file.
struct OutboxBatch: Sendable {
    var changes: OutboxStore.Changes

    /// Whether the batch contains everything that the file should have, so that it can be written to a new file.
    var isComplete = false

    /// The number of messages in memory, which survive the loss of the file.
    var messagesInMemory = 0
}
