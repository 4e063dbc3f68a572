internal import MotionCore

/// A recording of a sensor at rest, as columns. `init` has checked that the sensor did not move and that the samples are
/// evenly spaced.
package struct RestingRecording: Sendable {
    /// The acceleration along x, y and z, m/s².
    package let acceleration: [[Double]]

    /// The rotation rate about x, y and z, rad/s; `nil` if there is no gyroscope.
    package let rotationRate: [[Double]]?

    /// Seconds between samples.
    package let period: Double

    /// Missing samples, too few to matter: their total duration in seconds, and the number of gaps.
    package let missing: (seconds: Double, gaps: Int)

    /// The chip's mean temperature in the first and in the last second, and the lowest and highest, °C; `nil` if unknown.
    package let temperature: (first: Double, last: Double, lowest: Double, highest: Double)?

    /// The number of samples.
    package var count: Int { acceleration[0].count }

    /// The duration, seconds.
    package var duration: Double { Double(count) * period }

    // The minimum for a useful recording.
    package static let shortestDuration = 30.0
    package static let fewestSamples = AllanDeviation.fewestSamples

    /// The most samples: a day at 200 Hz. Each needs 96 bytes of memory while it is checked, all together two gigabytes.
    package static let mostSamples = 20_000_000

    /// Reads the recording at `path` (`-` is standard input) and checks it.
    package init(path: String, mostSamples: Int = mostSamples) throws(RestingRecordingError) {
        var columns = Columns()
        do {
            var reader = try RecordingReader(path: path, maximumSamples: mostSamples)
            while let sample = try reader.next() { columns.add(sample) }
        } catch {
            throw .unreadable(error)
        }
        let count = columns.times.count
        let duration = count > 1 ? columns.times[count - 1] - columns.times[0] : 0
        // `jostle record --for 30` may stop one period before 30 s.
        guard count >= RestingRecording.fewestSamples, duration >= RestingRecording.shortestDuration * 0.99 else {
            throw .tooShort(seconds: duration, samples: count)
        }
        let steps = try RestingRecording.steps(columns.times)
        try RestCheck(columns, period: steps.period).run()
        acceleration = columns.acceleration
        rotationRate = columns.rotationRate
        period = steps.period
        missing = steps.missing
        temperature = RestingRecording.temperature(columns.temperatures, period: steps.period)
    }

    /// The period of the samples. Intervals may differ from it by a fifth, except for one in a thousand.
    private static func steps(
        _ times: [Double]
    ) throws(RestingRecordingError) -> (period: Double, missing: (seconds: Double, gaps: Int)) {
        let intervals = zip(times.dropFirst(), times).map { $0 - $1 }
        let usual = intervals.sorted()[intervals.count / 2]
        var sum = 0.0
        var irregular: [Int] = []
        for (index, interval) in intervals.enumerated() {
            if abs(interval - usual) <= 0.2 * usual { sum += interval } else { irregular.append(index) }
        }
        let period = sum / Double(intervals.count - irregular.count)
        let missing = irregular.reduce(0) { $0 + max(0, intervals[$1] - period) }
        if let first = irregular.first {
            let areMany = irregular.count * 1000 > intervals.count
            if areMany || missing > 0.01 * (times[times.count - 1] - times[0]) {
                throw .irregular(
                    at: times[first + 1], interval: intervals[first], period: period, count: irregular.count)
            }
        }
        return (period, (missing, irregular.count))
    }

    private static func temperature(
        _ values: [Double], period: Double
    ) -> (first: Double, last: Double, lowest: Double, highest: Double)? {
        let known = values.filter(\.isFinite)
        guard let lowest = known.min(), let highest = known.max() else { return nil }
        let second = max(1, min(known.count, Int(1 / period)))
        func mean(_ part: ArraySlice<Double>) -> Double { part.reduce(0, +) / Double(part.count) }
        return (mean(known.prefix(second)), mean(known.suffix(second)), lowest, highest)
    }
}

/// Why a recording says nothing about a sensor's noise.
package enum RestingRecordingError: Error, Equatable, Sendable {
    /// It cannot be read, or is malformed.
    case unreadable(RecordingError)
    /// It is too short.
    case tooShort(seconds: Double, samples: Int)
    /// The samples are not evenly spaced. `at` is the time of the first one that is off: it came `interval` seconds after
    /// its predecessor, instead of `period`. `count` is the number of such samples.
    case irregular(at: Double, interval: Double, period: Double, count: Int)
    /// The sensor moved between two times, s.
    case moved(from: Double, until: Double, RestViolation)
}

extension RestingRecordingError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreadable(let error): "\(error)"
        case .tooShort(let seconds, let samples):
            "\(samples) samples in \(fixed(seconds, decimals: 1)) s are too few: at least "
                + "\(RestingRecording.fewestSamples) samples and \(fixed(RestingRecording.shortestDuration, decimals: 0)) s "
                + "are needed, an hour is better"
        case .irregular(let time, let interval, let period, let count):
            "the samples are not evenly spaced: the one at t_s = \(fixed(time, decimals: 3)) comes "
                + "\(fixed(interval * 1000, decimals: 2)) ms after the one before it instead of "
                + "\(fixed(period * 1000, decimals: 2)) ms; \(count) intervals are more than 20 % off"
        case .moved(let from, let until, let violation):
            "the sensor was not at rest from t_s = \(fixed(from, decimals: 1)) to \(fixed(until, decimals: 1)): "
                + "\(violation)"
        }
    }
}

/// A recording's samples as columns.
struct Columns {
    private(set) var times: [Double] = []
    private(set) var acceleration: [[Double]] = [[], [], []]
    private(set) var temperatures: [Double] = []
    private var rates: [[Double]] = [[], [], []]
    private var hasRates = true

    /// The gyroscope's columns; `nil` unless every row has them.
    var rotationRate: [[Double]]? { hasRates ? rates : nil }

    mutating func add(_ sample: MotionSample) {
        times.append(sample.timestamp.seconds)
        for axis in 0..<3 { acceleration[axis].append(sample.acceleration[axis]) }
        temperatures.append(sample.temperature)
        hasRates = hasRates && sample.flags.contains(.rotationRate)
        guard hasRates else { return }
        for axis in 0..<3 { rates[axis].append(sample.rotationRate[axis]) }
    }
}

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
