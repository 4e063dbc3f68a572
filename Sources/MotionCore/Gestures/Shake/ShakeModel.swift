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
    func relief(_ features: borrowing ShakeFeatures, _ aspect: NearMiss.Reason) -> Double {
        let margin = aspect == .tooFewReversals && features[.threeSwings] > 0 ? ShakeModel.threeSwingMargin : 0
        let gain = network.likeness(features, replacing: aspect) - network.likeness(features)
        return (gain + margin) / ShakeWeights.slope
    }
}

extension ShakeFeature {
    /// The aspect that a feature describes.
    var aspect: NearMiss.Reason {
        switch self {
        case .threeSwings, .fourSwings, .fiveSwings: .tooFewReversals
        case .justBefore, .shortlyBefore, .quietest, .quietestLately, .meanBefore, .largestBefore, .busyBefore,
            .medianBefore, .loudestBefore:
            .noQuietBefore
        case .latestTurn, .earlierTurn, .sameSide, .across, .wander, .tilt: .notAlongOneLine
        case .spread, .acceleration, .middlePeak, .strongestPeak, .velocityRatio, .age: .tooIrregular
        case .halfPeriod, .logarithmicHalfPeriod: .wrongPace
        case .crest, .meanCrest, .overallCrest, .impact, .roughness: .tooPeaky
        case .uprightness, .upwardPeak, .downwardPeak, .leastForce, .upwardForce, .downwardForce: .likeSteps
        case .weakestPeak: .tooWeak
        case .fall: .partOfFall
        }
    }
}

/// The network of `ShakeModel`: a weighted sum of the features and of its hidden units. Each unit is a weighted sum of the
/// features with the activation z/(1 + |z|).
struct ShakeNetwork: ~Copyable {
    /// Units are computed in lanes of this type, all of a feature at a time.
    private typealias Lanes = SIMD8<Float>

    /// Scaled features are limited to this many deviations from the mean: the network never saw anything beyond.
    private static let farthest: Float = 4

    private static let features = ShakeFeatures.count
    private static let vectors = ShakeWeights.hiddenUnits / Lanes.scalarCount

    /// The weights are copied once, so that no sample pays for the lazy initialisation of a table.
    private let mean = ShakeNetwork.table(ShakeWeights.mean)
    private let scale = ShakeNetwork.table(ShakeWeights.scale)
    private let typical = ShakeNetwork.table(ShakeWeights.typical)
    private let direct = ShakeNetwork.table(ShakeWeights.direct)
    /// The weights of the first feature in all units, then those of the second, and so on.
    private let hidden = ShakeNetwork.lanes(ShakeWeights.hiddenFirst + ShakeWeights.hiddenSecond)
    private let hiddenBias = ShakeNetwork.lanes(ShakeWeights.hiddenBias)
    private let output = ShakeNetwork.lanes(ShakeWeights.output)
    /// The weighted sums of the units.
    private let inputs = FixedBuffer<Lanes>(count: ShakeNetwork.vectors)

    private static func table(_ values: [Float]) -> FixedBuffer<Float> {
        FixedBuffer(count: values.count) { values[$0] }
    }

    private static func lanes(_ values: [Float]) -> FixedBuffer<Lanes> {
        let width = Lanes.scalarCount
        return FixedBuffer(count: values.count / width) { Lanes(values[$0 * width..<($0 + 1) * width]) }
    }

    /// The likeness of a movement to a shake: the logarithm of the odds, as the network sees them. With an aspect, its
    /// features are replaced by those of a typical shake.
    func likeness(_ features: borrowing ShakeFeatures, replacing aspect: NearMiss.Reason? = nil) -> Double {
        for vector in 0..<ShakeNetwork.vectors { inputs[vector] = hiddenBias[vector] }
        var sum = ShakeWeights.bias
        for index in 0..<ShakeNetwork.features {
            let isReplaced = aspect != nil && ShakeFeature(rawValue: index)?.aspect == aspect
            let value = isReplaced ? typical[index] : Float(features[index])
            let scaled = max(-ShakeNetwork.farthest, min(ShakeNetwork.farthest, (value - mean[index]) * scale[index]))
            sum += direct[index] * scaled
            let row = index * ShakeNetwork.vectors
            for vector in 0..<ShakeNetwork.vectors { inputs[vector] += hidden[row + vector] * scaled }
        }
        for vector in 0..<ShakeNetwork.vectors {
            let input = inputs[vector]
            let size = input.replacing(with: -input, where: input .< 0)
            sum += (output[vector] * input / (1 + size)).sum()
        }
        return Double(sum)
    }
}
