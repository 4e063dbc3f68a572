internal import Glibc
internal import LinuxSystem
internal import SQLiteDatabase

/// The outbox's file in the state directory. It opens the file, and sets it aside if it is damaged.
///
/// Used by one thread at a time: the main thread until the writer starts, then the writer's thread.
final class OutboxFile: @unchecked Sendable {
    private let directory: String
    private let path: String
    private let asidePath: String
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
        asidePath = "\(directory)/outbox-damaged.sqlite3"
        self.maximumBytes = maximumBytes
    }

    /// A damaged file that was moved aside.
    struct SetAside: Equatable, Sendable, CustomStringConvertible {
        var name: String
        var reason: String
        /// The number of messages recovered from it.
        var saved: Int

        var description: String {
            "the outbox was damaged (\(reason)) and was moved to \(name); \(saved) messages were recovered"
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
        /// Nothing was written: the file was opened for the first time. This is its content, or what it contained
        /// before it was set aside.
        case opened(OutboxStore.Content, SetAside?)
    }

    // MARK: Reading

    /// Opens the file and reads it. A damaged file is set aside; the messages that could be read are returned.
    func open() -> (content: OutboxStore.Content, setAside: SetAside?, failure: String?) {
        FileContents.makeDirectories(directory)
        // SQLite would block on a FIFO until the other end is opened.
        if let failure = refusal { return (OutboxStore.Content(), nil, "\(path): \(failure)") }
        do throws(SQLiteError) {
            let opened = try OutboxStore.open(path: path, maximumBytes: maximumBytes)
            let defect = try opened.integrityProblem()
            let (content, failure) = opened.load()
            if let reason = defect ?? failure.map({ "\($0)" }) {
                // It must be closed before it is moved.
                _ = consume opened
                return (content, putAside(reason, saved: content.messages.count), nil)
            }
            store = consume opened
            isKnown = true
            return (content, nil, nil)
        } catch {
            guard OutboxFile.isUseless(error) else { return (OutboxStore.Content(), nil, "\(path): \(error)") }
            return (OutboxStore.Content(), putAside("\(error)", saved: 0), nil)
        }
    }

    /// Why the path is not a readable file; `nil` if it is one, or if nothing exists there.
    private var refusal: SystemFailure? {
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
                store = try OutboxStore.open(path: path, maximumBytes: maximumBytes)
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
        let (content, setAside, failure) = open()
        if let failure { return .failed(failure) }
        return .opened(content, setAside)
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

    /// Whether a file that cannot be opened is beyond repair. Kind `other` is a database without the expected tables.
    private static func isUseless(_ error: SQLiteError) -> Bool { error.kind == .damaged || error.kind == .other }

    /// Moves the file aside, replacing one that was set aside before.
    private func putAside(_ reason: String, saved: Int) -> SetAside {
        store = nil
        isKnown = true
        isReplaced = true
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        if rename(path, asidePath) != 0 { unlink(path) }
        return SetAside(name: asidePath, reason: reason, saved: saved)
    }
}

/// Changes to be written to the file.
struct OutboxBatch: Sendable {
    var changes: OutboxStore.Changes

    /// Whether the batch contains everything that the file should have, so that it can be written to a new file.
    var isComplete = false

    /// The number of messages in memory, which survive the loss of the file.
    var messagesInMemory = 0
}
