public import MotionCore

/// A sample as the pipeline used it: calibrated, along the body's axes, with the attitude at that instant.
public struct MeasuredSample: Equatable, Sendable, BitwiseCopyable {
    /// Counts the samples of a run from 0. A missing number is a sample that was dropped because a consumer was slow.
    public var number: UInt64

    /// When the sample was measured, not when it was read.
    public var timestamp: Timestamp

    /// Specific force, m/s², body axes, gravity included.
    public var acceleration: Vector3

    /// Angular rate minus the estimated bias, rad/s, body axes; not-a-number without a gyroscope.
    public var rotationRate: Vector3

    /// The attitude relative to the reference attitude, after the low-pass.
    public var attitude: Quaternion

    /// Creates a sample from its parts, for tests of a program's own recognizers.
    public init(
        number: UInt64, timestamp: Timestamp, acceleration: Vector3, rotationRate: Vector3, attitude: Quaternion
    ) {
        self.number = number
        self.timestamp = timestamp
        self.acceleration = acceleration
        self.rotationRate = rotationRate
        self.attitude = attitude
    }
}

extension MeasuredSample {
    /// The sample that a pipeline processed last.
    init(number: UInt64, _ raw: MotionSample, in pipeline: borrowing MotionPipeline) {
        let sample = pipeline.calibration.apply(raw)
        let state = pipeline.state
        self.init(
            number: number, timestamp: raw.timestamp, acceleration: sample.acceleration,
            rotationRate: state.hasRotationRate ? sample.rotationRate - state.gyroscopeBias : .unknown,
            attitude: state.relativeAttitude)
    }
}
