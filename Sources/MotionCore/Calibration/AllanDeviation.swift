internal import CMotionMath

/// The overlapping Allan deviation of a resting axis: how much the means of neighbouring stretches differ, as a
/// function of their length.
///
/// Its slope identifies the kind of noise: -1/2 for white noise, 0 for bias instability, +1/2 for a random walk of the
/// bias. IEEE Std 952-1997, annex C; W. J. Riley, Handbook of Frequency Stability Analysis (NIST SP 1065), 5.2.4.
///
/// All values are in the unit of the samples, called u here: rad/s or m/s².
package struct AllanDeviation: Sendable {
    /// The deviation at one averaging time.
    package struct Point: Equatable, Sendable, BitwiseCopyable {
        /// The averaging time τ, seconds.
        package let tau: Double
        /// The deviation at `tau`, u.
        package let deviation: Double
        /// The number of pairs of neighbouring stretches that it averages.
        package let pairs: Int
        /// Standard error of the deviation, relative to it.
        ///
        /// For stretches that do not overlap (IEEE Std 952-1997, C.4); overlapping ones are never worse.
        package let relativeError: Double
    }

    /// A kind of noise with a known slope: a line fitted where the curve comes closest to that slope.
    package struct Line: Equatable, Sendable {
        /// The value of the line at τ = 1 s.
        package let atOneSecond: Double
        /// The slope of the curve itself there, and its standard error.
        package let slope: Double
        package let slopeError: Double
        /// The averaging times that were fitted, seconds.
        package let tau: ClosedRange<Double>
    }

    /// The minimum of the curve.
    package struct BiasInstability: Equatable, Sendable, BitwiseCopyable {
        /// The instability B, u: the minimum over √(2·ln 2/π) = 0.664 (IEEE Std 952-1997, C.1.3).
        package let value: Double
        /// The averaging time of the minimum, seconds.
        package let tau: Double
        /// Whether the value is only an upper bound, because white noise alone still explains the minimum.
        package let isUpperBound: Bool
    }

    /// The curve, at averaging times of 1, 2, 5, 10, 20, 50 … samples.
    package let points: [Point]

    /// White noise: the line of slope -1/2; `nil` if the curve has none.
    package let whiteNoise: Line?

    /// The random walk of the bias: the line of slope +1/2; `nil` if the curve has none.
    package let biasWalk: Line?

    /// The minimum of the curve; `nil` if the samples never change.
    package let biasInstability: BiasInstability?

    /// The density of the white noise as data sheets give it, u/√Hz: one-sided, hence √2 times the line at 1 s.
    package var noiseDensity: Double? { whiteNoise.map { $0.atOneSecond * 2.0.squareRoot() } }

    /// The random walk of the integrated samples, u·√s: the standard deviation of an angle or a speed after one second.
    package var randomWalk: Double? { whiteNoise?.atOneSecond }

    /// The random walk of the bias K, u/√s: the line σ = K·√(τ/3) at τ = 3 s (IEEE Std 952-1997, C.1.4).
    package var biasRandomWalk: Double? { biasWalk.map { $0.atOneSecond * 3.0.squareRoot() } }

    /// Computes the deviation of one axis.
    ///
    /// Takes time proportional to the samples times the averaging times, of which there are three per decade.
    ///
    /// - Parameters:
    ///   - samples: readings of the axis at rest, evenly spaced in time.
    ///   - period: seconds between two samples.
    /// - Throws: `AllanDeviationError` if the samples or their period cannot be used.
    package init(samples: [Double], period: Double) throws(AllanDeviationError) {
        guard period > 0, period.isFinite else { throw .invalidPeriod }
        guard samples.count >= Self.fewestSamples else {
            throw .tooShort(samples: samples.count, needed: Self.fewestSamples)
        }
        let sums = try Self.sums(of: samples)
        // Anything smaller is rounding left over from samples that never change.
        let rounding = 1e-12 * sums.reduce(0) { max($0, abs($1)) }
        var points: [Point] = []
        var decade = 1
        scan: while true {
            for step in 0..<3 {
                let length = decade * (step == 0 ? 1 : step == 1 ? 2 : 5)
                guard length * Self.fewestStretches <= samples.count else { break scan }
                points.append(Self.point(sums, length: length, period: period, rounding: rounding))
            }
            decade *= 10
        }
        self.points = points
        let whiteNoise = Self.line(of: points, slope: -0.5, from: 0)
        self.whiteNoise = whiteNoise
        var lowest: Int?
        for index in points.indices where points[index].deviation > 0 {
            if let found = lowest, points[found].deviation <= points[index].deviation { continue }
            lowest = index
        }
        biasWalk = lowest.flatMap { Self.line(of: points, slope: 0.5, from: $0) }
        biasInstability = lowest.map { Self.instability(points, at: $0, whiteNoise: whiteNoise) }
    }

    /// With fewer samples the curve is not reliable.
    package static var fewestSamples: Int { 1000 }

    /// The curve ends when the recording holds this many stretches: the deviation is then uncertain by a quarter.
    package static var fewestStretches: Int { 9 }

    /// The duration, seconds, of a recording whose deviation at `tau` has this relative standard error.
    package static func duration(for tau: Double, relativeError: Double) -> Double {
        tau * (1 + 1 / (2 * relativeError * relativeError))
    }
}

