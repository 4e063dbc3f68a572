internal import MotionCore

/// A message in the outbox, and all that is known of it.
struct OutboxEntry: Sendable {
    let token: OutboxToken
    var message: OutgoingMessage
    var storage: Storage
    var delivery = Delivery.waiting

    /// Whether the file has another time than the message: the clock was set since it was written.
    var hasStaleTime = false

    /// Whether it was sent although it was in no file.
    var hasLeftFromMemory = false

    /// Where the message stands with the file.
    enum Storage: Equatable, Sendable {
        /// It is not meant for the file: it is sent once at most.
        case unneeded
        /// It is to be written.
        case due
        /// A batch that contains it is on its way to the disk.
        case writing
        case stored
        /// A batch that deletes its row is on its way to the disk.
        case deleting
    }

    /// Where the message stands with the broker.
    enum Delivery: Equatable, Sendable {
        case waiting
        /// The client has it; the broker has not acknowledged it.
        case sent
        /// The broker has it, or it was given up: only its row in the file may be left.
        case done
    }

    /// Whether the entry can be forgotten.
    var isOver: Bool {
        guard delivery == .done else { return false }
        switch storage {
        case .unneeded, .due: return true
        case .writing, .stored, .deleting: return false
        }
    }

    /// Whether the message exists in memory alone.
    var isInMemoryAlone: Bool {
        guard delivery != .done else { return false }
        switch storage {
        case .due, .writing: return true
        case .unneeded, .stored, .deleting: return false
        }
    }
}

/// Identifies a message in the outbox: its row in the file.
struct OutboxToken: Hashable, Comparable, Sendable {
    let row: Int64

    static func < (a: OutboxToken, b: OutboxToken) -> Bool { a.row < b.row }
}

/// A gesture that began and has not come to its end; a simulated one is another than the sensor's own.
struct OpenGesture: Hashable, Sendable {
    var gesture: Gesture
    var isSimulated: Bool
}

/// How much waits for the broker at most.
package struct OutboxLimits: Equatable, Sendable {
    /// Messages. Default 10,000.
    package var count = 10_000

    /// Bytes of topics and payloads. Default 4 MiB.
    package var bytes = 4 << 20

    /// Seconds. Default a week.
    package var age = 7 * 86_400.0

    /// The default limits.
    package init() {}
}
