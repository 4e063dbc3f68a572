internal import IMUDrivers
internal import MotionCore

/// The memory of the last seconds, which the sensor thread fills: 72 bytes for each sample.
final class SampleMemory: Sendable {
    private let samples: NewestValues<MotionSample>
    /// `nil` without a magnetometer.
    private let fields: NewestValues<MagneticSample>?

    /// Seconds after the end of what is wanted at which it has been read from the chip and is copied.
    private static let delay = 2.5
    /// The most readings of a magnetometer a second.
    private static let fieldRate = 100.0
    /// Samples a second beyond any chip's; more of a recording that is played back are not kept for so long.
    private static let rates = 1.0...4000.0

    /// Allocates memory for the last `seconds` of a sensor.
    convenience init(seconds: Double, of device: any SensorDevice) {
        self.init(seconds: seconds, rate: device.info.nominalRate, hasField: device.magnetometerName != nil)
    }

    /// Allocates memory for the last `seconds` at a nominal rate.
    init(seconds: Double, rate: Double, hasField: Bool) {
        func capacity(_ rate: Double) -> Int {
            Int(((seconds + Self.delay) * rate * RecentSamples.rateTolerance).rounded(.up))
        }
        samples = NewestValues(capacity: capacity(min(max(rate, Self.rates.lowerBound), Self.rates.upperBound)))
        fields = hasField ? NewestValues(capacity: capacity(Self.fieldRate)) : nil
    }

    /// The bytes of the memory.
    var byteCount: Int { samples.byteCount + (fields?.byteCount ?? 0) }

    /// Keeps a batch. For the sensor thread.
    func append(_ batch: borrowing SampleBatch) {
        batch.withSamples { samples.append($0) }
    }

    /// Keeps a reading of the magnetometer. For the sensor thread.
    func append(_ field: MagneticSample) {
        withUnsafePointer(to: field) { fields?.append(UnsafeBufferPointer(start: $0, count: 1)) }
    }

    /// A copy of what was measured between two instants. For any other thread.
    func copy(from start: Timestamp, to end: Timestamp, _ info: IMUInfo) -> RecentSamples {
        RecentSamples(
            samples: samples.copy { $0.timestamp >= start && $0.timestamp <= end },
            fields: fields?.copy { $0.timestamp >= start && $0.timestamp <= end } ?? [],
            accelerometerRange: info.accelerometerRange, gyroscopeRange: info.gyroscopeRange, sensor: "\(info.name)")
    }
}
