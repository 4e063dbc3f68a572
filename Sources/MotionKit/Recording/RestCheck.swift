internal import MotionCore

/// A reason why a recording is not of a resting sensor.
package struct RestViolation: Equatable, Sendable {
    /// What an axis did in a stretch of the recording.
    package enum Kind: Equatable, Sendable {
        /// The standard deviation of the readings, and the largest that is allowed at rest.
        case spread(Double, allowed: Double)
        /// The mean changed by this much from the last stretch at rest.
        case jump(Double)
        /// The mean differed by this much from its usual value.
        case shift(Double)
        /// The mean rotation rate was too large for a bias.
        case turning(Double)
    }

    /// Whether the axis is the gyroscope's (rad/s) or the accelerometer's (m/s²).
    package let isGyroscope: Bool

    /// 0 (x), 1 (y) or 2 (z).
    package let axis: Int
    package let kind: Kind
}

extension RestViolation: CustomStringConvertible {
    package var description: String {
        let name = "\(isGyroscope ? "g" : "a")\(["x", "y", "z"][axis])"
        switch kind {
        case .spread(let value, let allowed):
            return "\(name) had a standard deviation of \(text(value)), more than \(text(allowed))"
        case .jump(let value): return "the mean of \(name) jumped by \(text(value))"
        case .shift(let value): return "the mean of \(name) was \(text(value)) off its usual value"
        case .turning(let value): return "the mean of \(name) was \(text(value)), more than a bias can be"
        }
    }

    private func text(_ value: Double) -> String {
        isGyroscope ? "\(fixed(value * degreesPerRadian, decimals: 2)) °/s" : "\(fixed(value, decimals: 3)) m/s²"
    }
}

/// Looks for movement in a recording: half-second stretches whose spread or mean differs from the others.
///
/// The usual value is the median over all stretches, because a short movement does not change it.
struct RestCheck {
    private let columns: Columns
    private let length: Int

    /// Prepares the check of samples `period` seconds apart.
    init(_ columns: Columns, period: Double) {
        self.columns = columns
        length = max(16, Int(0.5 / period))
    }

    /// The limits for an axis at rest.
    private struct Limits {
        /// The largest standard deviation of a stretch. Even noisy chips stay below a third of it.
        let spread: Double
        /// How far the standard deviation of a stretch may exceed three times the usual one.
        let spreadMargin: Double
        /// How far, apart from noise, a mean may differ from that of the last stretch at rest.
        let jump: Double
        /// How far a mean may differ from the usual one. Warming by 20 °C stays below it (PS-MPU-6000A-00 r3.4, p. 12,
        /// 13).
        let shift: Double
        /// The largest mean.
        let bias: Double

        static let gyroscope = Limits(
            spread: 0.5 * radiansPerDegree, spreadMargin: 0.05 * radiansPerDegree, jump: 0.3 * radiansPerDegree,
            shift: 4 * radiansPerDegree, bias: 25 * radiansPerDegree)
        static let accelerometer = Limits(spread: 0.15, spreadMargin: 0.01, jump: 0.05, shift: 0.3, bias: .infinity)
    }

    /// Throws the first movement in the recording.
    func run() throws(RestingRecordingError) {
        var first: (stretch: Int, last: Int, violation: RestViolation)?
        for axis in 0..<3 {
            for isGyroscope in [true, false] {
                guard let values = isGyroscope ? columns.rotationRate?[axis] : columns.acceleration[axis] else {
                    continue
                }
                let limits = isGyroscope ? Limits.gyroscope : Limits.accelerometer
                guard let found = movement(in: values, limits) else { continue }
                if let first, first.stretch <= found.stretch { continue }
                let violation = RestViolation(isGyroscope: isGyroscope, axis: axis, kind: found.kind)
                first = (found.stretch, found.last, violation)
            }
        }
        guard let first else { return }
        let end = min(columns.times.count - 1, (first.last + 1) * length)
        throw .moved(from: columns.times[first.stretch * length], until: columns.times[end], first.violation)
    }

    /// The first stretch in which the axis moved, the last one of that movement, and its kind.
    private func movement(in values: [Double], _ limits: Limits) -> (stretch: Int, last: Int, kind: RestViolation.Kind)?
    {
        var means: [Double] = []
        var spreads: [Double] = []
        for start in stride(from: 0, through: values.count - length, by: length) {
            let stretch = values[start..<start + length]
            let mean = stretch.reduce(0, +) / Double(length)
            let squares = stretch.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
            means.append(mean)
            spreads.append((squares / Double(length - 1)).squareRoot())
        }
        let usualMean = means.sorted()[means.count / 2]
        let usualSpread = spreads.sorted()[spreads.count / 2]
        // The margin is six times the noise of a difference of two means.
        let largestJump = limits.jump + 6 * usualSpread * (2 / Double(length)).squareRoot()
        let largestSpread = min(limits.spread, 3 * usualSpread + limits.spreadMargin)
        func kind(_ index: Int, after quiet: Double?) -> RestViolation.Kind? {
            if spreads[index] > largestSpread { return .spread(spreads[index], allowed: largestSpread) }
            let jump = quiet.map { abs(means[index] - $0) } ?? 0
            if jump > largestJump { return .jump(jump) }
            if abs(means[index] - usualMean) > limits.shift { return .shift(abs(means[index] - usualMean)) }
            return abs(means[index]) > limits.bias ? .turning(abs(means[index])) : nil
        }
        var quiet: Double?
        for index in means.indices {
            if let found = kind(index, after: quiet) {
                var last = index
                while last + 1 < means.count, kind(last + 1, after: quiet) != nil { last += 1 }
                return (index, last, found)
            }
            quiet = means[index]
        }
        return nil
    }
}
