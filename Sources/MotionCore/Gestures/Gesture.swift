/// What kind of movement was recognised.
public enum Gesture: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case shake
    case tap
    case flick
    case turn
    case flip
    case tilt
    case fall
    case impact
    case motion
    case vibration

    /// How many there are.
    static let count = 10

    /// Those that an accelerometer alone cannot tell: heading does not show in the direction of gravity.
    public static var needingGyroscope: GestureSet { .turn }
}

/// A set of gestures.
public struct GestureSet: OptionSet, Sendable, BitwiseCopyable {
    public let rawValue: UInt16

    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The set of one gesture.
    @inlinable
    public init(_ gesture: Gesture) {
        rawValue = 1 << UInt16(gesture.rawValue)
    }

    @inlinable public static var shake: GestureSet { GestureSet(.shake) }
    @inlinable public static var tap: GestureSet { GestureSet(.tap) }
    @inlinable public static var flick: GestureSet { GestureSet(.flick) }
    @inlinable public static var turn: GestureSet { GestureSet(.turn) }
    @inlinable public static var flip: GestureSet { GestureSet(.flip) }
    @inlinable public static var tilt: GestureSet { GestureSet(.tilt) }
    @inlinable public static var fall: GestureSet { GestureSet(.fall) }
    @inlinable public static var impact: GestureSet { GestureSet(.impact) }
    @inlinable public static var motion: GestureSet { GestureSet(.motion) }
    @inlinable public static var vibration: GestureSet { GestureSet(.vibration) }

    /// Every gesture.
    @inlinable public static var all: GestureSet { GestureSet(rawValue: (1 << 10) - 1) }

    /// Whether the gesture is a member.
    @inlinable
    public func contains(_ gesture: Gesture) -> Bool {
        rawValue & (1 << UInt16(gesture.rawValue)) != 0
    }

    /// Takes the first member out, in the order of the cases; `nil` where there is none.
    ///
    /// Loops over a set are written with it: `Gesture.allCases` is an array and has no place on the path of a sample.
    mutating func popFirst() -> Gesture? {
        guard !isEmpty, let first = Gesture(rawValue: UInt8(truncatingIfNeeded: rawValue.trailingZeroBitCount)) else {
            return nil
        }
        remove(GestureSet(first))
        return first
    }
}

/// Where a gesture is in its life, as UIKit means it.
///
/// Every `began` is followed by exactly one `ended` or `cancelled`; gestures without duration are `recognized`.
public enum GesturePhase: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case began
    case changed
    case ended
    case cancelled
    case recognized
}

/// Why a gesture was cancelled.
public enum CancellationReason: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    /// It faded before it was confirmed.
    case tooWeak
    /// It lasted longer than such a gesture does.
    case tooLong
    /// Something stronger came in between, a fall for example, or samples are missing.
    case interrupted
    /// The sensor gives no samples any more.
    case sensorLost
    /// Its recognizer was switched off or its settings changed.
    case disabled
    /// The source of samples was stopped.
    case stopped
    /// The program ended without closing it; told at the next start.
    case restarted
}

/// Where a movement goes, seen with up at the top: x is forward, y left and z up on a board that lies flat. On one that
/// is tilted or stands, up is still against gravity, and forward is where x points once the side that is up has become
/// the top.
///
/// A turn goes left where it is positive about its axis of the body, right-handed, else right.
public enum MotionDirection: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case left
    case right
    case up
    case down
    case forward
    case backward
}
