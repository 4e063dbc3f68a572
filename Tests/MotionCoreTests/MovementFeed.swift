import MotionCore
import VirtualIMU

/// Feeds a pipeline with what a perfect sensor measures along trajectories, and keeps the events.
struct MovementFeed: ~Copyable {
    var pipeline: MotionPipeline
    var time = 5.0
    var rate: Double
    var hasGyroscope: Bool
    var events: [GestureEvent] = []
    var misses: [NearMiss] = []
    private var pose: Quaternion
    private let mount: Matrix3

    /// Makes a feed of samples along the axes of a sensor that is mounted as `settings.mount` says.
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
    mutating func move(_ trajectory: any Trajectory, seconds: Double? = nil) {
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

    mutating func rest(_ seconds: Double) { move(Rest(), seconds: seconds) }

    /// Hands over one sample along the sensor's axes.
    mutating func take(_ sample: MotionSample) {
        var new: [GestureEvent] = []
        pipeline.process(sample) { new.append($0) }
        events += new
        while let miss = pipeline.takeNearMiss() { misses.append(miss) }
    }

    /// The events of one gesture.
    func events(of gesture: Gesture) -> [GestureEvent] { events.filter { $0.gesture == gesture } }

    /// Why there was almost such a gesture.
    func reasons(_ gesture: Gesture) -> [NearMiss.Reason] { misses.filter { $0.gesture == gesture }.map(\.reason) }

    /// The mount turns sensor axes into body axes; its transpose back.
    private func alongSensor(_ body: Vector3) -> Vector3 {
        body.x * mount.row0 + body.y * mount.row1 + body.z * mount.row2
    }
}
