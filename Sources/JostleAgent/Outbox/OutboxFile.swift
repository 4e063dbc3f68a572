internal import Glibc
internal import JostleRuntime
internal import LinuxSystem
internal import SQLiteDatabase

/// The outbox's file in the state directory. It opens the file, and sets it aside if it is damaged or of a later
/// version of the program.
///
/// Used by one thread at a time: the main thread until the writer starts, then the writer's thread.
package final class OutboxFile: @unchecked Sendable {
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

    /// A file that was opened and read.
    package struct OpenResult: Sendable {
        /// What is in the file, or what could be recovered from it.
        var content = OutboxContent()
        /// Why the file was set aside, for the log; `nil` if it was not.
        var setAside: String?
        /// Messages in `content` that were in a file which an earlier version of the program had set aside.
        var returned = 0
        /// What is wrong with a file that was set aside before.
        var warning: String?
        /// Why the file cannot be opened.
        var failure: String?

        /// What is to be logged.
        func log(_ write: (Log.Level, String) -> Void) {
            if let setAside { write(.error, setAside) }
            if let warning { write(.warning, warning) }
            if returned > 0 {
                write(.info, "\(returned) messages of the outbox that an earlier version had set aside are sent now")
            }
        }
    }

    /// The outcome of an attempt to write.
    package enum Outcome: Sendable {
        /// The batch is in the file. The log may be long enough for a checkpoint.
        case written(isCheckpointDue: Bool)
        /// The file could not be written or read, for this reason.
        case failed(String)
        /// Nothing was written: the file was closed, or set aside for this reason. The next batch must contain
        /// everything.
        case replaced(String?)
        /// Nothing was written: the file was opened for the first time.
        case opened(OpenResult)
    }

    // MARK: Reading

    /// Opens the file and reads it. A damaged file is set aside; the messages that could be read are returned.
    func open() -> OpenResult {
        FileContents.makeDirectories(directory)
        // SQLite would block on a FIFO until the other end is opened.
        if let failure = DatabaseFile.refusal(of: path) { return OpenResult(failure: "\(path): \(failure)") }
        do {
            let opened = try OutboxStore(path: path, maximumBytes: maximumBytes)
            if let version = try opened.laterVersion() {
                // It must be closed before it is moved.
                _ = consume opened
                return setAside(laterVersion: version)
            }
            var (content, damage) = try opened.read()
            if damage == nil, opened.isReadOnly, access(path, W_OK) == 0 {
                damage = "its header says that it cannot be written"
            }
            if let damage {
                _ = consume opened
                return OpenResult(content: content, setAside: setAside(damage, saved: content.messages.count))
            }
            store = consume opened
            isKnown = true
            return takeBack(before: content)
        } catch {
            guard error.showsDamage else { return OpenResult(failure: "\(path): \(error)") }
            return OpenResult(setAside: setAside("\(error)", saved: 0))
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
                let opened = try OutboxStore(path: path, maximumBytes: maximumBytes)
                guard try opened.laterVersion() == nil else {
                    // Another program has put its file there.
                    _ = consume opened
                    isKnown = false
                    return openLate()
                }
                store = consume opened
            }
            let isCheckpointDue = try store?.commit(batch) ?? false
            isReplaced = false
            return .written(isCheckpointDue: isCheckpointDue)
        } catch {
            if isNew ? error.showsDamage : error.kind == .damaged {
                let wasReplaced = isReplaced
                let reason = setAside("\(error)", saved: batch.messagesInMemory)
                return wasReplaced ? .failed("the new file is damaged as well") : .replaced(reason)
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

    // MARK: Damaged files

    private var damagedPath: String { "\(directory)/outbox-damaged.sqlite3" }

    /// Moves the damaged file and its log aside, and returns what is to be logged. So many messages of it were saved.
    private func setAside(_ damage: String, saved: Int) -> String {
        store = nil
        isKnown = true
        isReplaced = true
        let isMoved = DatabaseFile.setAside(path, as: damagedPath)
        return """
            the outbox was damaged (\(damage)) and was \(isMoved ? "" : "deleted, because it cannot be ")moved to \
            \(damagedPath); \(saved) messages were recovered
            """
    }

    // MARK: Files of other versions

    /// Where a file of a later version is kept until that version is installed again.
    private func asidePath(version: Int64) -> String { "\(directory)/outbox-version-\(version).sqlite3" }

    /// Moves a file of a later version aside, with its log. It replaces none, because no message in them may be lost.
    /// One that cannot be moved stays, and the outbox lives in memory.
    private func setAside(laterVersion version: Int64) -> OpenResult {
        let aside = asidePath(version: version)
        if access(aside, F_OK) == 0 {
            return OpenResult(
                failure: "\(path) is of a later version of Jostle (\(version)), and there is one like it already: move "
                    + "\(aside) away")
        }
        if let failure = DatabaseFile.move(path, to: aside) {
            return OpenResult(
                failure:
                    "\(path) is of a later version of Jostle (\(version)) and cannot be moved to \(aside): \(failure)")
        }
        isKnown = true
        isReplaced = true
        return OpenResult(
            setAside: """
                the outbox was written by a later version of Jostle (its tables have version \(version), this one knows \
                \(OutboxStore.version)) and was moved to \(aside); its messages are sent when a version that knows them \
                is installed
                """)
    }

    /// Puts the messages of the file that an earlier version has set aside before those of the file. It is deleted when
    /// its messages are on the disk; until then they stay in it.
    private func takeBack(before content: OutboxContent) -> OpenResult {
        let aside = asidePath(version: OutboxStore.version)
        guard access(aside, F_OK) == 0 else { return OpenResult(content: content) }
        if let failure = DatabaseFile.refusal(of: aside) {
            return OpenResult(content: content, warning: "\(aside): \(failure)")
        }
        do {
            let (earlier, damage) = try read(aside)
            var together = earlier
            let rows = earlier.messages + content.messages
            together.messages = rows.enumerated().map { (Int64($0.offset) + 1, $0.element.message) }
            together.gestures += content.gestures.filter { !earlier.gestures.contains($0) }
            together.dropped += content.dropped
            together.expired += content.expired
            let batch = OutboxBatch(
                added: together.messages, gestures: together.gestures.map { ($0, true) },
                totals: (together.dropped, together.expired), isComplete: true)
            try store?.commit(batch, waits: true)
            var opened = OpenResult(content: together, returned: earlier.messages.count)
            guard let damage else {
                DatabaseFile.delete(aside)
                return opened
            }
            let isMoved = DatabaseFile.setAside(aside, as: damagedPath)
            opened.warning =
                "\(aside) was damaged (\(damage)) and was \(isMoved ? "moved to \(damagedPath)" : "deleted"); "
                + "\(earlier.messages.count) messages were recovered"
            return opened
        } catch {
            return OpenResult(
                content: content, warning: "\(aside): \(error); its messages stay in it until the next start")
        }
    }

    /// Reads a file that was set aside. Returns what could be read of it, and what is damaged.
    private func read(_ path: String) throws(SQLiteError) -> (OutboxContent, damage: String?) {
        do {
            return try OutboxStore(path: path, maximumBytes: maximumBytes).read()
        } catch {
            guard error.showsDamage else { throw error }
            return (OutboxContent(), "\(error)")
        }
    }
}
