internal import Glibc
public import MotionCore

/// A motion state in the axes, units and signs of CoreMotion's `CMDeviceMotion`: see ``MotionState/coreMotion``.
///
/// The axes are those of a phone: x to its right, y to its top edge, z out of its screen. A phone whose top edge points
/// along the x axis of the body, and whose screen points along z, has these values.
public struct CoreMotionValues: Equatable, Sendable, BitwiseCopyable {
    /// An attitude as `CMAttitude` has it.
    public struct Attitude: Equatable, Sendable, BitwiseCopyable {
        /// Rotation about y, rad, -π to π; positive when the right edge goes down.
        public var roll: Double

        /// Rotation about x, rad, -π/2 to π/2; positive when the top edge goes up.
        public var pitch: Double

        /// Rotation about z, rad, -π to π; positive counter-clockwise, seen from above.
        public var yaw: Double

        /// Turns vectors of the device into the reference frame, whose z axis points up.
        public var quaternion: Quaternion
    }

    /// The instant of the sample.
    public var timestamp: Timestamp

    /// The attitude relative to the reference attitude, after the low-pass: ``MotionState/relativeAttitude``.
    public var attitude: Attitude

    /// Gravity, g: points down, so a device that lies face up has -1 on z.
    public var gravity: Vector3

    /// Acceleration without gravity, g, with the sign of CoreMotion: opposite to the acceleration of the device.
    public var userAcceleration: Vector3

    /// Angular rate without bias, rad/s, right-handed about each axis; zero without a gyroscope.
    public var rotationRate: Vector3
}

extension MotionState {
    /// This state in the axes, units and signs of CoreMotion.
    ///
    /// It is for ported code. If the chip lies on the board as in a phone, set `settings.mount` to
    /// ``Matrix3/phoneAxes`` first, so that the axes of the body are those of the board.
    public var coreMotion: CoreMotionValues {
        let q = relativeAttitude
        let angles = q.eulerAngles
        let axis = Vector3(q.x, q.y, q.z).inPhoneAxes
        // Apple's gravity and acceleration are opposite to what an accelerometer measures.
        let unit = -1 / standardGravity
        return CoreMotionValues(
            timestamp: timestamp,
            attitude: CoreMotionValues.Attitude(
                roll: angles.roll, pitch: -angles.pitch, yaw: angles.yaw,
                quaternion: Quaternion(q.w, axis.x, axis.y, axis.z)),
            gravity: gravity.inPhoneAxes * unit,
            userAcceleration: linearAcceleration.inPhoneAxes * unit,
            rotationRate: rotationRate.inPhoneAxes)
    }
}

extension Matrix3 {
    /// The mount matrix of a chip whose axes lie as those of a phone: x to the right, y forward, z up.
    ///
    /// It turns them into the axes of the body: x forward, y to the left, z up. Without it, a program that reads such a
    /// chip gets roll and pitch exchanged.
    public static var phoneAxes: Matrix3 {
        Matrix3(Vector3(0, 1, 0), Vector3(-1, 0, 0), Vector3(0, 0, 1))
    }
}

extension Vector3 {
    /// A vector along the axes of the body (forward, left, up), along those of a phone (right, forward, up).
    fileprivate var inPhoneAxes: Vector3 { Vector3(-y, x, z) }
}

extension MotionSettings {
    /// The cut-off, Hz, of the low-pass `y += factor * (x - y)` that ported code applies to each frame.
    ///
    /// It is -ln(1 - factor) · f / 2π: at 60 frames a second, 28.6 Hz for a factor of 0.95, and 0.49 Hz for one of 0.05.
    ///
    /// - Parameters:
    ///   - factor: the weight of the new value, 0 to 1. Code in the form `y = a * y + (1 - a) * x` has the factor 1 - a.
    ///   - framesPerSecond: how often the code filters, Hz.
    /// - Returns: the cut-off for `attitudeLowPass` and its like. 0, which switches a low-pass off, for a factor of 1 and
    ///   for arguments outside their range.
    public static func cutoff(ofFactor factor: Double, framesPerSecond: Double) -> Double {
        guard factor > 0, factor < 1, framesPerSecond > 0 else { return 0 }
        return -log(1 - factor) * framesPerSecond / (2 * .pi)
    }
}
