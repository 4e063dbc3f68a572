internal import Glibc
internal import LinuxSystem
internal import MosquittoClient
internal import SQLiteDatabase

/// The outbox's file in the state directory: opened, mended where it is torn, set aside where it cannot be.
///
/// For one thread at a time.
final class OutboxFile: @unchecked Sendable {
    private let path: String
    private let asidePath: String
    private let maximumBytes: Int
    private var store: OutboxStore?

    /// Whether it was read, or is new: what stands in it is what its owner knows.
    private(set) var isKnown = false

    /// Whether `takeLogIn` is worth its time.
    private(set) var isLogLong = false

    /// The file in a directory, which is made where there is none.
    init(directory: String, maximumBytes: Int) {
        path = "\(directory)/outbox.sqlite3"
        asidePath = "\(directory)/outbox-damaged.sqlite3"
        self.maximumBytes = maximumBytes
        FileContents.makeDirectories(directory)
    }

    /// Opens the file and reads what is in it. Where it is damaged it is set aside, and none is open.
    ///
    /// - Returns: what it holds, and why it cannot be written; nothing is known of a file that cannot be opened.
    func open(_ note: (OutboxKeeper.Note) -> Void) -> (content: OutboxStore.Content, failure: String?) {
        do throws(SQLiteError) {
            let opened = try OutboxStore.open(path: path, maximumBytes: maximumBytes)
            let defect = try opened.defect()
            let (content, failure) = opened.load()
            if let reason = defect ?? failure.map({ "\($0)" }) {
                // Closed before it is moved.
                _ = consume opened
                setAside(saved: content.messages.count, reason, note)
            } else {
                store = consume opened
                isKnown = true
            }
            return (content, nil)
        } catch {
            guard OutboxFile.isUseless(error) else { return (OutboxStore.Content(), "\(path): \(error)") }
            setAside(saved: 0, "\(error)", note)
            return (OutboxStore.Content(), nil)
        }
    }

    /// Whether it is open: one that is not, though it is known, may hold nothing of what was written.
    var isOpen: Bool { store != nil }

    /// What came of an attempt to write.
    enum Outcome: Equatable {
        case written
        /// It could not be, and why.
        case failed(String)
        /// The file was damaged and is set aside; the next attempt begins a new one.
        case setAside
    }

    /// Writes changes down; `known` is how many messages its owner still has where it turns out to be damaged.
    func commit(
        _ changes: OutboxStore.Changes, known: Int, _ note: (OutboxKeeper.Note) -> Void
    ) -> Outcome {
        let isNew = store == nil
        do throws(SQLiteError) {
            if isNew { store = try OutboxStore.open(path: path, maximumBytes: maximumBytes) }
            isLogLong = try store?.commit(changes) ?? false
            return .written
        } catch {
            if isNew ? OutboxFile.isUseless(error) : error.kind == .damaged {
                setAside(saved: known, "\(error)", note)
                return .setAside
            }
            // A file on a disk that came to its end may not come back by itself: it is opened anew.
            if error.kind != .full { store = nil }
            return .failed("\(path): \(error)")
        }
    }

    /// Whether nothing can be done with a file that cannot be opened; of kind `other` is a database without these tables.
    private static func isUseless(_ error: SQLiteError) -> Bool { error.kind == .damaged || error.kind == .other }

    /// Takes the log into the file, which waits for the disk.
    func takeLogIn() {
        isLogLong = false
        do throws(SQLiteError) {
            try store?.takeLogIn()
        } catch {
            // What cannot be taken in stays in the log, where it counts as well; a disk that fails shows in a commit.
        }
    }

    /// Closes the file; its log is taken into it.
    func close() {
        store = nil
    }

    /// Puts the file out of the way, in the place of one that was put there before.
    private func setAside(saved: Int, _ reason: String, _ note: (OutboxKeeper.Note) -> Void) {
        store = nil
        isKnown = true
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        if rename(path, asidePath) != 0 { unlink(path) }
        note(.setAside(name: asidePath, reason: reason, saved: saved))
    }
}
