/// The gestures that began and have not come to their end, and what the file knows of them.
struct OpenGestures: Sendable {
    private struct Record {
        var isOpen: Bool
        var storage: Storage
    }

    /// Where a gesture's state stands with the file.
    private enum Storage {
        case due
        case writing
        case stored
    }

    private var records: [OpenGesture: Record] = [:]

    /// Gestures that the file has.
    init(stored gestures: [OpenGesture]) {
        add(stored: gestures)
    }

    /// Gestures that a file has turned out to have; what is known of them already counts more.
    mutating func add(stored gestures: [OpenGesture]) {
        for gesture in gestures where records[gesture] == nil {
            records[gesture] = Record(isOpen: true, storage: .stored)
        }
    }

    /// A gesture began, or came to its end.
    mutating func note(_ gesture: OpenGesture, isOpen: Bool) {
        records[gesture] = Record(isOpen: isOpen, storage: .due)
    }

    /// Whether something is to be written.
    var hasChanges: Bool { records.values.contains { $0.storage == .due } }

    /// Takes what is to be written; from now on it is on its way to the disk.
    mutating func takeChanges() -> [(gesture: OpenGesture, isOpen: Bool)] {
        var changes: [(gesture: OpenGesture, isOpen: Bool)] = []
        for (gesture, record) in records where record.storage == .due {
            records[gesture]?.storage = .writing
            changes.append((gesture, record.isOpen))
        }
        return changes
    }

    /// What was on its way is in the file.
    mutating func changesWereWritten() {
        for (gesture, record) in records where record.storage == .writing {
            records[gesture] = record.isOpen ? Record(isOpen: true, storage: .stored) : nil
        }
    }

    /// What was on its way did not get there.
    mutating func changesWereNotWritten() {
        for (gesture, record) in records where record.storage == .writing { records[gesture]?.storage = .due }
    }

    /// The file is a new one.
    mutating func fileWasReplaced() {
        records = records.filter(\.value.isOpen).mapValues { _ in Record(isOpen: true, storage: .due) }
    }
}
