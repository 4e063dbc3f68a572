internal import CMotionMath

/// Decides how large a movement has to be for a shake, given what it looks like.
///
/// Two small neural networks each turn the features into one number, the movement's likeness to a shake. The amplitude
/// does not enter them: a movement is a shake where the weakest of its last three peaks exceeds
///
///     A = max(0.5, exp(mean of (threshold - likeness) / slope - 0.2)) g
///
/// So sensitivity divides this amplitude, and a higher one never misses what a lower one catches. Two, because they were
/// fitted to differently varied material: what both doubt is no shake, and neither's whims decide alone.
struct ShakeModel: ~Copyable {
    /// Each step of sensitivity divides the needed amplitude by this.
    static let sensitivityStep = 1.15
    /// The least peak that a shake of the best shape needs at the default sensitivity, g: below it are brushing teeth,
    /// wiping and writing, however regular.
    private static let leastAmplitude = 0.5
    /// Two that have to agree are stricter than each alone: so much less of the logarithm of amplitude is asked for.
    private static let concession = 0.2
    /// The peak that a shake's weakest swing typically has, g.
    private static let typicalAmplitude = 1.2

    private let lateral = ShakeNetwork(.lateral)
    private let upright = ShakeNetwork(.upright)

    /// The amplitude, m/s², that the weakest of the last three swings needs.
    func neededAmplitude(_ features: borrowing ShakeFeatures, sensitivity: Int) -> Double {
        let shaped = exp(0.5 * (lateral.doubt(features) + upright.doubt(features)) - ShakeModel.concession)
        return standardGravity * max(ShakeModel.leastAmplitude, shaped)
            / pow(ShakeModel.sensitivityStep, Double(sensitivity - 5))
    }

    /// What speaks most against a shake: the aspect that, were it like a typical shake's, would take most doubt away.
    func obstacle(_ features: borrowing ShakeFeatures) -> ShakeRefusal.Reason {
        let present = lateral.doubt(features) + upright.doubt(features)
        var obstacle = ShakeRefusal.Reason.tooWeak
        var most = 2 * log(ShakeModel.typicalAmplitude * standardGravity / max(1e-3, features.weakest))
        var next: UInt8 = 0
        while let reason = ShakeRefusal.Reason(rawValue: next) {
            next += 1
            let left = lateral.doubt(features, mending: reason) + upright.doubt(features, mending: reason)
            if present - left > most {
                most = present - left
                obstacle = reason
            }
        }
        return obstacle
    }
}

/// One of the model's networks: a sum of the features and of ten hidden units, each of which is a sum of the features bent
/// by z/(1 + |z|).
struct ShakeNetwork: ~Copyable {
    /// A feature further from its mean than this many deviations is taken as that far: nothing so far was ever seen.
    private static let farthest = 4.0

    private static var features: Int { ShakeFeatures.count }

    /// The present features, scaled, and the weights: copied once, so that no sample pays for a table's first use.
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

    /// The logarithm of the amplitude, g, that a movement of these features needs; with `mending`, were those that speak
    /// of that aspect like a typical shake's.
    func doubt(_ features: borrowing ShakeFeatures, mending aspect: ShakeRefusal.Reason? = nil) -> Double {
        for index in 0..<ShakeNetwork.features {
            let isMended = aspect != nil && ShakeFeature(rawValue: index)?.aspect == aspect
            let value = isMended ? typical[index] : features[index]
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
    /// What a feature that is unlike a shake's speaks of.
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

/// Why a movement of several swings was not a shake: for those who tune.
struct ShakeRefusal: Equatable, Sendable, BitwiseCopyable {
    /// What spoke most against it.
    enum Reason: UInt8, CaseIterable, Sendable, BitwiseCopyable {
        /// Its weakest swing was too weak, though otherwise like a shake. Amplitudes, m/s².
        case tooWeak
        /// It turned round too rarely. Swings, or amplitudes where there were three.
        case tooFewReversals
        /// It came out of movement. The quietest 0.4 s before it and the most they may have, or amplitudes; m/s².
        case noQuietBefore
        /// Its swings did not keep to one line. Amplitudes, m/s².
        case notAlongOneLine
        /// Its swings differed in strength or duration. Amplitudes, m/s².
        case tooIrregular
        /// Its swings were too slow or too quick. Amplitudes, m/s².
        case wrongPace
        /// Its swings were peaky or rough like blows. Amplitudes, m/s².
        case blowLike
        /// It went up and down like steps and jumps. Amplitudes, m/s².
        case likeSteps
        /// The board fell just before. Seconds of the fall, or amplitudes.
        case afterFall
    }

    var reason: Reason
    /// What was found, and what it would have had to reach or keep below. In most cases the peak of the weakest swing
    /// and the peak that so shaped a movement needs; see `Reason`.
    var value: Double
    var limit: Double
    /// How many swings there were.
    var swings: Int
    /// The sample at which it was nearest to a shake.
    var timestamp: Timestamp
}

extension NearMiss {
    /// What a refused shake lacked.
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
            }
        // Two swings are counted; a shape is told by the amplitude that it needs; a fall by its length.
        let unit: Unit =
            switch refusal.reason {
            case .tooFewReversals where refusal.swings < 3: .one
            case .afterFall where refusal.value < 2 && refusal.limit < 1: .seconds
            default: .acceleration
            }
        self.init(.shake, reason, at: refusal.timestamp, value: refusal.value, limit: refusal.limit, unit: unit)
    }
}
