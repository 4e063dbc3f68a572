package import MotionCore

/// What a sensor measured in the last seconds, along the sensor's axes, as recordings have it.
package struct RecentSamples: Sendable {
    package let samples: [MotionSample]
    /// The readings of the magnetometer; none without one.
    let fields: [MagneticSample]
    /// Full scale, ±m/s² and ±rad/s; infinite if unknown.
    let accelerometerRange: Double
    let gyroscopeRange: Double
    /// The name of the part.
    let sensor: String

    /// A chip's own rate is at most so many times the nominal one.
    package static let rateTolerance = 1.15

    /// The most bytes of a row of a recording, with a magnetometer.
    package static let largestRow = 110

    /// From the first sample to the last, s.
    package var seconds: Double {
        guard let first = samples.first, let last = samples.last else { return 0 }
        return last.timestamp.seconds(since: first.timestamp)
    }

    /// Writes them to a recording file; returns its size.
    package func write(to path: String) throws(RecordingError) -> Int {
        var writer = try RecordingWriter(
            path: path, accelerometerRange: accelerometerRange, gyroscopeRange: gyroscopeRange, hasTemperature: true,
            hasField: !fields.isEmpty, sensor: sensor)
        for field in fields { writer.add(field) }
        for sample in samples { try writer.write(sample) }
        try writer.flush(toDisk: true)
        return writer.bytes
    }
}
