/// Converts readings along the sensor's axes into what the body experiences along its own axes: removes the chip's
/// errors, then rotates the axes.
package struct SensorCalibration: Equatable, Sendable, BitwiseCopyable {
    /// Rotates sensor axes into body axes; orthonormal.
    package let mount: Matrix3

    /// The chip's errors.
    package let chip: ChipCalibration

    /// The chip's matrices multiplied by the mounting: one product per sample instead of two.
    private let forceMatrix: Matrix3
    private let rateMatrix: Matrix3
    private let isIdentity: Bool

    /// The default changes nothing.
    package init(mount: Matrix3 = .identity, chip: ChipCalibration = ChipCalibration()) {
        self.mount = mount
        self.chip = chip
        forceMatrix = mount * chip.accelerometer.matrix
        rateMatrix = mount * chip.gyroscope.matrix
        isIdentity = mount == .identity && chip == ChipCalibration()
    }

    /// The sample along the body's axes. The flag of a clipped sensor axis is set for every body axis that it
    /// contributes to.
    @inline(__always)
    package func apply(_ sample: MotionSample) -> MotionSample {
        if isIdentity { return sample }
        var turned = sample
        turned.acceleration = forceMatrix * (sample.acceleration - chip.accelerometer.offset)
        // Without a gyroscope the rates are zeros, not readings, and have no bias.
        if sample.flags.contains(.rotationRate) {
            turned.rotationRate =
                rateMatrix * (sample.rotationRate - chip.gyroscope.bias(at: sample.temperature))
        }
        if !sample.flags.isDisjoint(with: .clipped) {
            turned.flags = turnedFlags(sample.flags)
        }
        return turned
    }

    /// The raw reading, rad/s along the sensor's axes, for the calibrated rate `rate` along the body's axes at a
    /// temperature (°C). Turns a bias that remains after calibration into the sensor's whole bias.
    package func sensorReading(ofRate rate: Vector3, temperature: Double) -> Vector3 {
        chip.gyroscope.bias(at: temperature) + rateMatrix.inverse * rate
    }

    /// A body axis counts as clipped if a clipped sensor axis makes up more than a tenth of it.
    private func turnedFlags(_ flags: MotionSample.Flags) -> MotionSample.Flags {
        var turned = flags.subtracting(.clipped)
        for body in 0..<3 {
            let row = body == 0 ? mount.row0 : body == 1 ? mount.row1 : mount.row2
            for sensor in 0..<3 where abs(row[sensor]) > 0.1 {
                if flags.contains(.accelerationClipped(axis: sensor)) {
                    turned.insert(.accelerationClipped(axis: body))
                }
                if flags.contains(.rotationRateClipped(axis: sensor)) {
                    turned.insert(.rotationRateClipped(axis: body))
                }
            }
        }
        return turned
    }
}
