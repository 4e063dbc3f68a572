internal import MosquittoClient
internal import MotionCore

// What the rows of the outbox's file contain. The checksum beside a row shows whether its bytes are still those that were
// written.

/// A number that lasts beyond the end of the program.
struct OutboxCounter: Equatable, Sendable {
    static let dropped = "dropped"
    static let expired = "expired"
    /// The version of the tables, a second time: `user_version` has no checksum.
    static let version = "version"

    var name: String
    var value: UInt64

    var checksum: Int64 {
        var checksum = Checksum()
        checksum.add(name.utf8)
        checksum.add(Int64(clamping: value))
        return checksum.value
    }
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

    var checksum: Int64 {
        var checksum = Checksum()
        checksum.add(gesture.word.utf8)
        checksum.add(isSimulated ? 1 : 0)
        return checksum.value
    }
}

extension OutgoingMessage {
    /// The lifetime as it is stored, milliseconds. Up to the limit it is the same again after it was read.
    var storedLifetime: Int64? { lifetime.map { Int64(min(($0 * 1000).rounded(), 2e15)) } }

    var checksum: Int64 {
        var checksum = Checksum()
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
        return checksum.value
    }
}
