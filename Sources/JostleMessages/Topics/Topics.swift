public import MotionCore

/// The topics of one device: see docs/mqtt.md.
public struct Topics: Equatable, Sendable {
    /// What all of them begin with: prefix and device.
    public let root: String

    /// The topics of the device `id` under `prefix`.
    public init(prefix: String, id: String) {
        self.init(root: "\(prefix)/\(id)")
    }

    /// The topics that begin with `root`.
    public init(root: String) {
        self.root = root
    }

    /// The device's name: what comes last in the root.
    public var device: String { String(root[(root.lastIndex(of: "/").map(root.index(after:)) ?? root.startIndex)...]) }

    /// Those whose messages the broker keeps.
    public var retained: [String] { [availability, state, health, reported] }

    /// `online` or `offline`; retained.
    public var availability: String { "\(root)/availability" }
    /// The attitude, as it changes.
    public var attitude: String { "\(root)/attitude" }
    /// Acceleration, gravity and rotation, as they change.
    public var motion: String { "\(root)/motion" }
    /// What lasts until it changes; retained.
    public var state: String { "\(root)/state" }
    /// Every sample, while somebody asked for it.
    public var stream: String { "\(root)/stream" }
    /// How the device is; retained.
    public var health: String { "\(root)/health" }
    /// What is in force, and what was refused; retained.
    public var reported: String { "\(root)/config/reported" }
    /// Where the value of a key arrives.
    public func set(_ key: String) -> String { "\(root)/set/\(key)" }
    /// The phases of a gesture.
    public func event(_ gesture: Gesture) -> String { "\(events)\(gesture.word)" }
    /// What the topics of all gestures begin with.
    public var events: String { "\(root)/event/" }
    /// Where a command arrives.
    public func command(_ name: String) -> String { "\(root)/command/\(name)" }
    /// Where a command is answered.
    public func result(of command: String) -> String { "\(root)/command/\(command)/result" }
}
