internal import CMotionMath

/// Computes the amplitude that a movement needs to count as a shake, given its shape.
///
/// Two small neural networks each turn the features into one number, the likeness to a shake. The amplitude is not one
/// of their inputs. A movement is a shake if the weakest of its last three peaks exceeds
///
///     A = max(0.5, exp(mean of (threshold - likeness) / slope - 0.2)) g
///
/// Sensitivity divides this amplitude, so a higher sensitivity never misses what a lower one recognises. There are two
/// networks because they were fitted to differently varied data: what both doubt is not a shake, and the quirks of one
/// do not decide alone.
struct ShakeModel: ~Copyable {
    /// Each step of sensitivity divides the needed amplitude by this.
    static let sensitivityStep = 1.15
    /// The smallest peak of a perfectly shaped shake at the default sensitivity, g. Brushing teeth, wiping and writing
    /// stay below it, however regular they are.
    private static let leastAmplitude = 0.5
    /// Two networks together are stricter than each alone; this is subtracted from the logarithm of the amplitude to
    /// compensate.
    private static let concession = 0.2

    private let lateral = ShakeNetwork(.lateral)
    private let upright = ShakeNetwork(.upright)

    /// The amplitude, m/s², that the weakest of the last three swings needs.
    func neededAmplitude(_ features: borrowing ShakeFeatures, sensitivity: Int) -> Double {
        let shaped = exp(
            0.5 * (lateral.logNeededAmplitude(features) + upright.logNeededAmplitude(features)) - ShakeModel.concession)
        return standardGravity * max(ShakeModel.leastAmplitude, shaped)
            / pow(ShakeModel.sensitivityStep, Double(sensitivity - 5))
    }

    /// The logarithm of the factor by which the movement would need less amplitude if one aspect of it were like that of
    /// a typical shake.
    func relief(_ features: borrowing ShakeFeatures, _ aspect: ShakeRefusal.Reason) -> Double {
        let present = lateral.logNeededAmplitude(features) + upright.logNeededAmplitude(features)
        let left =
            lateral.logNeededAmplitude(features, replacing: aspect)
            + upright.logNeededAmplitude(features, replacing: aspect)
        return 0.5 * (present - left)
    }
}

/// One of the model's networks: a weighted sum of the features plus ten hidden units. Each unit is a weighted sum of
/// the features with the activation z/(1 + |z|).
struct ShakeNetwork: ~Copyable {
    /// Scaled features are limited to this many deviations from the mean: the networks never saw anything beyond.
    private static let farthest = 4.0

    private static var features: Int { ShakeFeatures.count }

    /// The current scaled features and the weights. The weights are copied once, so that no sample pays for the lazy
    /// initialisation of a table.
    private let scaled: UnsafeMutablePointer<Double>
    private let mean: UnsafeMutablePointer<Double>
    private let scale: UnsafeMutablePointer<Double>
    private let typical: UnsafeMutablePointer<Double>
    private let direct: UnsafeMutablePointer<Double>
    private let hidden: UnsafeMutablePointer<Double>
    private let hiddenBias: UnsafeMutablePointer<Double>
    private let output: UnsafeMutablePointer<Double>
    private let bias: Double
    private let threshold: Double
    private let slope: Double

    init(_ weights: ShakeWeights) {
        scaled = .allocate(capacity: ShakeNetwork.features)
        scaled.initialize(repeating: 0, count: ShakeNetwork.features)
        mean = ShakeNetwork.table(weights.mean)
        scale = ShakeNetwork.table(weights.scale)
        typical = ShakeNetwork.table(weights.typical)
        direct = ShakeNetwork.table(weights.direct)
        hiddenBias = ShakeNetwork.table(weights.hiddenBias)
        output = ShakeNetwork.table(weights.output)
        var rows: [Double] = []
        for row in weights.hidden { rows += row }
        hidden = ShakeNetwork.table(rows)
        bias = weights.bias
        threshold = weights.threshold
        slope = weights.slope
    }

    deinit {
        scaled.deallocate()
        mean.deallocate()
        scale.deallocate()
        typical.deallocate()
        direct.deallocate()
        hidden.deallocate()
        hiddenBias.deallocate()
        output.deallocate()
    }

    private static func table(_ values: [Double]) -> UnsafeMutablePointer<Double> {
        let table = UnsafeMutablePointer<Double>.allocate(capacity: values.count)
        for (index, value) in values.enumerated() { (table + index).initialize(to: value) }
        return table
    }

    /// The logarithm of the amplitude, g, that a movement with these features needs. With an aspect, its features are
    /// replaced by those of a typical shake.
    func logNeededAmplitude(_ features: borrowing ShakeFeatures, replacing aspect: ShakeRefusal.Reason? = nil) -> Double
    {
        for index in 0..<ShakeNetwork.features {
            let isReplaced = aspect != nil && ShakeFeature(rawValue: index)?.aspect == aspect
            let value = isReplaced ? typical[index] : features[index]
            scaled[index] = max(
                -ShakeNetwork.farthest, min(ShakeNetwork.farthest, (value - mean[index]) * scale[index]))
        }
        return (threshold - likeness()) / slope
    }

    private func likeness() -> Double {
        let count = ShakeNetwork.features
        var sum = bias
        for index in 0..<count { sum += direct[index] * scaled[index] }
        for unit in 0..<ShakeWeights.hiddenUnits {
            var input = hiddenBias[unit]
            let row = hidden + unit * count
            for index in 0..<count { input += row[index] * scaled[index] }
            sum += output[unit] * input / (1 + abs(input))
        }
        return sum
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
        case .uprightness, .upwardPeak, .downwardPeak, .leastForce: .likeSteps
        case .fall: .afterFall
        }
    }
}
