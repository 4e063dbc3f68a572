internal import Glibc
internal import MosquittoClient
internal import MotionKit
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

    /// The file in a directory, which is made where there is none.
    init(directory: String, maximumBytes: Int) {
        path = "\(directory)/outbox.sqlite3"
        asidePath = "\(directory)/outbox-damaged.sqlite3"
        self.maximumBytes = maximumBytes
        StateDirectory.makeDirectories(directory)
    }

    /// Opens the file and reads what is in it.
    ///
    /// - Returns: what it holds, and why it cannot be written; nothing is known of a file that cannot be opened.
    func open(_ note: (OutboxKeeper.Note) -> Void) -> (content: OutboxStore.Content, failure: String?) {
        do throws(SQLiteError) {
            let opened = try OutboxStore.open(path: path, maximumBytes: maximumBytes)
            if let defect = try opened.defect() { return setAside(saving: opened.load().content, defect, note) }
            let (content, failure) = opened.load()
            if let failure { return setAside(saving: content, "\(failure)", note) }
            store = consume opened
            isKnown = true
            return (content, nil)
        } catch {
            // Of kind `other`: a database, but none with these tables.
            guard error.kind == .damaged || error.kind == .other else { return (OutboxStore.Content(), "\(error)") }
            return setAside(saving: OutboxStore.Content(), "\(error)", note)
        }
    }

    /// Writes changes down; where the file turns out to be damaged, everything that there is goes into a new one.
    ///
    /// - Returns: why it could not; `nil` where it could.
    func commit(
        _ changes: OutboxStore.Changes, everything: () -> [(token: UInt64, message: OutgoingMessage)],
        _ note: (OutboxKeeper.Note) -> Void
    ) -> String? {
        do throws(SQLiteError) {
            if store == nil { store = try OutboxStore.open(path: path, maximumBytes: maximumBytes) }
            try store?.commit(changes)
            return nil
        } catch {
            guard error.kind == .damaged else {
                // A file on a disk that came to its end may not come back by itself: it is opened anew.
                if error.kind != .full { store = nil }
                return "\(error)"
            }
            var content = OutboxStore.Content()
            content.messages = everything()
            content.gestures = changes.gestures.filter(\.isOpen).map(\.gesture)
            return setAside(saving: content, "\(error)", note).failure
        }
    }

    /// Closes the file; its log is taken into it.
    func close() {
        store = nil
    }

    /// Puts the file out of the way, in the place of one that was put there before, and begins a new one with what could
    /// be saved.
    private func setAside(
        saving content: OutboxStore.Content, _ reason: String, _ note: (OutboxKeeper.Note) -> Void
    ) -> (content: OutboxStore.Content, failure: String?) {
        store = nil
        isKnown = true
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        if rename(path, asidePath) != 0 { unlink(path) }
        note(.setAside(name: asidePath, reason: reason, saved: content.messages.count))
        do throws(SQLiteError) {
            var fresh = try OutboxStore.open(path: path, maximumBytes: maximumBytes)
            var changes = OutboxStore.Changes()
            changes.added = content.messages
            changes.gestures = content.gestures.map { ($0, true) }
            changes.totals = (content.dropped, content.expired)
            try fresh.commit(changes)
            store = consume fresh
            return (content, nil)
        } catch {
            return (content, "\(error)")
        }
    }
}
