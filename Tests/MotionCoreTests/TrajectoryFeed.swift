import MotionCore
import VirtualIMU

/// Feeds a pipeline along a trajectory, sampled like a chip with a low-pass. Each sample is the mean of the readings
/// since the previous one, in steps of a millisecond, clipped at the accelerometer's range.
struct TrajectoryFeed: ~Copyable {
    var pipeline: MotionPipeline
    var events: [GestureEvent] = []
    var misses: [NearMiss] = []
    /// The state after the last sample.
    var state = MotionState()
    var time = 100.0

    let rate: Double
    /// The mounting of the sensor: rotates body vectors into sensor vectors.
    let mount: Matrix3
    let hasGyroscope: Bool
    /// Full scale of the accelerometer, m/s².
    let range: Double
    /// RMS of the noise on each axis, m/s² and rad/s.
    let noise: (acceleration: Double, rotationRate: Double)

    /// What a broken sensor makes of its samples.
    var distort: (inout MotionSample) -> Void = { _ in }

    private var random: UInt64 = 0x9E37_79B9_7F4A_7C15
    private var pose = Quaternion.identity

    init(
        settings: GestureSettings = GestureSettings(), rate: Double = 200, mount: Matrix3 = .identity,
        hasGyroscope: Bool = true, range: Double = 8 * standardGravity, accelerationNoise: Double = 0.04,
        rotationRateNoise: Double = 0.001, reference: ReferencePolicy = .none
    ) {
        var all = MotionSettings()
        all.gestures = settings
        all.mount = mount
        all.reference = reference
        pipeline = MotionPipeline(settings: all)
        pipeline.explainsNearMisses = true
        self.rate = rate
        self.mount = mount
        self.hasGyroscope = hasGyroscope
        self.range = range
        noise = (accelerationNoise, rotationRateNoise)
    }

    /// Follows `trajectory` for its duration, or for `seconds`, from the pose in which the one before ended.
    mutating func follow(_ trajectory: any Trajectory, seconds: Double?) {
        let duration = seconds ?? trajectory.duration
        // A blow at the very end must not fall between two samples.
        let count = Int((duration * rate - 1e-6).rounded(.up))
        let steps = max(1, Int((1000 / rate).rounded()))
        for index in 0..<count {
            var force = Vector3.zero
            var turn = Vector3.zero
            for step in 1...steps {
                let motion = trajectory.motion(at: (Double(index) + Double(step) / Double(steps)) / rate, from: pose)
                force += motion.specificForce
                turn += motion.rotationRate
            }
            take(force * (1 / Double(steps)), turn * (1 / Double(steps)))
        }
        pose = trajectory.motion(at: duration, from: pose).attitude.normalized
    }

    /// Follows trajectories, one after the other.
    mutating func follow(_ first: any Trajectory, _ others: any Trajectory...) {
        follow(first, seconds: nil)
        for other in others { follow(other, seconds: nil) }
    }

    /// Rests for `seconds`.
    mutating func rest(_ seconds: Double) {
        follow(Rest(seconds))
    }

    /// Processes a sample in body axes.
    mutating func take(_ acceleration: Vector3, _ rotationRate: Vector3) {
        time += 1 / rate
        let back = mount.transposed
        let force = back * (acceleration + noise.acceleration * normal())
        var flags: MotionSample.Flags = hasGyroscope ? .rotationRate : []
        if max(abs(force.x), max(abs(force.y), abs(force.z))) >= range { flags.insert(.accelerationClipped) }
        var sample = MotionSample(
            timestamp: Timestamp(seconds: time),
            acceleration: Vector3(cut(force.x), cut(force.y), cut(force.z)),
            rotationRate: hasGyroscope ? back * (rotationRate + noise.rotationRate * normal()) : .zero, flags: flags)
        distort(&sample)
        var new: [GestureEvent] = []
        pipeline.process(sample) { new.append($0) }
        events += new
        while let miss = pipeline.takeNearMiss() { misses.append(miss) }
        state = pipeline.state
    }

    /// The events of one gesture.
    func events(of gesture: Gesture) -> [GestureEvent] {
        events.filter { $0.gesture == gesture }
    }

    private func cut(_ value: Double) -> Double { min(range, max(-range, value)) }

    /// Three nearly normal numbers.
    private mutating func normal() -> Vector3 {
        var sums = (0.0, 0.0, 0.0)
        for _ in 0..<4 {
            sums.0 += uniform()
            sums.1 += uniform()
            sums.2 += uniform()
        }
        return Vector3(sums.0, sums.1, sums.2) * 3.0.squareRoot() * 0.5
    }

    private mutating func uniform() -> Double {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return Double(random >> 11) / Double(1 << 52) - 1
    }
}
