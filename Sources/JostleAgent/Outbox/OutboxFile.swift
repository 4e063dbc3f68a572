internal import Glibc
internal import LinuxSystem
internal import SQLiteDatabase

/// The outbox's file in the state directory: opened, repaired if it is torn, set aside if it cannot be.
///
/// It belongs to one thread at a time: the main thread reads it before the writer starts, from then on it is the writer's.
final class OutboxFile: @unchecked Sendable {
    private let directory: String
    private let path: String
    private let asidePath: String
    private let maximumBytes: Int
    private var store: OutboxStore?

    /// Whether it was read, or is new: the outbox knows everything in it.
    private var isKnown = false

    /// Whether the file was set aside and no batch has been written to its successor.
    private var isReplaced = false

    /// The file in a directory, which is made if it does not exist.
    init(directory: String, maximumBytes: Int) {
        self.directory = directory
        path = "\(directory)/outbox.sqlite3"
        asidePath = "\(directory)/outbox-damaged.sqlite3"
        self.maximumBytes = maximumBytes
    }

    /// A damaged file that was put out of the way.
    struct SetAside: Equatable, Sendable, CustomStringConvertible {
        var name: String
        var reason: String
        /// Messages of it that could be read.
        var saved: Int

        var description: String {
            "the outbox was damaged (\(reason)): it lies in \(name) now; \(saved) messages of it were saved"
        }
    }

    /// What came of an attempt to read or write.
    enum Outcome: Sendable {
        /// The batch is in the file; the log may be long enough for a checkpoint.
        case written(isCheckpointDue: Bool)
        /// It could not be written or read, and why.
        case failed(String)
        /// Nothing was written: the file was opened, or set aside, and is new to its owner. Everything is to be written.
        case replaced(SetAside?)
        /// Nothing was written: the file was opened for the first time, and this is what it holds, or held before it was set
        /// aside.
        case opened(OutboxStore.Content, SetAside?)
    }

    // MARK: Reading

    /// Opens the file and reads what is in it. If it is damaged it is set aside, with what could be read of it in memory.
    func open() -> (content: OutboxStore.Content, setAside: SetAside?, failure: String?) {
        FileContents.makeDirectories(directory)
        // SQLite would wait for whoever opens the other end of a FIFO.
        if let failure = refusal { return (OutboxStore.Content(), nil, "\(path): \(failure)") }
        do throws(SQLiteError) {
            let opened = try OutboxStore.open(path: path, maximumBytes: maximumBytes)
            let defect = try opened.defect()
            let (content, failure) = opened.load()
            if let reason = defect ?? failure.map({ "\($0)" }) {
                // Closed before it is moved.
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

    /// Why what lies in the file's place is no file that can be read; `nil` if it is one, or nothing is there.
    private var refusal: SystemFailure? {
        do throws(SystemFailure) {
            _ = try FileContents.bytes(of: path, limit: 0)
            return nil
        } catch {
            return error.code == ENOENT ? nil : error
        }
    }

    // MARK: Writing

    /// Writes a batch, all of it or nothing.
    ///
    /// A file that is not open may hold nothing of what was written to it: it is opened again, or made, only for a batch that
    /// contains everything.
    func write(_ batch: OutboxBatch) -> Outcome {
        guard isKnown else { return openLate() }
        guard store != nil || batch.isWhole else { return .replaced(nil) }
        let isNew = store == nil
        do throws(SQLiteError) {
            if isNew {
                FileContents.makeDirectories(directory)
                store = try OutboxStore.open(path: path, maximumBytes: maximumBytes)
            }
            let isCheckpointDue = try store?.commit(batch.changes, isWhole: batch.isWhole) ?? false
            isReplaced = false
            return .written(isCheckpointDue: isCheckpointDue)
        } catch {
            if isNew ? OutboxFile.isUseless(error) : error.kind == .damaged {
                let wasReplaced = isReplaced
                let setAside = putAside("\(error)", saved: batch.messagesInMemory)
                return wasReplaced ? .failed("the new file is damaged as well") : .replaced(setAside)
            }
            // A file on a disk that came to its end may not come back by itself: it is opened again.
            if error.kind != .full { store = nil }
            return .failed("\(path): \(error)")
        }
    }

    private func openLate() -> Outcome {
        let (content, setAside, failure) = open()
        if let failure { return .failed(failure) }
        return .opened(content, setAside)
    }

    /// Takes the log into the file, which waits for the disk.
    func checkpoint() {
        do throws(SQLiteError) {
            try store?.checkpoint()
        } catch {
            // What cannot be taken in stays in the log, where it counts as well; a disk that fails shows in a commit.
        }
    }

    /// Closes the file; its log is taken into it.
    func close() {
        store = nil
    }

    // MARK: Out of the way

    /// Whether nothing can be done with a file that cannot be opened; of kind `other` is a database without these tables.
    private static func isUseless(_ error: SQLiteError) -> Bool { error.kind == .damaged || error.kind == .other }

    /// Puts the file out of the way, in the place of one that was put there before.
    private func putAside(_ reason: String, saved: Int) -> SetAside {
        store = nil
        isKnown = true
        isReplaced = true
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        if rename(path, asidePath) != 0 { unlink(path) }
        return SetAside(name: asidePath, reason: reason, saved: saved)
    }
}

/// Changes on their way to the file.
struct OutboxBatch: Sendable {
    var changes: OutboxStore.Changes

    /// Whether it contains everything that the file is to have: it may go into a new one.
    var isWhole = false

    /// Messages that are known whatever becomes of the file.
    var messagesInMemory = 0
}
