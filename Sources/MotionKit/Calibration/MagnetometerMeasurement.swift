package import IMUDrivers
package import MotionCore

/// Reads a sensor with a magnetometer for the calibration of that, and collects the readings with the six-axis attitude.
///
/// It polls the device in the caller's thread: a movement of a minute needs no threads of its own.
package final class MagnetometerMeasurement {
    /// Why a device cannot be used.
    package enum Unsuitable: Error, Equatable, Sendable {
        case noMagnetometer(sensor: String)
        case noGyroscope(sensor: String)
    }

    private let device: any SensorDevice
    private let readings: MagneticReadings
    private var batch: SampleBatch

    /// The readings with their attitude.
    package var fit: MagneticFit { readings.collector.fit }
    package var phase: MagneticCollector.Phase { readings.collector.phase }
    /// The readings so far, also those at rest.
    package var count: Int { readings.collector.count }

    /// - Parameters:
    ///   - device: an open sensor, which nothing else polls.
    ///   - known: the calibration of its accelerometer and gyroscope.
    /// - Throws: why the device cannot be used.
    package init(_ device: any SensorDevice, known: StoredCalibration) throws(Unsuitable) {
        guard device.magnetometerName != nil else { throw .noMagnetometer(sensor: device.title) }
        guard device.info.gyroscopeRange > 0 else { throw .noGyroscope(sensor: device.title) }
        // Not default values, which Swift 6.0 would set before the throws.
        self.device = device
        batch = SampleBatch(capacity: 128)
        readings = MagneticReadings(known: known)
    }

    /// Polls the sensor once.
    ///
    /// - Returns: when to poll again, and what happened to the sensor.
    package func poll() -> IMUPoll {
        let poll = device.poll(into: &batch)
        while let reading = device.takeField() { readings.take(reading) }
        for index in 0..<batch.count { readings.take(batch[index]) }
        batch.removeAll()
        return poll
    }

    /// Puts the sensor to sleep.
    package func stop() throws(BusError) { try device.stop() }
}
