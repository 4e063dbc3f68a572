/// The gestures that have begun and not yet ended, with the state of their rows in the outbox's file.
struct OpenGestures: Sendable {
    private struct Record {
        var isOpen: Bool
        var storage: Storage
    }

    /// The state of a gesture's row.
    private enum Storage {
        case due
        case writing
        case stored
    }

    private var records: [OpenGesture: Record] = [:]

    /// Creates the set from the rows of the file.
    init(stored gestures: [OpenGesture]) {
        _ = add(stored: gestures)
    }

    /// Adds the rows of a file that was opened late. Newer state in memory takes precedence.
    ///
    /// - Returns: the gestures that were added.
    mutating func add(stored gestures: [OpenGesture]) -> [OpenGesture] {
        let added = gestures.filter { records[$0] == nil }
        for gesture in added { records[gesture] = Record(isOpen: true, storage: .stored) }
        return added
    }

    /// Records that a gesture began or ended.
    mutating func record(_ gesture: OpenGesture, isOpen: Bool) {
        records[gesture] = Record(isOpen: isOpen, storage: .due)
    }

    /// Whether there are changes to write.
    var hasChanges: Bool { records.values.contains { $0.storage == .due } }

    /// Returns the changes to write, and marks them as being written.
    mutating func takeChanges() -> [(gesture: OpenGesture, isOpen: Bool)] {
        var changes: [(gesture: OpenGesture, isOpen: Bool)] = []
        for (gesture, record) in records where record.storage == .due {
            records[gesture]?.storage = .writing
            changes.append((gesture, record.isOpen))
        }
        return changes
    }

    /// Marks the changes in progress as written.
    mutating func changesWereWritten() {
        for (gesture, record) in records where record.storage == .writing {
            records[gesture] = record.isOpen ? Record(isOpen: true, storage: .stored) : nil
        }
    }

    /// Marks the changes in progress as due again, after a failed write.
    mutating func changesWereNotWritten() {
        for (gesture, record) in records where record.storage == .writing { records[gesture]?.storage = .due }
    }

    /// Marks everything as due, because the file was replaced.
    mutating func fileWasReplaced() {
        records = records.filter(\.value.isOpen).mapValues { _ in Record(isOpen: true, storage: .due) }
    }
}
