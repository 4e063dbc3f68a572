package import MotionCore

/// The topics of one device: see docs/mqtt.md.
package struct Topics: Equatable, Sendable {
    /// What all of them begin with: prefix and device.
    package let root: String

    /// The topics of the device `id` under `prefix`.
    package init(prefix: String, id: String) {
        self.init(root: "\(prefix)/\(id)")
    }

    /// The topics that begin with `root`.
    package init(root: String) {
        self.root = root
    }

    /// The device's name: what comes last in the root.
    package var device: String { String(root[(root.lastIndex(of: "/").map(root.index(after:)) ?? root.startIndex)...]) }

    /// Those whose messages the broker keeps.
    package var retained: [String] { [availability, state, health, reported] }

    /// `online` or `offline`; retained.
    package var availability: String { "\(root)/availability" }
    /// The attitude, as it changes.
    package var attitude: String { "\(root)/attitude" }
    /// Acceleration, gravity and rotation, as they change.
    package var motion: String { "\(root)/motion" }
    /// What lasts until it changes; retained.
    package var state: String { "\(root)/state" }
    /// Every sample, while somebody asked for it.
    package var stream: String { "\(root)/stream" }
    /// How the device is; retained.
    package var health: String { "\(root)/health" }
    /// What is in force, and what was refused; retained.
    package var reported: String { "\(root)/config/reported" }
    /// Where the value of a key arrives.
    package func set(_ key: String) -> String { "\(root)/set/\(key)" }
    /// The phases of a gesture.
    package func event(_ gesture: Gesture) -> String { "\(events)\(gesture.word)" }
    /// What the topics of all gestures begin with.
    package var events: String { "\(root)/event/" }
    /// Where a command arrives.
    package func command(_ name: String) -> String { "\(root)/command/\(name)" }
    /// Where a command is answered.
    package func result(of command: String) -> String { "\(root)/command/\(command)/result" }
}
