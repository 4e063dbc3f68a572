internal import MotionCore

/// A message in the outbox, with its storage and delivery state.
struct OutboxEntry: Sendable {
    let token: OutboxToken
    var message: OutgoingMessage
    var storage: Storage
    var delivery = Delivery.waiting

    /// Whether the file has an outdated time, because the clock was set after the row was written.
    var hasStaleTime = false

    /// Whether the broker accepted a later message to the same topic while it refused this one.
    var isOvertaken = false

    /// Whether the message was sent before it was in the file.
    var wasSentFromMemory = false

    /// The state of the message's row in the file.
    enum Storage: Equatable, Sendable {
        /// The message is not stored: it is sent at most once.
        case unneeded
        /// The row is to be written.
        case due
        /// A batch that contains the row is being written.
        case writing
        case stored
        /// A batch that deletes the row is being written.
        case deleting
    }

    /// The state of the message's delivery.
    enum Delivery: Equatable, Sendable {
        case waiting
        /// The client has the message; the broker has not acknowledged it.
        case sent
        /// The broker has the message, or it was dropped. Only its row may be left.
        case done
    }

    /// Whether the entry can be removed from memory.
    var isOver: Bool {
        guard delivery == .done else { return false }
        switch storage {
        case .unneeded, .due: return true
        case .writing, .stored, .deleting: return false
        }
    }

    /// Whether the message exists in memory only.
    var isInMemoryOnly: Bool {
        guard delivery != .done else { return false }
        switch storage {
        case .due, .writing: return true
        case .unneeded, .stored, .deleting: return false
        }
    }
}

/// Identifies a message in the outbox by its row in the file.
struct OutboxToken: Hashable, Comparable, Sendable {
    let row: Int64

    static func < (a: OutboxToken, b: OutboxToken) -> Bool { a.row < b.row }
}

/// A gesture that has begun and not yet ended. A simulated gesture is distinct from one of the sensor.
struct OpenGesture: Hashable, Sendable {
    var gesture: Gesture
    var isSimulated: Bool

    /// The machine that carries the board runs.
    static let machine = OpenGesture(gesture: .vibration, isSimulated: false)
}

extension OpenGesture {
    /// The gesture of an event.
    init(_ event: GestureEvent) {
        self.init(gesture: event.gesture, isSimulated: event.isSimulated)
    }
}

/// The limits of the outbox.
package struct OutboxLimits: Equatable, Sendable {
    /// The maximum number of messages. Default 10,000.
    package var count = 10_000

    /// The maximum size of topics and payloads, bytes. Default 4 MiB.
    package var bytes = 4 << 20

    /// The maximum age, s. Default one week.
    package var age = 7 * 86_400.0

    /// Creates the default limits.
    package init() {}
}
