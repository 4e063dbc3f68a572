internal import MotionCore

/// What an axis did that a resting one does not.
package struct RestViolation: Equatable, Sendable {
    /// What was seen in a stretch of the recording.
    package enum Kind: Equatable, Sendable {
        /// The readings spread: their standard deviation, and the largest that passes for rest.
        case spread(Double, allowed: Double)
        /// Their mean jumped by so much from one stretch to another.
        case jump(Double)
        /// Their mean left what it usually is, by so much.
        case shift(Double)
        /// They turned with a rate that no bias has.
        case turning(Double)
    }

    /// Whether it is an axis of the gyroscope (rad/s), else of the accelerometer (m/s²).
    package let isGyroscope: Bool

    /// 0 (x), 1 (y) or 2 (z).
    package let axis: Int
    package let kind: Kind
}

extension RestViolation: CustomStringConvertible {
    package var description: String {
        let name = "\(isGyroscope ? "g" : "a")\(["x", "y", "z"][axis])"
        switch kind {
        case .spread(let value, let allowed): return "\(name) spread by \(text(value)), beyond \(text(allowed))"
        case .jump(let value): return "the mean of \(name) jumped by \(text(value))"
        case .shift(let value): return "the mean of \(name) was \(text(value)) off the usual"
        case .turning(let value): return "\(name) was \(text(value)) in the mean, more than a bias can be"
        }
    }

    private func text(_ value: Double) -> String {
        isGyroscope ? "\(fixed(value * degreesPerRadian, decimals: 2)) °/s" : "\(fixed(value, decimals: 3)) m/s²"
    }
}

/// Looks for movement in a recording: half-second stretches whose spread or mean is not that of the others.
///
/// What is usual is the median over all stretches, so that some movement does not hide itself.
struct RestCheck {
    private let columns: Columns
    private let length: Int

    /// Prepares the check of samples `period` seconds apart.
    init(_ columns: Columns, period: Double) {
        self.columns = columns
        length = max(16, Int(0.5 / period))
    }

    /// What a resting axis keeps below.
    private struct Limits {
        /// A stretch's standard deviation, whatever is usual: noisy chips stay below a third of it.
        let spread: Double
        /// What a stretch's standard deviation may exceed three times the usual one by.
        let spreadMargin: Double
        /// What a mean may differ by from that of the last stretch at rest, besides its noise.
        let jump: Double
        /// A mean's distance from the usual one: warming by 20 °C does not reach it (PS-MPU-6000A-00 r3.4, p. 12, 13).
        let shift: Double
        /// The mean itself.
        let bias: Double

        static let gyroscope = Limits(
            spread: 0.5 * radiansPerDegree, spreadMargin: 0.05 * radiansPerDegree, jump: 0.3 * radiansPerDegree,
            shift: 4 * radiansPerDegree, bias: 25 * radiansPerDegree)
        static let accelerometer = Limits(spread: 0.15, spreadMargin: 0.01, jump: 0.05, shift: 0.3, bias: .infinity)
    }

    /// Throws the first movement there is.
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

    /// The first stretch in which an axis moved, the last of those that follow it without a pause, and what it did.
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
        // Six times the noise of a difference of two means.
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
