internal import IMUDrivers
public import LinuxSystem
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
    package var line: Int { lines.line }

    /// The first column of the last row read, as it is written in the file.
    package private(set) var timeText: String

    /// The reading of the magnetometer in the last row read; `nil` if that has none.
    package private(set) var field: MagneticSample?

    /// The accelerometer's noise, m/s²/√Hz per axis; `nil` if the part is not named or its noise is not known.
    package var noiseDensity: Double? { header.sensor.flatMap { AccelerometerNoise.density(of: $0) } }

    /// Whether the recording has columns for a magnetometer.
    package var hasField: Bool { header.hasField }

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
        let header = try RecordingHeader(reading: &lines)
        self.header = header
        self.maximumSamples = maximumSamples
        self.lines = lines
        samples = 0
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
        let hasTemperature = header.hasTemperature
        let hasField = header.hasField
        // A row, or `nil` for a line without one.
        while let row = try lines.next({ text throws(MalformedLine) -> RowValues? in
            if text.isEmpty || text[0] == UInt8(ascii: "#") { return nil }
            return try RowValues(parsing: text, hasTemperature: hasTemperature, hasField: hasField)
        }) {
            if let row { return try sample(from: row) }
        }
        return nil
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
            throw lines.malformed(
                "more than \(maximumSamples) samples, the most that are read here; use a part of the recording")
        }
        samples += 1
        // Compare the rounded times that the samples get: two times less than a nanosecond apart may be equal.
        let timestamp = Timestamp(seconds: values.time)
        if let lastTimestamp, timestamp <= lastTimestamp {
            throw lines.malformed(
                "t_s is \(values.time), not later than \(lastTimestamp.seconds) in the row before")
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

/// The fixed texts of a recording's header.
enum RecordingFormat {
    static let header = "t_s,ax,ay,az,gx,gy,gz"
    static let temperature = ",temp_c"
    static let field = ",mx,my,mz"
    static let accelerometerRange = "accelerometer_range_m_s2"
    static let gyroscopeRange = "gyroscope_range_rad_s"
    static let sensor = "sensor"

    /// The largest values that a recording may contain, m/s², rad/s and µT: beyond every sensor, and small enough for the
    /// filter to square them.
    static let largestAcceleration = 1e5
    static let largestRotationRate = 1e4
    static let largestField = 1e5
}

/// The lines of a recording before its rows.
struct RecordingHeader {
    private(set) var accelerometerRange: Double?
    private(set) var gyroscopeRange: Double?
    private(set) var sensor: String?
    private(set) var hasTemperature = false
    private(set) var hasField = false

    /// Reads all lines up to and including the one that names the columns.
    init(reading reader: inout LineReader) throws(RecordingError) {
        var hasColumns = false
        while !hasColumns {
            let isFirst = reader.line == 0
            let found = try reader.next { line throws(MalformedLine) -> Bool in
                var text = String(decoding: UnsafeRawBufferPointer(line), as: UTF8.self)
                // Some spreadsheets write a byte order mark.
                if isFirst, text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
                guard text.hasPrefix("#") else { return try readColumns(text) }
                try readComment(text)
                return false
            }
            guard let found else {
                throw reader.malformed("no header; expected \(RecordingFormat.header)", inLine: reader.line + 1)
            }
            hasColumns = found
        }
    }

    /// Reads a range or the part from a comment that states one, and ignores any other comment.
    private mutating func readComment(_ text: String) throws(MalformedLine) {
        let body = text.drop { $0 == "#" || $0 == " " }
        guard let colon = body.firstIndex(of: ":") else { return }
        let name = body[..<colon]
        if name == RecordingFormat.sensor {
            sensor = String(body[body.index(after: colon)...].drop { $0 == " " }.prefix(64))
            return
        }
        guard name == RecordingFormat.accelerometerRange || name == RecordingFormat.gyroscopeRange else { return }
        let number = body[body.index(after: colon)...].drop { $0 == " " }.prefix { $0 != " " }
        // What Jostle wrote of a sensor without a gyroscope.
        if name == RecordingFormat.gyroscopeRange, number == "0.0" { return }
        guard let range = Double(number), range > 0, range.isFinite else {
            throw MalformedLine("\(name) is \"\(ForeignText.excerpt(String(number)))\", not a positive number")
        }
        let isAccelerometer = name == RecordingFormat.accelerometerRange
        let limit = isAccelerometer ? RecordingFormat.largestAcceleration : RecordingFormat.largestRotationRate
        guard range <= limit else { throw MalformedLine("\(name) is \(range), beyond \(Int(limit))") }
        if isAccelerometer { accelerometerRange = range } else { gyroscopeRange = range }
    }

    /// Checks the line that names the columns. Returns false for an empty line before it.
    private mutating func readColumns(_ text: String) throws(MalformedLine) -> Bool {
        let names = text.filter { $0 != " " }
        if names.isEmpty { return false }
        let withTemperature = RecordingFormat.header + RecordingFormat.temperature
        hasField = names == withTemperature + RecordingFormat.field
        hasTemperature = hasField || names == withTemperature
        guard hasTemperature || names == RecordingFormat.header else {
            throw MalformedLine(
                "the header is \"\(ForeignText.excerpt(text))\"; expected \(RecordingFormat.header) and optionally "
                    + "\(RecordingFormat.temperature), or \(RecordingFormat.temperature)\(RecordingFormat.field)")
        }
        return true
    }
}

/// What is wrong with a recording file.
public enum RecordingError: Error, Equatable, Sendable {
    /// It cannot be opened, read or written.
    case system(path: String, SystemFailure)
    /// A line does not follow the format: its number, from 1, and why.
    case malformed(path: String, line: Int, reason: String)
}

extension RecordingError: CustomStringConvertible {
    /// The path, the line if there is one, and what is wrong.
    public var description: String {
        switch self {
        case .system(let path, let failure):
            "\(path): \(failure)"
        case .malformed(let path, let line, let reason):
            "\(path):\(line): \(reason)"
        }
    }
}

/// The noise of accelerometers by the name of the part.
///
/// Typical values of the datasheets, for the mode that the driver uses. Parts whose datasheet has no figure are missing.
private enum AccelerometerNoise {
    /// µg/√Hz per axis.
    private static let densities: [String: Double] = [
        "MPU-6050": 400, "MPU-6500": 300, "MPU-9250": 300, "MPU-9255": 300, "ICM-20948": 230, "ICM-42688-P": 70,
        "LSM6DSO": 110, "LSM6DSOX": 110, "LIS3DH": 220, "BMI160": 180, "BMI270": 160, "ADXL343": 420, "ADXL345": 420,
        "ADXL346": 420,
    ]

    /// The noise density of a part, m/s²/√Hz per axis; `nil` if it is not known.
    static func density(of part: String) -> Double? { densities[part].map { $0 * 1e-6 * 9.80665 } }
}

extension IMUInfo {
    /// The accelerometer's noise, m/s²/√Hz per axis; `nil` if it is not known.
    var noiseDensity: Double? { AccelerometerNoise.density(of: "\(name)") }
}
