import Foundation
import MotionCore
import VirtualIMU

/// A sine of `frequency`, Hz, at `time`, s.
func sine(_ frequency: Double, _ time: Double) -> Double { sin(2 * .pi * frequency * time) }

/// Feeds a pipeline with the readings of a board on a machine, and records its vibration events.
final class VibrationFeed {
    var pipeline: MotionPipeline
    var settings: GestureSettings
    /// Samples per second, the share of a period by which they are uneven, and the share of missing samples.
    var rate: Double
    var jitter = 0.0
    var missing = 0.0
    /// RMS of the noise on each axis, m/s²: that of an MPU-6050 in 98 Hz.
    var noise = 0.039
    /// The directions of up and of the vibration, in body axes.
    var up = Vector3(0, 0, 1)
    var direction = Vector3(0.64, -0.6, 0.48)
    var hasGyroscope = false
    /// Whether the board rests for 3 s before anything else.
    var restsFirst = true
    var time = 0.0
    var events: [GestureEvent] = []
    var misses: [NearMiss] = []
    private var reports: [MachineReport] = []
    /// What the sensor makes of a force.
    var distort: ((Vector3) -> Vector3)?
    private var random = Numbers()

    /// `learns` keeps the learnt rule; otherwise there is a threshold, the usual one if the settings have none.
    init(rate: Double = 200, settings vibration: VibrationSettings = VibrationSettings(), learns: Bool = false) {
        var settings = MotionSettings()
        settings.gestures.vibration = learns ? vibration : vibration.withThreshold
        self.settings = settings.gestures
        self.rate = rate
        pipeline = MotionPipeline(settings: settings)
        pipeline.explainsNearMisses = true
    }

    /// A feed after a machine has run for 20 s: 17 Hz, RMS 0.5 m/s².
    static func afterMachine(_ settings: VibrationSettings = VibrationSettings()) -> VibrationFeed {
        let feed = VibrationFeed(settings: settings)
        feed.vibrate(seconds: 20, frequency: 17, rms: 0.5)
        return feed
    }

    /// Feeds linear acceleration, m/s², as a function of the seconds since the call.
    func feed(seconds: Double, _ linear: (Double) -> Vector3) {
        if restsFirst {
            restsFirst = false
            rest(seconds: 3)
        }
        let start = time
        for index in 1...max(1, Int((seconds * rate).rounded())) {
            let now = start + (Double(index) + jitter * (random.even() - 0.5)) / rate
            let isMissing = random.even() < missing
            let at = Timestamp(seconds: now)
            let error = noise * Vector3(random.normal(), random.normal(), random.normal())
            guard !isMissing else { continue }
            let force = standardGravity * up + linear(now - start) + error
            process(at, distort?(force) ?? force, .zero)
        }
        time = start + seconds
    }

    func rest(seconds: Double) {
        feed(seconds: seconds) { _ in .zero }
    }

    func vibrate(seconds: Double, frequency: Double, rms: Double) {
        let peak = rms * 2.0.squareRoot() * (direction.normalized ?? .zero)
        feed(seconds: seconds) { peak * sine(frequency, $0) }
    }

    /// Runs a machine with a harmonic at twice its frequency; returns what was reported of it.
    func run(seconds: Double, frequency: Double, rms: Double, harmonic: Double) -> [MachineReport] {
        reports = []
        let peak = 2.0.squareRoot() * (direction.normalized ?? .zero)
        feed(seconds: seconds) { rms * peak * sine(frequency, $0) + harmonic * peak * sine(2 * frequency, $0) }
        return reports
    }

    /// A blow that fades within a tenth of a second, and half a second of quiet.
    func knock(strength: Double) {
        feed(seconds: 0.55) { strength * exp(-$0 / 0.04) * self.direction * sine(18, $0) }
    }

    /// The sensor is lost for a time.
    func lose(seconds: Double) {
        pipeline.cancelGestures(.sensorLost) { new in if new.gesture == .vibration { events.append(new) } }
        time += seconds
    }

    /// Says how the machine is.
    func say(_ now: MachineStatement) {
        pipeline.learn(now) { new in if new.gesture == .vibration { events.append(new) } }
    }

    var report: MachineReport { pipeline.machineReport }

    /// Moves the board along a trajectory from its start.
    func follow(_ trajectory: any Trajectory, seconds: Double) {
        for index in 0..<Int(seconds * rate) {
            let now = Double(index) / rate
            let motion = trajectory.motion(at: now)
            let error = noise * Vector3(random.normal(), random.normal(), random.normal())
            process(Timestamp(seconds: now), motion.specificForce + error, motion.rotationRate)
        }
    }

    /// Applies the changed settings to the pipeline.
    func apply() {
        var all = pipeline.settings
        all.gestures = settings
        var new: [GestureEvent] = []
        pipeline.apply(all) { new.append($0) }
        events += new.filter { $0.gesture == .vibration }
    }

    private func process(_ at: Timestamp, _ acceleration: Vector3, _ rotationRate: Vector3) {
        var new: [GestureEvent] = []
        let sample = MotionSample(
            timestamp: at, acceleration: acceleration, rotationRate: rotationRate,
            flags: hasGyroscope ? .rotationRate : [])
        pipeline.process(sample) { new.append($0) }
        events += new.filter { $0.gesture == .vibration }
        while let miss = pipeline.takeNearMiss() {
            if miss.gesture == .vibration { misses.append(miss) }
        }
        if let report = pipeline.takeMachineReport() { reports.append(report) }
    }

    var phases: [GesturePhase] { events.map(\.phase) }
    var isVibrating: Bool { pipeline.state.isVibrating }
    var level: Double { pipeline.state.vibrationLevel }

    /// Random numbers, the same in every run.
    private struct Numbers {
        private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

        /// Uniformly distributed from 0 to 1.
        mutating func even() -> Double {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Double(state >> 11) * 0x1p-53
        }

        /// With mean 0 and variance 1.
        mutating func normal() -> Double {
            (-2 * log(even() + 1e-300)).squareRoot() * cos(2 * .pi * even())
        }
    }
}
