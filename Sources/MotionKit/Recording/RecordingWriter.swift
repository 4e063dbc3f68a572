package import MotionCore

/// Writes a recording file: see "Recording files" in docs/command-line.md.
package struct RecordingWriter: ~Copyable {
    private let file: OutputFile
    private let hasTemperature: Bool
    private var origin: Timestamp?

    /// The number of bytes written so far.
    package private(set) var bytes: Int

    /// Opens `path` for writing (`-` is standard output) and writes the header.
    ///
    /// - Parameters:
    ///   - path: the file; previous content is lost.
    ///   - accelerometerRange: full scale, ±m/s²; infinite if unknown.
    ///   - gyroscopeRange: full scale, ±rad/s; infinite if unknown.
    ///   - hasTemperature: whether to write a column for the chip's temperature.
    /// - Throws: `RecordingError.system` if the file cannot be written.
    package init(
        path: String, accelerometerRange: Double, gyroscopeRange: Double, hasTemperature: Bool
    ) throws(RecordingError) {
        let file = try OutputFile(path: path)
        var header = ""
        if accelerometerRange.isFinite { header += "# \(RecordingFormat.accelerometerRange): \(accelerometerRange)\n" }
        if gyroscopeRange.isFinite { header += "# \(RecordingFormat.gyroscopeRange): \(gyroscopeRange)\n" }
        header += "\(RecordingFormat.header)\(hasTemperature ? ",temp_c" : "")\n"
        try file.write(header)
        bytes = header.utf8.count
        self.file = file
        self.hasTemperature = hasTemperature
    }

    /// Appends a sample. Its time is relative to the first sample.
    package mutating func write(_ sample: MotionSample) throws(RecordingError) {
        let first = origin ?? sample.timestamp
        origin = first
        let acceleration = sample.acceleration
        let rate = sample.rotationRate
        // To the nanosecond: when a driver corrects its clock, it may place samples one nanosecond apart to keep their
        // order.
        var row = "\(fixed(sample.timestamp.seconds(since: first), decimals: 9))"
        row += ",\(fixed(acceleration.x, decimals: 5)),\(fixed(acceleration.y, decimals: 5))"
        row += ",\(fixed(acceleration.z, decimals: 5))"
        if sample.flags.contains(.rotationRate) {
            row += ",\(fixed(rate.x, decimals: 6)),\(fixed(rate.y, decimals: 6)),\(fixed(rate.z, decimals: 6))"
        } else {
            row += ",,,"
        }
        if hasTemperature {
            row += sample.temperature.isFinite ? ",\(fixed(sample.temperature, decimals: 2))" : ","
        }
        row += "\n"
        try file.write(row)
        bytes += row.utf8.count
    }

    /// Passes buffered rows to the operating system.
    package func flush() throws(RecordingError) {
        try file.flush()
    }
}
