internal import Glibc
internal import LinuxSystem
package import MotionCore

/// Writes a recording file: see "Recording files" in docs/command-line.md.
package struct RecordingWriter: ~Copyable {
    private let file: OutputFile
    private let hasTemperature: Bool
    private let hasField: Bool
    /// Readings of the magnetometer that wait for the sample of their time.
    private var fields: [MagneticSample]
    private var origin: Timestamp?

    /// The number of bytes written so far.
    package private(set) var bytes: Int

    /// Opens `path` for writing (`-` is standard output) and writes the header.
    ///
    /// - Parameters:
    ///   - path: the file; previous content is lost.
    ///   - accelerometerRange: full scale, ±m/s²; infinite if unknown.
    ///   - gyroscopeRange: full scale, ±rad/s; infinite if unknown, 0 without a gyroscope.
    ///   - hasTemperature: whether to write a column for the chip's temperature.
    ///   - hasField: whether to write columns for a magnetometer, and that for the temperature.
    ///   - sensor: the name of the part; `nil` if it is not known.
    /// - Throws: `RecordingError.system` if the file cannot be written.
    package init(
        path: String, accelerometerRange: Double, gyroscopeRange: Double, hasTemperature: Bool, hasField: Bool = false,
        sensor: String? = nil
    ) throws(RecordingError) {
        let file = try OutputFile(path: path)
        var header = sensor.map { "# \(RecordingFormat.sensor): \($0)\n" } ?? ""
        if accelerometerRange.isFinite { header += "# \(RecordingFormat.accelerometerRange): \(accelerometerRange)\n" }
        if gyroscopeRange.isFinite, gyroscopeRange > 0 {
            header += "# \(RecordingFormat.gyroscopeRange): \(gyroscopeRange)\n"
        }
        let hasTemperature = hasTemperature || hasField
        header += "\(RecordingFormat.header)\(hasTemperature ? RecordingFormat.temperature : "")"
        header += hasField ? "\(RecordingFormat.field)\n" : "\n"
        try file.write(header)
        bytes = header.utf8.count
        self.file = file
        self.hasTemperature = hasTemperature
        self.hasField = hasField
        // Not a default value: that would be set before the throwing calls, which Swift 6.0 does not compile.
        fields = []
    }

    /// Appends a sample. Its time is relative to the first sample.
    package mutating func write(_ sample: MotionSample) throws(RecordingError) {
        let first = origin ?? sample.timestamp
        origin = first
        // To the nanosecond: when a driver corrects its clock, it may place samples one nanosecond apart to keep their
        // order.
        var row = "\(fixed(sample.timestamp.seconds(since: first), decimals: 9))"
        row += columns(of: sample.acceleration, decimals: 5)
        row += columns(of: sample.flags.contains(.rotationRate) ? sample.rotationRate : nil, decimals: 6)
        if hasTemperature {
            row += sample.temperature.isFinite ? ",\(fixed(sample.temperature, decimals: 2))" : ","
        }
        if hasField { row += takeField(until: sample.timestamp) }
        row += "\n"
        try file.write(row)
        bytes += row.utf8.count
    }

    /// Adds a reading of the magnetometer, which goes into the row of the first sample that is not earlier.
    package mutating func add(_ field: MagneticSample) {
        if hasField { fields.append(field) }
    }

    /// The columns of the newest reading that is not later than `time`.
    private mutating func takeField(until time: Timestamp) -> String {
        var newest: MagneticSample?
        while let first = fields.first, first.timestamp <= time {
            newest = first
            fields.removeFirst()
        }
        return columns(of: newest?.field, decimals: 3)
    }

    private func columns(of vector: Vector3?, decimals: Int) -> String {
        guard let vector else { return ",,," }
        return [vector.x, vector.y, vector.z].map { ",\(fixed($0, decimals: decimals))" }.joined()
    }

    /// Passes buffered rows to the operating system, and with `toDisk` to the disk.
    package func flush(toDisk: Bool = false) throws(RecordingError) {
        try file.flush(toDisk: toDisk)
    }
}

/// A file or standard output with buffered writing: fopen(3), fputs(3).
package struct OutputFile: ~Copyable {
    private let path: String
    private let file: UnsafeMutablePointer<FILE>

    /// Opens `path` for writing and truncates it; `-` is standard output.
    package init(path: String) throws(RecordingError) {
        // Standard output is duplicated, so that `deinit` can close either.
        let opened = path == "-" ? fdopen(dup(STDOUT_FILENO), "w") : fopen(path, "we")
        guard let opened else { throw .system(path: path, SystemFailure(code: errno)) }
        self.path = path
        file = opened
    }

    deinit {
        fclose(file)
    }

    /// Appends text.
    package func write(_ text: String) throws(RecordingError) {
        guard fputs(text, file) >= 0 else { throw .system(path: path, SystemFailure(code: errno)) }
    }

    /// Passes buffered text to the operating system, and with `toDisk` to the disk: fsync(2).
    package func flush(toDisk: Bool = false) throws(RecordingError) {
        guard fflush(file) == 0, !toDisk || fsync(fileno(file)) == 0 else {
            throw .system(path: path, SystemFailure(code: errno))
        }
    }
}

/// Formats a number with a fixed count of decimals, rounded to nearest. Numbers of 9·10¹⁵ units of the last place or more
/// keep their default format.
func fixed(_ value: Double, decimals: Int) -> String {
    var scale = 1.0
    for _ in 0..<decimals { scale *= 10 }
    let units = (abs(value) * scale).rounded()
    guard units < 9e15 else { return "\(value)" }
    let whole = Int64(units)
    let sign = value < 0 && whole != 0 ? "-" : ""
    guard decimals > 0 else { return "\(sign)\(whole)" }
    let digits = String(whole)
    let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
    return "\(sign)\(padded.dropLast(decimals)).\(padded.suffix(decimals))"
}
