/// A movement that was almost a gesture, and why it was none.
public struct NearMiss: Equatable, Sendable, BitwiseCopyable {
    /// What it might have been.
    public var gesture: Gesture

    /// What it lacked.
    public var reason: Reason

    /// The instant of the sample at which it was given up.
    public var timestamp: Timestamp

    /// What was measured, and what it would have had to reach or to keep below; not-a-number where there is no figure.
    public var value: Double
    public var limit: Double

    /// What `value` and `limit` count.
    public var unit: Unit

    /// Makes the record of a near miss; the unit is by default the one that the reason usually has.
    public init(
        _ gesture: Gesture, _ reason: Reason, at timestamp: Timestamp, value: Double = .nan, limit: Double = .nan,
        unit: Unit? = nil
    ) {
        self.gesture = gesture
        self.reason = reason
        self.timestamp = timestamp
        self.value = value
        self.limit = limit
        self.unit = unit ?? reason.usualUnit
    }

    /// What figures count.
    public enum Unit: UInt8, Sendable, BitwiseCopyable {
        /// A number, a ratio or a score.
        case one
        /// m/s².
        case acceleration
        case seconds
        /// rad.
        case angle
        /// rad/s.
        case rate
    }

    /// What a movement lacked to be a gesture.
    ///
    /// Where a shake's shape is the reason, the figures are those of the weakest swing's peak: a better shape would have
    /// needed less.
    public enum Reason: UInt8, CaseIterable, Sendable, BitwiseCopyable {
        /// Peak acceleration, of vibration RMS; for turns the angular rate.
        case tooWeak
        /// Swings to and fro.
        case tooFewReversals
        /// Taps one after another: none that is told apart, and the number that would have been.
        case tooFewTaps
        /// RMS before it: more than allowed.
        case noQuietBefore
        /// What follows it: more than allowed.
        case noQuietAfter
        /// It did not keep to one line.
        case notAlongOneLine
        /// Its parts differ in strength or duration.
        case tooIrregular
        /// Seconds of a half period, or of the whole: more than allowed.
        case tooSlow
        /// Its swings were too slow or too quick.
        case wrongPace
        /// It was peaky or rough like blows.
        case tooPeaky
        /// It went up and down like steps and jumps.
        case likeSteps
        /// RMS of slow movement meanwhile, or its change: more than what is stuck to a machine moves.
        case notStill
        /// It did not last.
        case tooShort
        case tooSmallAngle
        /// Alike enough to several things to be none of them for certain: the score, and what it has to reach.
        case notConvincing
        /// It came with a fall or a blow.
        case partOfFall
        /// Another gesture that takes precedence was recognised.
        case excluded
        /// Within the cooldown or minimum interval since the last one.
        case tooSoon
        /// The gate of its recognizer was closed: not still, on another side, at another tilt, or in quiet hours.
        case gateClosed

        fileprivate var usualUnit: Unit {
            switch self {
            case .tooWeak, .noQuietBefore, .noQuietAfter, .notStill: .acceleration
            case .tooSlow, .tooShort, .tooSoon, .partOfFall: .seconds
            case .tooSmallAngle: .angle
            case .tooFewReversals, .tooFewTaps, .notAlongOneLine, .tooIrregular, .wrongPace, .tooPeaky, .likeSteps,
                .notConvincing, .excluded, .gateClosed:
                .one
            }
        }
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
