/// Turns what the sensor measured along its own axes into what the body experiences along its axes.
public struct SensorCalibration: Equatable, Sendable, BitwiseCopyable {
    /// Turns sensor axes into body axes; orthonormal.
    public let mount: Matrix3

    private let mountIsIdentity: Bool

    /// Makes a calibration that only turns the axes.
    public init(mount: Matrix3 = .identity) {
        self.mount = mount
        mountIsIdentity = mount == .identity
    }

    /// The sample along the body's axes; the flags of clipped axes follow to every body axis they reach.
    @inline(__always)
    public func apply(_ sample: MotionSample) -> MotionSample {
        if mountIsIdentity { return sample }
        var turned = sample
        turned.acceleration = mount * sample.acceleration
        turned.rotationRate = mount * sample.rotationRate
        if !sample.flags.isDisjoint(with: .clipped) {
            turned.flags = turnedFlags(sample.flags)
        }
        return turned
    }

    /// A body axis counts as clipped where a clipped sensor axis makes up more than a tenth of it.
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
