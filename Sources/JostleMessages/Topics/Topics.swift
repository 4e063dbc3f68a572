package import MotionCore

/// The topics of one device: see docs/mqtt.md.
package struct Topics: Equatable, Sendable {
    /// The beginning of all topics: prefix and device.
    package let root: String

    /// The topics of the device `id` under `prefix`.
    package init(prefix: String, id: String) {
        self.init(root: "\(prefix)/\(id)")
    }

    /// The topics of the device whose prefix and id are `root`: `jostle/washer-1`.
    package init(root: String) {
        self.root = root
    }

    /// The device's id: the last level of the root.
    package var device: String { String(root[(root.lastIndex(of: "/").map(root.index(after:)) ?? root.startIndex)...]) }

    /// The topics with retained messages.
    package var retained: [String] { [availability, state, health, reported] }

    /// The filter for the availability of every device with the same prefix.
    package var everyAvailability: String { "\(root.dropLast(device.count))+/availability" }

    /// `online` or `offline`; retained.
    package var availability: String { "\(root)/availability" }
    /// The attitude, published as it changes.
    package var attitude: String { "\(root)/attitude" }
    /// Acceleration, gravity and rotation rate, published as they change.
    package var motion: String { "\(root)/motion" }
    /// The device state; retained.
    package var state: String { "\(root)/state" }
    /// Every sample, while a client has requested the stream.
    package var stream: String { "\(root)/stream" }
    /// Movements that were almost gestures, while somebody wants them.
    package var nearMiss: String { "\(root)/near-miss" }
    /// The health report; retained.
    package var health: String { "\(root)/health" }
    /// The configuration in force and what was refused; retained.
    package var reported: String { "\(root)/config/reported" }
    /// The topic that accepts a value for `key`.
    package func set(_ key: String) -> String { "\(root)/set/\(key)" }
    /// The topic that accepts a document with the values of several keys.
    package var setDocument: String { "\(root)/set" }
    /// The phases of a gesture.
    package func event(_ gesture: Gesture) -> String { "\(events)\(gesture.word)" }
    /// The common beginning of the gesture topics.
    package var events: String { "\(root)/event/" }
    /// The topic that accepts a command.
    package func command(_ name: String) -> String { "\(root)/command/\(name)" }
    /// The topic on which a command is answered.
    package func result(of command: String) -> String { "\(root)/command/\(command)/result" }
}
