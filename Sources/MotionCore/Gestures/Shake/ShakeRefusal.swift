/// Why a movement of several swings was not a shake, for tuning.
struct ShakeRefusal: Equatable, Sendable, BitwiseCopyable {
    /// The main reason. The values of a shape are those of `ShakeShape`.
    enum Reason: UInt8, CaseIterable, Sendable, BitwiseCopyable {
        /// The weakest swing was too weak, although otherwise like a shake. Values: amplitudes, m/s².
        case tooWeak
        /// It reversed too rarely. Values: numbers of swings.
        case tooFewReversals
        /// It did not begin from quiet. Values, m/s²: the RMS before it, and the limit.
        case noQuietBefore
        /// Its swings were not along one line. Values: angles, rad.
        case notAlongOneLine
        /// Its swings differed in strength or duration. Values: ratios.
        case tooIrregular
        /// Its swings were too slow or too quick. Values: seconds of one swing.
        case wrongPace
        /// Its swings were peaky or rough like blows. No values.
        case blowLike
        /// It went up and down like steps and jumps. No values.
        case likeSteps
        /// The board fell just before. Values: seconds of the fall.
        case afterFall
        /// Nothing in particular. No values.
        case unlikeShake
    }

    var reason: Reason
    /// The measured value, and the limit that it had to reach or stay below; not-a-number if there is none.
    var value: Double
    var limit: Double
    /// The timestamp of the sample at which the movement was closest to a shake.
    var timestamp: Timestamp
}

extension NearMiss {
    /// Creates a near miss from a rejected shake.
    init(_ refusal: ShakeRefusal) {
        let reason: Reason =
            switch refusal.reason {
            case .tooWeak: .tooWeak
            case .tooFewReversals: .tooFewReversals
            case .noQuietBefore: .noQuietBefore
            case .notAlongOneLine: .notAlongOneLine
            case .tooIrregular: .tooIrregular
            case .wrongPace: .wrongPace
            case .blowLike: .tooPeaky
            case .likeSteps: .likeSteps
            case .afterFall: .partOfFall
            case .unlikeShake: .notConvincing
            }
        self.init(.shake, reason, at: refusal.timestamp, value: refusal.value, limit: refusal.limit)
    }
}
