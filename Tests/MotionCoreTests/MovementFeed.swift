import MotionCore
import VirtualIMU

/// Feeds a pipeline with the readings of a perfect sensor along trajectories, and records the events.
struct MovementFeed: ~Copyable {
    var pipeline: MotionPipeline
    var time = 5.0
    var rate: Double
    var hasGyroscope: Bool
    var events: [GestureEvent] = []
    var misses: [NearMiss] = []
    private var pose: Quaternion
    private let mount: Matrix3

    /// Samples are along the axes of a sensor mounted by `settings.mount`.
    init(
        _ settings: MotionSettings = MotionSettings(), rate: Double = 200, hasGyroscope: Bool = true,
        pose: Quaternion = .identity
    ) {
        pipeline = MotionPipeline(settings: settings)
        pipeline.explainsNearMisses = true
        self.rate = rate
        self.hasGyroscope = hasGyroscope
        self.pose = pose
        mount = settings.mount
    }

    /// Moves the board along `trajectory`, from the pose that it has reached.
    mutating func move(_ trajectory: any Trajectory, seconds: Double?) {
        let duration = seconds ?? trajectory.duration
        let count = Int((duration * rate).rounded())
        let flags: MotionSample.Flags = hasGyroscope ? .rotationRate : []
        for index in 0..<count {
            let motion = trajectory.motion(at: Double(index) / rate, from: pose)
            let sample = MotionSample(
                timestamp: Timestamp(seconds: time), acceleration: alongSensor(motion.specificForce),
                rotationRate: hasGyroscope ? alongSensor(motion.rotationRate) : .zero, flags: flags)
            take(sample)
            time += 1 / rate
        }
        pose = trajectory.motion(at: Double(count) / rate, from: pose).attitude.normalized
    }

    /// Moves the board along trajectories, one after the other.
    mutating func move(_ first: any Trajectory, _ others: any Trajectory...) {
        move(first, seconds: nil)
        for other in others { move(other, seconds: nil) }
    }

    mutating func rest(_ seconds: Double) { move(Rest(seconds)) }

    /// Processes one sample along the sensor's axes.
    mutating func take(_ sample: MotionSample) {
        var new: [GestureEvent] = []
        pipeline.process(sample) { new.append($0) }
        events += new
        while let miss = pipeline.takeNearMiss() { misses.append(miss) }
    }

    /// The events of one gesture.
    func events(of gesture: Gesture) -> [GestureEvent] { events.filter { $0.gesture == gesture } }

    /// The reasons of the near misses of one gesture.
    func reasons(_ gesture: Gesture) -> [NearMiss.Reason] { misses.filter { $0.gesture == gesture }.map(\.reason) }

    /// The mount rotates sensor axes into body axes; its transpose rotates back.
    private func alongSensor(_ body: Vector3) -> Vector3 {
        body.x * mount.row0 + body.y * mount.row1 + body.z * mount.row2
    }
}
