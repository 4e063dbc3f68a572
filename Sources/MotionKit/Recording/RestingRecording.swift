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
        do throws(RecordingError) {
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