/// Why the deviation cannot be computed.
package enum AllanDeviationError: Error, Equatable, Sendable, BitwiseCopyable {
    /// The recording has too few samples.
    case tooShort(samples: Int, needed: Int)
    /// A sample is not a finite number.
    case notFinite(index: Int)
    /// The sample period is not a positive number.
    case invalidPeriod
}

// The curve.
extension AllanDeviation {
    /// The running sums of the samples minus their mean: before each sample, and after the last one.
    ///
    /// Subtracting the mean keeps the sums small, so that small differences between them stay exact.
    private static func sums(of samples: [Double]) throws(AllanDeviationError) -> [Double] {
        var total = 0.0
        for index in samples.indices {
            guard samples[index].isFinite else { throw .notFinite(index: index) }
            total += samples[index]
        }
        let mean = total / Double(samples.count)
        var sums: [Double] = []
        sums.reserveCapacity(samples.count + 1)
        var sum = 0.0
        sums.append(sum)
        for sample in samples {
            sum += sample - mean
            sums.append(sum)
        }
        return sums
    }

    /// The deviation for stretches of `length` samples, over all pairs of neighbouring stretches.
    private static func point(_ sums: [Double], length: Int, period: Double, rounding: Double) -> Point {
        let samples = sums.count - 1
        let pairs = samples - 2 * length + 1
        var squares = 0.0
        for first in 0..<pairs {
            let difference = sums[first + 2 * length] - 2 * sums[first + length] + sums[first]
            squares += difference * difference
        }
        let variance = squares / (2 * Double(pairs) * Double(length) * Double(length))
        let deviation = variance.squareRoot()
        return Point(
            tau: Double(length) * period, deviation: deviation * Double(length) > rounding ? deviation : 0,
            pairs: pairs,
            relativeError: 1 / (2 * (Double(samples) / Double(length) - 1)).squareRoot())
    }
}

// Quantities read from the curve.
extension AllanDeviation {
    /// The points that a line is fitted to: a decade.
    private static var pointsOfLine: Int { 4 }

    /// If the slope plus its standard error is farther from the wanted slope, it is another kind of noise.
    private static var slopeTolerance: Double { 0.2 }

    /// Fits a line of `slope` to the decade, from the point `first` on, whose slope is certain to be closest to it.
    private static func line(of points: [Point], slope wanted: Double, from first: Int) -> Line? {
        var best: Line?
        var smallest = slopeTolerance
        var start = first
        while start + pointsOfLine <= points.count {
            if let line = fit(points, from: start, slope: wanted) {
                // A short stretch of few pairs can have any slope by chance, so its standard error counts against it.
                let distance = abs(line.slope - wanted) + line.slopeError
                if distance < smallest {
                    smallest = distance
                    best = line
                }
            }
            start += 1
        }
        return best
    }

    /// Fits the logarithms of a decade of points, weighted by their uncertainty; `nil` if one of them is zero.
    private static func fit(_ points: [Point], from start: Int, slope wanted: Double) -> Line? {
        var weights = 0.0
        var meanX = 0.0
        var meanY = 0.0
        let range = start..<start + pointsOfLine
        for point in points[range] {
            guard point.deviation > 0 else { return nil }
            let weight = 1 / (point.relativeError * point.relativeError)
            weights += weight
            meanX += weight * log(point.tau)
            meanY += weight * log(point.deviation)
        }
        meanX /= weights
        meanY /= weights
        var xx = 0.0
        var xy = 0.0
        for point in points[range] {
            let weight = 1 / (point.relativeError * point.relativeError)
            let x = log(point.tau) - meanX
            xx += weight * x * x
            xy += weight * x * (log(point.deviation) - meanY)
        }
        return Line(
            atOneSecond: exp(meanY - wanted * meanX), slope: xy / xx, slopeError: (1 / xx).squareRoot(),
            tau: points[start].tau...points[start + pointsOfLine - 1].tau)
    }

    /// The instability that follows from the minimum, and whether the curve really has a minimum there.
    private static func instability(_ points: [Point], at index: Int, whiteNoise: Line?) -> BiasInstability {
        let point = points[index]
        var isUpperBound = index == points.count - 1
        if let whiteNoise {
            // If white noise alone explains the minimum, it is only the end of the recording.
            let white = whiteNoise.atOneSecond / point.tau.squareRoot()
            isUpperBound = point.deviation < white * (1 + 2 * point.relativeError)
        }
        return BiasInstability(
            value: point.deviation / (2 * log(2.0) / .pi).squareRoot(), tau: point.tau, isUpperBound: isUpperBound)
    }
}
