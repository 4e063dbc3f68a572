import Foundation
import IMUDrivers
import MotionCore
import MotionTestSupport
import VirtualIMU

/// A virtual MPU-6050 with its driver and clock, to simulate a person's movements as fast as the machine can.
final class CalibrationRig {
    private let clock = ManualClock()
    private let chip: VirtualIMUChip
    private var driver: MPU6050<VirtualBus<ManualClock>, ManualClock>
    private var batch = SampleBatch(capacity: 128)
    private var next: Timestamp
    private let start: Timestamp

    init(_ trajectory: any Trajectory, _ imperfections: Imperfections, seed: UInt64 = 1) {
        start = clock.now()
        chip = VirtualIMUChip(trajectory: trajectory, imperfections: imperfections, seed: seed, start: start)
        driver = MPU6050(
            bus: VirtualBus(chip, clock: clock), clock: clock, settings: IMUSettings(), line: NoDataReadyLine())
        next = start
    }

    /// Advances the board by `seconds` and passes every sample to `body`.
    func run(_ seconds: Double, _ body: (MotionSample) -> Void) {
        let end = clock.now().advanced(bySeconds: seconds)
        while clock.now() < end {
            clock.advance(to: next)
            batch.removeAll()
            next = driver.poll(into: &batch).next
            for index in 0..<batch.count { body(batch[index]) }
        }
    }

    /// Collects poses and turns for `duration` seconds.
    func collect(_ duration: Double) -> (poses: [RestingPose], turns: [TurnSegment]) {
        var sequence = PoseSequence()
        var poses: [RestingPose] = []
        var turns: [TurnSegment] = []
        run(duration) { sample in
            guard case .done(let pose) = sequence.take(sample) else { return }
            poses.append(pose)
            if let turn = sequence.lastTurn { turns.append(turn) }
        }
        return (poses, turns)
    }
}

/// The chip of the requirement: 5 % scale, 3° cross-axis, 100 mg offset; 2 % oscillator error, 5 °/s bias, 3 % scale.
func badChip() -> Imperfections {
    var chip = Imperfections.typical
    let cross = 3 * radiansPerDegree
    chip.accelerometerBias = standardGravity * Vector3(0.1, -0.1, 0.1)
    chip.accelerometerMatrix = Matrix3(
        Vector3(1.05, cross, -cross), Vector3(-0.4 * cross, 0.95, cross), Vector3(cross, 0.3 * cross, 1.05))
    chip.gyroscopeBias = radiansPerDegree * Vector3(5, -5, 5)
    chip.gyroscopeMatrix = Matrix3(
        Vector3(1.03, -0.006, 0.004), Vector3(0.003, 0.97, -0.005), Vector3(-0.004, 0.006, 1.03))
    chip.accelerometerBiasDrift = .zero
    chip.oscillatorError = 20_000
    return chip
}

/// A board that is put with each of `directions` (sensor axes) up in turn: a rest of `rest` seconds in each, with turns
/// of 1.5 s in between.
func posing(_ directions: [Vector3], rest: Double = 4) -> MotionSequence {
    var segments: [any Trajectory] = [Rest(rest)]
    var up = Vector3(0, 0, 1)
    for direction in directions {
        // Seen from the body, the vertical turns in the opposite direction.
        let turn = Quaternion(from: direction, to: up).rotationVector
        segments += [Turn(axis: turn, angle: turn.length, duration: 1.5), Rest(rest)] as [any Trajectory]
        up = direction
    }
    return MotionSequence(segments)
}

/// Five faces, since `posing` begins with the sixth, +z up; and the edges and corners that add the most to them.
let faces = [Vector3(1, 0, 0), Vector3(0, 1, 0), Vector3(0, 0, -1), Vector3(-1, 0, 0), Vector3(0, -1, 0)]
let slants = [Vector3(0, -1, 1), Vector3(1, 0, 1), Vector3(1, 1, 0), Vector3(-1, 1, 1), Vector3(1, -1, -1)]

/// Directions evenly distributed on the sphere (a Fibonacci lattice).
func sphere(_ count: Int) -> [Vector3] {
    (0..<count).map { index in
        let z = 1 - (2 * Double(index) + 1) / Double(count)
        let radius = (1 - z * z).squareRoot()
        let angle = Double(index) * Double.pi * (3 - 5.0.squareRoot())
        return Vector3(radius * cos(angle), radius * sin(angle), z)
    }
}

/// The largest error of the length of gravity over the sphere, mg, for a noiseless chip.
func largestGravityError(_ calibration: AccelerometerCalibration, _ chip: Imperfections) -> Double {
    sphere(400).map { up in
        let measured = chip.accelerometerMatrix * (standardGravity * up) + chip.accelerometerBias
        return abs(calibration.apply(measured).length - standardGravity) / standardGravity * 1000
    }.max() ?? .nan
}
