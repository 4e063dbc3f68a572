/// A movement that was almost a gesture, and why it was none.
public struct NearMiss: Equatable, Sendable, BitwiseCopyable {
    /// What it might have been.
    public var gesture: Gesture

    /// What it lacked.
    public var reason: Reason

    /// The instant of the sample at which it was given up.
    public var timestamp: Timestamp

    /// What was measured, and what would have been needed, in the reason's unit; not-a-number where there is no figure.
    public var value: Double
    public var limit: Double

    /// Makes the record of a near miss.
    public init(
        _ gesture: Gesture, _ reason: Reason, at timestamp: Timestamp, value: Double = .nan, limit: Double = .nan
    ) {
        self.gesture = gesture
        self.reason = reason
        self.timestamp = timestamp
        self.value = value
        self.limit = limit
    }

    /// What a movement lacked to be a gesture.
    public enum Reason: UInt8, CaseIterable, Sendable, BitwiseCopyable {
        /// Peak acceleration, of vibration RMS, m/s², or for turns angular rate, rad/s, below what is needed.
        case tooWeak
        /// Swings to and fro: fewer than needed.
        case tooFewReversals
        /// Taps one after another: none that is told apart, and the number that would have been.
        case tooFewTaps
        /// RMS before it, m/s²: more than allowed.
        case noQuietBefore
        /// What follows it, m/s²: more than allowed.
        case noQuietAfter
        /// Power across the line of movement over power along it: more than allowed.
        case notAlongOneLine
        /// Relative spread of the half periods: more than allowed.
        case tooIrregular
        /// Seconds of a half period, or of the whole: more than allowed.
        case tooSlow
        /// Peak over RMS: more than a shake has; it was a blow.
        case tooPeaky
        /// RMS of slow movement meanwhile, or its change, m/s²: more than what is stuck to a machine moves.
        case notStill
        /// Seconds: less than needed.
        case tooShort
        /// Angle, rad: less than needed.
        case tooSmallAngle
        /// Alike enough to several things to be none of them for certain: the score, and what it has to reach.
        case notConvincing
        /// It came with a fall or a blow.
        case partOfFall
        /// Another gesture that takes precedence was recognised.
        case excluded
        /// Seconds since the last one: within its cooldown or minimum interval.
        case tooSoon
        /// The gate of its recognizer was closed: not still, on another side, at another tilt, or in quiet hours.
        case gateClosed
    }
}

/// The near misses of the last step, kept until somebody asks, where somebody wants to know.
struct NearMisses: ~Copyable {
    private static let capacity = 16

    private let buffer: UnsafeMutablePointer<NearMiss>
    private var count = 0
    private var taken = 0

    /// Whether anybody wants to know. Without, nothing is kept.
    var isWanted = false

    init() {
        buffer = .allocate(capacity: NearMisses.capacity)
        buffer.initialize(
            repeating: NearMiss(.shake, .tooWeak, at: Timestamp(nanoseconds: 0)), count: NearMisses.capacity)
    }

    deinit {
        buffer.deallocate()
    }

    /// Notes a near miss; where nobody fetched the ones before and there is no room, it is left out.
    mutating func add(_ miss: @autoclosure () -> NearMiss) {
        guard isWanted, count < NearMisses.capacity else { return }
        buffer[count] = miss()
        count += 1
    }

    /// The oldest that has not been taken.
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
