package import MotionCore

/// Writes a recording file: see "Recording files" in docs/command-line.md.
package struct RecordingWriter: ~Copyable {
    private let file: OutputFile
    private let hasTemperature: Bool
    private var origin: Timestamp?

    /// What was written so far.
    package private(set) var bytes: Int

    /// Opens `path` for writing (`-` is standard output) and writes the header.
    ///
    /// - Parameters:
    ///   - path: the file; what it held is lost.
    ///   - accelerometerRange: full scale, ±m/s²; infinite where it is not known.
    ///   - gyroscopeRange: full scale, ±rad/s; infinite where it is not known.
    ///   - hasTemperature: whether a column for the chip's temperature is written.
    /// - Throws: `RecordingError.system` where the file cannot be written.
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

    /// Appends a sample, its time told from the first one.
    package mutating func write(_ sample: MotionSample) throws(RecordingError) {
        let first = origin ?? sample.timestamp
        origin = first
        let acceleration = sample.acceleration
        let rate = sample.rotationRate
        // To the nanosecond: a driver that corrects its clock puts samples that close together rather than in disorder.
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

    /// Hands everything to the system.
    package func flush() throws(RecordingError) {
        try file.flush()
    }
}
