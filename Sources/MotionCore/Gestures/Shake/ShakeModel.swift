internal import CMotionMath

/// Judges how much a movement is like a shake, and how strong it must be to count as one.
///
/// A small neural network turns the features into one number, the likeness to a shake. A movement is a shake if its
/// likeness is at least
///
///     threshold + margin, if it has only three swings
///     threshold, if it has more
///
/// and the weakest of its last three peaks reaches the least amplitude. So what is certain is recognised with the third
/// swing, and what is less certain with the fourth. Sensitivity lowers both limits, so a higher sensitivity never misses
/// what a lower one recognises.
struct ShakeModel: ~Copyable {
    /// The smallest peak of the weakest swing at the default sensitivity, g, and what each step of sensitivity divides
    /// it by. Brushing teeth, wiping and writing mostly stay below it, however regular they are.
    static let leastAmplitude = 0.5
    static let amplitudeStep = 1.15
    /// The likeness needed at the default sensitivity, what each step of sensitivity subtracts from it, and what is
    /// added for a movement of three swings.
    static let threshold = 1.7
    static let likenessStep = 0.5
    static let threeSwingMargin = 1.0

    private let network = ShakeNetwork()

    /// The amplitude, m/s², that the weakest of the last three swings needs: about what would make up for the likeness
    /// that is missing. A movement is a shake if it has that amplitude.
    func neededAmplitude(_ features: borrowing ShakeFeatures, sensitivity: Int) -> Double {
        let missing = ShakeModel.neededLikeness(features, sensitivity: sensitivity) - network.likeness(features)
        let least = ShakeModel.leastAmplitude / pow(ShakeModel.amplitudeStep, Double(sensitivity - 5))
        return max(standardGravity * least, features.weakest * exp(missing / ShakeWeights.slope))
    }

    private static func neededLikeness(_ features: borrowing ShakeFeatures, sensitivity: Int) -> Double {
        let margin = features[.threeSwings] > 0 ? threeSwingMargin : 0
        return threshold + margin - Double(sensitivity - 5) * likenessStep
    }

    /// The logarithm of the factor by which the movement would need less amplitude if one aspect of it were like that of
    /// a typical shake.
    func relief(_ features: borrowing ShakeFeatures, _ aspect: ShakeRefusal.Reason) -> Double {
        let margin = aspect == .tooFewReversals && features[.threeSwings] > 0 ? ShakeModel.threeSwingMargin : 0
        let gain = network.likeness(features, replacing: aspect) - network.likeness(features)
        return (gain + margin) / ShakeWeights.slope
    }
}

extension ShakeFeature {
    /// The aspect that a feature describes.
    var aspect: ShakeRefusal.Reason {
        switch self {
        case .threeSwings, .fourSwings, .fiveSwings: .tooFewReversals
        case .justBefore, .shortlyBefore, .quietest, .quietestLately, .meanBefore, .largestBefore, .busyBefore,
            .medianBefore, .loudestBefore:
            .noQuietBefore
        case .latestTurn, .earlierTurn, .sameSide, .across, .wander, .tilt: .notAlongOneLine
        case .spread, .acceleration, .middlePeak, .strongestPeak, .velocityRatio, .age: .tooIrregular
        case .halfPeriod, .logarithmicHalfPeriod: .wrongPace
        case .crest, .meanCrest, .overallCrest, .impact, .roughness: .blowLike
        case .uprightness, .upwardPeak, .downwardPeak, .leastForce, .upwardForce, .downwardForce: .likeSteps
        case .weakestPeak: .tooWeak
        case .fall: .afterFall
        }
    }
}
