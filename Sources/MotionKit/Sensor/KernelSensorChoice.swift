package import LinuxSensors

/// The kernel devices that form one sensor: an accelerometer, and the gyroscope of the same chip.
package struct KernelSensorChoice: Equatable, Sendable {
    /// The device with the accelerometer.
    package let accelerometer: IIODevice

    /// The device with the gyroscope if it is a separate one: some drivers register two devices for a chip.
    package let gyroscope: IIODevice?

    /// Why it was chosen, in words that can follow a colon.
    package let reason: String

    package var hasGyroscope: Bool { gyroscope != nil || accelerometer.quantities.contains(.rotationRate) }

    /// The devices for display: "iio:device0 (mpu6050)", "iio:device0 (lsm6dso_accel) with iio:device1 (lsm6dso_gyro)".
    package var name: String {
        gyroscope.map { "\(accelerometer.title) with \($0.title)" } ?? accelerometer.title
    }

    /// Chooses among the kernel's devices; `nil` if no device with an accelerometer matches.
    ///
    /// - Parameters:
    ///   - devices: all devices.
    ///   - name: the identifier, name or label of a device. If a chip has two devices, either matches.
    ///   - bus: the number of the chip's I2C bus.
    ///   - address: the chip's I2C address.
    init?(among devices: [IIODevice], named name: String? = nil, bus: Int? = nil, address: UInt8? = nil) {
        let accelerometers = devices.filter { device in
            guard device.quantities.contains(.acceleration) else { return false }
            if let bus, device.i2cPlace?.bus != bus { return false }
            if let address, device.i2cPlace?.address != address { return false }
            return true
        }
        let sensors = accelerometers.map { device -> (accelerometer: IIODevice, gyroscope: IIODevice?) in
            guard !device.quantities.contains(.rotationRate) else { return (device, nil) }
            let partner = devices.first {
                $0.chip == device.chip && $0.quantities.contains(.rotationRate)
                    && !$0.quantities.contains(.acceleration)
            }
            return (device, partner)
        }
        let named = sensors.filter { sensor in
            guard let name else { return true }
            return sensor.accelerometer.isNamed(name) || sensor.gyroscope?.isNamed(name) == true
        }
        let withGyroscope = named.filter { $0.gyroscope != nil || $0.accelerometer.quantities.contains(.rotationRate) }
        guard let best = withGyroscope.first ?? named.first else { return nil }
        accelerometer = best.accelerometer
        gyroscope = best.gyroscope
        if let name {
            reason = "the one called \(name)"
        } else if named.count == 1 {
            reason = "the only device of a kernel driver with an accelerometer"
        } else if withGyroscope.isEmpty {
            reason = "the first of \(named.count) kernel devices with an accelerometer"
        } else {
            reason = "the first of \(named.count) kernel devices with an accelerometer that has a gyroscope, too"
        }
    }

    /// Finds the same sensor after its driver was bound again, when its device numbers may have changed.
    func found(among devices: [IIODevice]) -> (accelerometer: IIODevice, gyroscope: IIODevice?)? {
        func match(_ device: IIODevice) -> IIODevice? {
            let same = devices.filter { $0.name == device.name && $0.quantities == device.quantities }
            // If it was plugged in elsewhere, it has another parent.
            return same.first { $0.chip == device.chip } ?? same.first { $0.label == device.label }
        }
        guard let accelerometer = match(accelerometer) else { return nil }
        guard let gyroscope else { return (accelerometer, nil) }
        guard let partner = match(gyroscope), partner.chip == accelerometer.chip else { return nil }
        return (accelerometer, partner)
    }
}
