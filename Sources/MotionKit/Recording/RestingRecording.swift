internal import MotionCore

/// A recording of a sensor that lies still: its axes as columns, once it is certain that it did lie still and that its
/// samples came in equal steps.
package struct RestingRecording: Sendable {
    /// What each axis measured, x, y, z: m/s².
    package let acceleration: [[Double]]

    /// The same of the gyroscope, rad/s; `nil` where there is none.
    package let rotationRate: [[Double]]?

    /// Seconds between two samples.
    package let period: Double

    /// Samples that are missing, as a length of time in seconds and as a number of gaps; too few to matter.
    package let missing: (seconds: Double, gaps: Int)

    /// The chip's temperature in the first and the last second, and the lowest and highest, °C; `nil` where it is unknown.
    package let temperature: (first: Double, last: Double, lowest: Double, highest: Double)?

    /// How many samples there are.
    package var count: Int { acceleration[0].count }

    /// How long it is, seconds.
    package var duration: Double { Double(count) * period }

    /// What a recording has to have at least.
    package static let shortestDuration = 30.0
    package static let fewestSamples = AllanDeviation.fewestSamples

    /// Reads the recording at `path` (`-` is standard input) and checks it.
    ///
    /// - Throws: why it is no recording of a resting sensor.
    package init(path: String) throws(RestingRecordingError) {
        var columns = Columns()
        do throws(RecordingError) {
            var reader = try RecordingReader(path: path)
            while let sample = try reader.next() { columns.add(sample) }
        } catch {
            throw .unreadable(error)
        }
        let count = columns.times.count
        let duration = count > 1 ? columns.times[count - 1] - columns.times[0] : 0
        // A period short of the round figure that `jostle record --for` was asked for is enough.
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

    /// The period of samples that come in equal steps, give or take a fifth, but for one in a thousand at most.
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

/// Why a recording tells nothing about a sensor's noise.
package enum RestingRecordingError: Error, Equatable, Sendable {
    /// It cannot be read, or is malformed.
    case unreadable(RecordingError)
    /// It is too short: its length in seconds and in samples.
    case tooShort(seconds: Double, samples: Int)
    /// Its samples do not come in equal steps: the first that does not, `interval` seconds after the one before instead of
    /// `period`, and how many there are.
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
            "the samples do not come in equal steps: at t_s = \(fixed(time, decimals: 3)) one comes "
                + "\(fixed(interval * 1000, decimals: 2)) ms after the one before instead of "
                + "\(fixed(period * 1000, decimals: 2)) ms; \(count) are more than 20 % off"
        case .moved(let from, let until, let violation):
            "the sensor did not rest from t_s = \(fixed(from, decimals: 1)) to \(fixed(until, decimals: 1)): "
                + "\(violation)"
        }
    }
}

/// The columns of a recording.
struct Columns {
    private(set) var times: [Double] = []
    private(set) var acceleration: [[Double]] = [[], [], []]
    private(set) var temperatures: [Double] = []
    private var rates: [[Double]] = [[], [], []]
    private var hasRates = true

    /// The gyroscope's, where every row has them.
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
