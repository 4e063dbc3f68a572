internal import Glibc
internal import JostleMessages
internal import LinuxSystem
internal import SQLiteDatabase

/// The outbox's file in the state directory. It opens the file, and sets it aside if it is damaged or of a later
/// version of the program.
///
/// Used by one thread at a time: the main thread until the writer starts, then the writer's thread.
final class OutboxFile: @unchecked Sendable {
    private let directory: String
    private let path: String
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
    struct SetAside: Equatable, Sendable, CustomStringConvertible {
        enum Reason: Equatable, Sendable {
            /// The file is damaged. So many messages were recovered from it.
            case damaged(String, saved: Int)
            /// A later version of the program wrote the file. Its messages stay in it.
            case laterVersion(Int64)
        }

        var name: String
        var reason: Reason

        var description: String {
            switch reason {
            case .damaged(let damage, let saved):
                "the outbox was damaged (\(damage)) and was moved to \(name); \(saved) messages were recovered"
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
        /// Why the file cannot be opened.
        var failure: String?

        /// What is to be logged.
        func log(_ write: (Log.Level, String) -> Void) {
            if let setAside { write(.error, setAside.description) }
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
                return Opened(setAside: putAside(laterVersion: version))
            }
            let defect = try file.integrityProblem()
            let (content, failure) = file.load()
            if let damage = defect ?? failure.map({ "\($0)" }) ?? OutboxFile.damage(in: content) {
                _ = consume file
                return Opened(content: content, setAside: putAside(damage, saved: content.messages.count))
            }
            store = try OutboxStore.open(file, content: content)
            isKnown = true
            var opened = Opened(content: content)
            takeBackFilesSetAside(&opened)
            return opened
        } catch {
            guard OutboxFile.isUseless(error) else { return Opened(failure: "\(path): \(error)") }
            return Opened(setAside: putAside("\(error)", saved: 0))
        }
    }

    private static func damage(in content: OutboxContent) -> String? {
        content.damagedRows == 0 ? nil : "rows that are not as they were written: \(content.damagedRows)"
    }

    /// Why a path is not a readable file; `nil` if it is one, or if nothing exists there.
    private static func refusal(of path: String) -> SystemFailure? {
        do throws(SystemFailure) {
            _ = try FileContents.bytes(of: path, limit: 0)
            return nil
        } catch {
            return error.code == ENOENT ? nil : error
        }
    }

    // MARK: Files of other versions

    /// The name of a file of a later version. The number tells several of one version apart.
    private func asidePath(version: Int64, number: Int) -> String {
        "\(directory)/outbox-version-\(version)\(number == 1 ? "" : "-\(number)").sqlite3"
    }

    private static let filesSetAside = 1...9

    /// Puts the messages of files that an earlier version has set aside, and that this version can read, before those
    /// of the file. A file set aside is deleted when its messages are in the file; until then they stay in it.
    private func takeBackFilesSetAside(_ opened: inout Opened) {
        for version in 1...OutboxDatabase.currentVersion {
            // The later a file was set aside, the larger is its number.
            for number in OutboxFile.filesSetAside.reversed() {
                let aside = asidePath(version: version, number: number)
                guard access(aside, F_OK) == 0, OutboxFile.refusal(of: aside) == nil else { continue }
                guard let earlier = contents(of: aside) else { continue }
                var together = opened.content
                let rows = earlier.messages + together.messages
                together.messages = rows.enumerated().map { (Int64($0.offset) + 1, $0.element.message) }
                together.gestures += earlier.gestures.filter { !together.gestures.contains($0) }
                together.dropped += earlier.dropped
                together.expired += earlier.expired
                do throws(SQLiteError) {
                    try store?.commit(OutboxStore.Changes(all: together), isComplete: true)
                } catch {
                    return
                }
                opened.content = together
                opened.returned += earlier.messages.count
                for suffix in ["", "-wal", "-shm"] { unlink(aside + suffix) }
            }
        }
    }

    /// What is in a file that was set aside; `nil` if it cannot be read.
    private func contents(of path: String) -> OutboxContent? {
        do throws(SQLiteError) {
            let file = try OutboxDatabase.open(path: path, maximumBytes: maximumBytes)
            guard file.isReadable else { return nil }
            let (content, failure) = file.load()
            return failure == nil ? content : nil
        } catch {
            return nil
        }
    }

    /// Moves a file of a later version aside, with its log.
    private func putAside(laterVersion version: Int64) -> SetAside {
        let free = OutboxFile.filesSetAside.first { access(asidePath(version: version, number: $0), F_OK) != 0 }
        let aside = asidePath(version: version, number: free ?? OutboxFile.filesSetAside.upperBound)
        move(to: aside)
        return SetAside(name: aside, reason: .laterVersion(version))
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

    /// Whether a file that cannot be opened is beyond repair. Kind `other` is a database without the expected tables.
    private static func isUseless(_ error: SQLiteError) -> Bool { error.kind == .damaged || error.kind == .other }

    /// Moves the damaged file aside, replacing one that was set aside before.
    private func putAside(_ reason: String, saved: Int) -> SetAside {
        let aside = "\(directory)/outbox-damaged.sqlite3"
        move(to: aside)
        return SetAside(name: aside, reason: .damaged(reason, saved: saved))
    }

    /// Moves the file and its log, or deletes them. The log goes first: without its file it would be lost.
    private func move(to aside: String) {
        store = nil
        isKnown = true
        isReplaced = true
        unlink(path + "-shm")
        if access(path + "-wal", F_OK) == 0, rename(path + "-wal", aside + "-wal") != 0 { unlink(path + "-wal") }
        if rename(path, aside) != 0 { unlink(path) }
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
