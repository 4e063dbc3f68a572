/// The kind of a recognised movement.
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
    /// One that somebody has shown; `GestureEvent.name` tells which.
    case learned

    /// The number of gestures.
    @inlinable static var count: Int { 11 }

    /// All but `learned`: those whose recognizers are part of the program.
    public static let builtIn = Array(allCases.dropLast())

    /// The gestures that need a gyroscope: the direction of gravity does not show the heading.
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
    @inlinable public static var learned: GestureSet { GestureSet(.learned) }

    /// Every gesture.
    @inlinable public static var all: GestureSet { GestureSet(rawValue: (1 << UInt16(Gesture.count)) - 1) }

    /// Whether the gesture is a member.
    @inlinable
    @inline(__always)
    public func contains(_ gesture: Gesture) -> Bool {
        rawValue & (1 << UInt16(gesture.rawValue)) != 0
    }

    /// Removes and returns the first member, in the order of the cases; `nil` if the set is empty.
    ///
    /// Use it to loop over a set: `Gesture.allCases` is an array, and processing a sample must not allocate.
    mutating func popFirst() -> Gesture? {
        guard !isEmpty, let first = Gesture(rawValue: UInt8(truncatingIfNeeded: rawValue.trailingZeroBitCount)) else {
            return nil
        }
        remove(GestureSet(first))
        return first
    }
}

/// The phase of a gesture, as in UIKit.
///
/// Every `began` is followed by exactly one `ended` or `cancelled`; only a machine that was found running is `ended` without.
/// Gestures without duration are `recognized`.
public enum GesturePhase: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case began
    case changed
    case ended
    case cancelled
    case recognized
}

/// Why a gesture was cancelled.
public enum CancellationReason: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    /// It faded before it was confirmed; of a fall, no impact came at its end.
    case tooWeak
    /// It lasted longer than such a gesture does.
    case tooLong
    /// A stronger gesture such as a fall began, or samples are missing.
    case interrupted
    /// The sensor no longer delivers samples.
    case sensorLost
    /// Its recognizer was turned off or its settings changed.
    case disabled
    /// The source of samples was stopped.
    case stopped
    /// The program exited without closing it, which is reported at the next start; or a machine did not run any more when
    /// samples arrived again.
    case restarted
    /// It stopped before it was confirmed.
    case tooShort
    /// The body tilted during the turn of a knob.
    case tilted
}

/// The direction of a movement. On a board that lies flat, x is forward, y left and z up. On one that is tilted or
/// stands upright, up is still against gravity, and forward is where x points after the upward side has become the top.
///
/// A turn goes left if it is positive, that is right-handed, about its body axis, and right otherwise.
public enum MotionDirection: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case left
    case right
    case up
    case down
    case forward
    case backward
}
