/// A movement that was almost a gesture, and what it lacked.
public struct NearMiss: Equatable, Sendable, BitwiseCopyable {
    /// The gesture that it almost was.
    public var gesture: Gesture

    /// The name of a learned gesture; `nil` for the others.
    public var name: GestureName?

    /// What it lacked.
    public var reason: Reason

    /// The timestamp of the sample at which it was rejected.
    public var timestamp: Timestamp

    /// The measured value, and the limit that it had to reach or stay below; not-a-number if there is none.
    public var value: Double
    public var limit: Double

    /// The unit of `value` and `limit`.
    public var unit: Unit

    /// The direction, if that was the reason.
    public var direction: MotionDirection?

    /// Of a learned gesture, the number of the example that was nearest, from 0.
    public var example: Int?

    /// The gesture that took precedence, if that was the reason.
    public var precedence: Gesture?

    /// The condition of the gate that was not met, if that was the reason.
    public var gate: GateCondition?

    /// Whether the movement was simulated. Recognizers leave it false.
    public var isSimulated = false

    /// The default unit is the usual one of the reason.
    public init(
        _ gesture: Gesture, _ reason: Reason, at timestamp: Timestamp, value: Double = .nan, limit: Double = .nan,
        unit: Unit? = nil, name: GestureName? = nil
    ) {
        self.gesture = gesture
        self.name = name
        self.reason = reason
        self.timestamp = timestamp
        self.value = value
        self.limit = limit
        self.unit = unit ?? reason.usualUnit
    }

    /// The unit of a value.
    public enum Unit: UInt8, Sendable, BitwiseCopyable {
        /// A count, a ratio or a score.
        case one
        /// m/s².
        case acceleration
        case seconds
        /// rad.
        case angle
        /// rad/s.
        case rate
    }

    /// A condition under which a gesture may begin; see `GestureGate`.
    public enum GateCondition: UInt8, CaseIterable, Sendable, BitwiseCopyable {
        /// The body was not still before it, or not moving.
        case still
        case moving
        /// Another side was up.
        case side
        /// The tilt was too small or too large.
        case tiltAbove
        case tiltBelow
        /// It may not begin now, whatever the posture.
        case quietHours
    }

    /// What a movement lacked to be a gesture.
    ///
    /// If the reason is the shape of a shake, the limit is what shakes usually have: a stronger movement may have more.
    public enum Reason: UInt8, CaseIterable, Sendable, BitwiseCopyable {
        /// Peak acceleration, or RMS for vibration, or angular rate for turns, was too small.
        case tooWeak
        /// It was larger or more violent than what was shown.
        case tooStrong
        /// Swings to and fro.
        case tooFewReversals
        /// Taps in a row: too few, so that the number is not one of the configured counts.
        case tooFewTaps
        /// RMS, or the angular rate, before it was too large; or the time of stillness before it was too short.
        case noQuietBefore
        /// Movement after it was too large.
        case noQuietAfter
        /// It was not along one line: the angle by which it strayed.
        case notAlongOneLine
        /// Its parts differ in strength or duration: the ratio of the largest to the smallest.
        case tooIrregular
        /// The half period or the duration, in seconds, was too long.
        case tooSlow
        /// It took less time than what was shown.
        case tooQuick
        /// Its swings were too slow or too quick: seconds of one swing.
        case wrongPace
        /// It was peaky or rough like blows.
        case tooPeaky
        /// It went up and down like steps and jumps.
        case likeSteps
        /// RMS of slow movement, or its change, was larger than that of an object attached to a machine; or the new side
        /// was not held still.
        case notStill
        /// It did not last long enough.
        case tooShort
        case tooSmallAngle
        /// It resembled several things too closely to be certain.
        case notConvincing
        /// It came with a fall or a blow.
        case partOfFall
        /// A gesture that takes precedence was recognised.
        case excluded
        /// It came within the cooldown or minimum interval since the last one.
        case tooSoon
        /// The gate was closed: not still, on another side, at another tilt, or in quiet hours.
        case gateClosed
        /// It set the body in motion, or stopped it: mean acceleration.
        case setInMotion
        /// The stroke was not braked: the share of its strength with which it was.
        case notBraked
        /// Its direction is not one of those to be recognised.
        case otherDirection
        /// The body tilted by this angle.
        case tilted
        /// Its axis was not vertical: the angle between the two.
        case notVertical

        fileprivate var usualUnit: Unit {
            switch self {
            case .tooWeak, .noQuietBefore, .noQuietAfter, .notStill, .setInMotion: .acceleration
            case .tooSlow, .wrongPace, .tooShort, .tooSoon, .partOfFall: .seconds
            case .notAlongOneLine, .tooSmallAngle, .gateClosed, .tilted, .notVertical: .angle
            case .tooStrong, .tooQuick, .tooFewReversals, .tooFewTaps, .tooIrregular, .tooPeaky, .likeSteps,
                .notConvincing, .excluded,
                .notBraked, .otherDirection:
                .one
            }
        }
    }
}

/// A buffer for near misses until the caller takes them.
struct NearMisses: ~Copyable {
    private static let capacity = 16

    private let buffer = FixedBuffer<NearMiss>(count: NearMisses.capacity)
    private var count = 0
    private var taken = 0

    /// Whether to keep near misses.
    var isEnabled = false

    /// Adds a near miss; drops it if the buffer is full.
    mutating func add(_ miss: @autoclosure () -> NearMiss) {
        guard isEnabled, count < NearMisses.capacity else { return }
        buffer[count] = miss()
        count += 1
    }

    /// Adds the near miss of a movement whose `value` did not keep to `limit`.
    mutating func add(
        _ gesture: Gesture, _ reason: NearMiss.Reason, at timestamp: Timestamp,
        value: @autoclosure () -> Double = .nan, limit: Double = .nan, unit: NearMiss.Unit? = nil
    ) {
        add(NearMiss(gesture, reason, at: timestamp, value: value(), limit: limit, unit: unit))
    }

    /// Removes and returns the oldest near miss.
    mutating func take() -> NearMiss? {
        guard taken < count else {
            taken = 0
            count = 0
            return nil
        }
        taken += 1
        return buffer[taken - 1]
    }
}
