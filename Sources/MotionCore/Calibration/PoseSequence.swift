/// A sequence of poses, with the turns between them: the input of a calibration.
///
/// A rest counts as another pose only after a movement. A sensor that is not touched is one pose, not many.
package struct PoseSequence: Sendable {
    /// The state after a sample.
    package typealias Progress = PoseCollector.Progress

    /// The turn that led to the last pose; `nil` if there was none or its recording cannot be used.
    package private(set) var lastTurn: TurnSegment?

    /// Why the recording of the turn to the last pose cannot be used; `nil` if it can.
    package private(set) var lastDamage: TurnRecorder.Damage?

    /// The last pose.
    package private(set) var lastPose: RestingPose?

    private var collector: PoseCollector
    private var recorder: TurnRecorder?
    private var hasMoved = true

    /// Creates a sequence that begins with the first rest, and averages rests for so many seconds; `nil` for the default.
    package init(duration: Double? = nil) {
        collector = PoseCollector(duration: duration)
    }

    /// Adds a sample along the sensor's axes.
    package mutating func take(_ sample: MotionSample) -> Progress {
        recorder?.take(sample)
        let progress = collector.take(sample)
        switch progress {
        case .moving:
            hasMoved = true
            return progress
        case .unmoved, .settling, .averaging:
            return hasMoved ? progress : .unmoved
        case .done(let pose):
            let isNew = hasMoved
            if isNew {
                lastTurn = recorder?.finished(at: pose)
                lastDamage = recorder?.damage
            }
            // Even without a movement: the next turn should begin with the present bias, not with an old one.
            lastPose = pose
            recorder = TurnRecorder(from: pose)
            recorder?.take(sample)
            hasMoved = false
            return isNew ? progress : .unmoved
        }
    }
}

/// The mean readings of a sensor that lay still, along its own axes.
package struct RestingPose: Equatable, Sendable, BitwiseCopyable {
    /// Mean specific force, m/s², including the accelerometer's errors.
    package var force: Vector3

    /// Mean angular rate, rad/s: the gyroscope's bias; zero if the sensor has no gyroscope.
    package var rate: Vector3

    /// Mean chip temperature, °C; not-a-number if unknown.
    package var temperature: Double

    /// Standard deviation of single force readings, m/s², the three axes together.
    package var forceSpread: Double

    /// Standard deviation of single rate readings, rad/s, the three axes together.
    package var rateSpread: Double

    /// The number of samples averaged.
    package var count: Int

    @inlinable
    package init(
        force: Vector3, rate: Vector3 = .zero, temperature: Double = .nan, forceSpread: Double = 0,
        rateSpread: Double = 0, count: Int = 1
    ) {
        self.force = force
        self.rate = rate
        self.temperature = temperature
        self.forceSpread = forceSpread
        self.rateSpread = rateSpread
        self.count = count
    }

    /// The pose with its force multiplied.
    func scaled(by factor: Double) -> RestingPose {
        var scaled = self
        scaled.force = force * factor
        scaled.forceSpread = forceSpread * factor
        return scaled
    }
}
