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
    var isOver: Bool { delivery == .done && (storage == .unneeded || storage == .due) }

    /// Whether the message exists in memory only.
    var isInMemoryOnly: Bool { delivery != .done && (storage == .due || storage == .writing) }
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

/// What a row of the outbox's file contains. Its checksum shows whether the bytes are still those that were written.
protocol OutboxRow {
    func add(to checksum: inout RowChecksum)
}

extension OutboxRow {
    /// The checksum of the row, which is stored beside it.
    var checksum: Int64 {
        var checksum = RowChecksum()
        add(to: &checksum)
        return checksum.value
    }
}

/// A number that lasts beyond the end of the program.
struct OutboxCounter: Equatable, Sendable, OutboxRow {
    static let dropped = "dropped"
    static let expired = "expired"
    /// The version of the tables, a second time: `user_version` has no checksum.
    static let version = "version"

    var name: String
    var value: UInt64

    func add(to checksum: inout RowChecksum) {
        checksum.add(name.utf8)
        checksum.add(Int64(clamping: value))
    }
}

extension OpenGesture: OutboxRow {
    func add(to checksum: inout RowChecksum) {
        checksum.add(gesture.word.utf8)
        checksum.add(isSimulated ? 1 : 0)
    }
}

extension OutgoingMessage: OutboxRow {
    /// The lifetime as it is stored, milliseconds. Up to the limit it is the same again after it was read.
    var storedLifetime: Int64? { lifetime.map { Int64(min(($0 * 1000).rounded(), 2e15)) } }

    func add(to checksum: inout RowChecksum) {
        checksum.add(topic.utf8)
        switch content {
        case .event(let id, let fields):
            checksum.add(1)
            checksum.add(id.utf8)
            checksum.add(fields.utf8)
        case .fixed(let bytes):
            checksum.add(0)
            checksum.add(bytes)
        }
        checksum.add(Int64(qos.rawValue))
        checksum.add(isRetained ? 1 : 0)
        checksum.add(time.boot.utf8)
        checksum.add(time.sinceBoot.nanoseconds)
        checksum.add(time.wall)
        checksum.add(time.isClockSet ? 1 : 0)
        checksum.add(storedLifetime ?? -1)
    }
}

/// A checksum of 64 bits: FNV-1a over the values, each text after its length.
///
/// Source: G. Fowler, L. C. Noll, K.-P. Vo and D. Eastlake, The FNV Non-Cryptographic Hash Algorithm.
struct RowChecksum {
    private var state: UInt64 = 0xCBF2_9CE4_8422_2325

    var value: Int64 { Int64(bitPattern: state) }

    mutating func add(_ number: Int64) {
        for shift in stride(from: 0, to: 64, by: 8) { addByte(UInt8(truncatingIfNeeded: number >> Int64(shift))) }
    }

    mutating func add(_ bytes: some Collection<UInt8>) {
        add(Int64(bytes.count))
        for byte in bytes { addByte(byte) }
    }

    private mutating func addByte(_ byte: UInt8) {
        state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }
}
