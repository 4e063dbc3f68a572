internal import Glibc
internal import LinuxSystem
package import MotionCore

/// Reads a recording file sample by sample: see "Recording files" in docs/command-line.md.
package struct RecordingReader: ~Copyable {
    /// Full scale of the accelerometer, ±m/s²; `nil` if the file does not state it.
    package var accelerometerRange: Double? { header.accelerometerRange }

    /// Full scale of the gyroscope, ±rad/s; `nil` if the file does not state it.
    package var gyroscopeRange: Double? { header.gyroscopeRange }

    /// The ranges that the file does not state.
    package var unknownRanges: UnknownRanges {
        var unknown: UnknownRanges = []
        if header.accelerometerRange == nil { unknown.insert(.accelerometer) }
        if header.gyroscopeRange == nil { unknown.insert(.gyroscope) }
        return unknown
    }

    /// The number of the last line read, from 1.
    package private(set) var line: Int

    /// The first column of the last row read, as it is written in the file.
    package private(set) var timeText: String

    /// The reading of the magnetometer in the last row read; `nil` if that has none.
    package private(set) var field: MagneticSample?

    /// Whether the recording has columns for a magnetometer.
    package var hasField: Bool { header.hasField }

    private let path: String
    private let header: RecordingHeader
    private let maximumSamples: Int
    private var samples: Int
    private var lines: LineReader
    private var lastTimestamp: Timestamp?

    /// Opens a recording and reads it up to its header.
    ///
    /// - Parameters:
    ///   - path: the file; `-` is standard input.
    ///   - maximumSamples: the most samples. A caller that keeps them needs a limit, because a pipe may never end.
    ///   - mustBeRegular: whether pipes and devices are refused.
    /// - Throws: `RecordingError` if the file cannot be read or does not have a recording's header.
    package init(path: String, maximumSamples: Int = .max, mustBeRegular: Bool = false) throws(RecordingError) {
        var lines = try LineReader(path: path, mustBeRegular: mustBeRegular)
        let header = try RecordingHeader(reading: &lines, path: path)
        self.path = path
        self.header = header
        self.maximumSamples = maximumSamples
        self.lines = lines
        samples = 0
        line = header.lines
        // Not default values: those would be set before the throwing calls, which Swift 6.0 does not compile.
        timeText = ""
        field = nil
        lastTimestamp = nil
    }

    /// The next sample, or `nil` at the end.
    ///
    /// - Throws: `RecordingError`, with the line number, if a row is malformed, its time does not increase, or it is one more
    ///   than the most samples.
    package mutating func next() throws(RecordingError) -> MotionSample? {
        while true {
            line += 1
            let hasTemperature = header.hasTemperature
            let hasField = header.hasField
            let result = lines.next { text -> Row in
                if text.isEmpty || text[0] == UInt8(ascii: "#") { return .skipped }
                return Row(parsing: text, hasTemperature: hasTemperature, hasField: hasField)
            }
            switch result {
            case .end:
                line -= 1
                return nil
            case .failed(let failure):
                throw .system(path: path, failure)
            case .tooLong:
                throw .malformed(path: path, line: line, reason: LineReader.tooLongReason)
            case .line(.skipped):
                continue
            case .line(.malformed(let reason)):
                throw .malformed(path: path, line: line, reason: reason)
            case .line(.values(let values)):
                return try sample(from: values)
            }
        }
    }

    /// All samples that are left.
    ///
    /// - Throws: as `next` does.
    package mutating func remainingSamples() throws(RecordingError) -> [MotionSample] {
        var samples: [MotionSample] = []
        while let sample = try next() { samples.append(sample) }
        return samples
    }

    private mutating func sample(from values: RowValues) throws(RecordingError) -> MotionSample {
        guard samples < maximumSamples else {
            throw .malformed(
                path: path, line: line,
                reason: "more than \(maximumSamples) samples, the most that are read here; use a part of the recording")
        }
        samples += 1
        // Compare the rounded times that the samples get: two times less than a nanosecond apart may be equal.
        let timestamp = Timestamp(seconds: values.time)
        if let lastTimestamp, timestamp <= lastTimestamp {
            throw .malformed(
                path: path, line: line,
                reason: "t_s is \(values.time), not later than \(lastTimestamp.seconds) in the row before")
        }
        lastTimestamp = timestamp
        timeText = values.timeText
        field = values.field.map { MagneticSample(timestamp: timestamp, field: $0) }
        var sample = MotionSample(
            timestamp: timestamp, acceleration: values.acceleration,
            rotationRate: values.rotationRate ?? .zero, temperature: values.temperature,
            flags: values.rotationRate == nil ? [] : .rotationRate)
        markClipped(&sample)
        return sample
    }

    /// Readings within 0.2 % of full scale, or beyond it, count as clipped.
    private func markClipped(_ sample: inout MotionSample) {
        for axis in 0..<3 {
            if let range = accelerometerRange, abs(sample.acceleration[axis]) >= 0.998 * range {
                sample.flags.insert(.accelerationClipped(axis: axis))
            }
            if let range = gyroscopeRange, abs(sample.rotationRate[axis]) >= 0.998 * range {
                sample.flags.insert(.rotationRateClipped(axis: axis))
            }
        }
    }
}
