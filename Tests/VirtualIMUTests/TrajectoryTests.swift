import MotionCore
import Testing

@testable import VirtualIMU

/// The truth must be consistent in itself, or measurements against it would mean nothing.
@Suite("Trajectories: rates and forces are the derivatives of attitude and position")
struct TrajectoryConsistencyTests {
    private static let pose = Quaternion(roll: 0.4, pitch: -0.7, yaw: 1.1)

    private static let movements: [(String, any Trajectory)] =
        VirtualTrajectory.allCases.map { ($0.name, $0.trajectory) } + [
            ("rotation", Rotation(axis: Vector3(0.2, -0.5, 0.8), rate: -3)),
            ("oscillation", Oscillation(axis: Vector3(1, 2, -1), amplitude: 0.6, frequency: 1.3, duration: 4)),
            ("slide", Slide(axis: Vector3(0, 1, 0), distance: 0.8, duration: 1.5)),
            (
                "walking and shaking",
                Superposed(Walk(), Shake(axis: Vector3(1, -1, 0.5), amplitude: 15, frequency: 4, cycles: 9))
            ),
            (
                "turning while turning",
                Superposed(
                    Rotation(axis: Vector3(0, 0, 1), rate: 2),
                    Oscillation(axis: Vector3(1, 0, 0.3), amplitude: 0.5, frequency: 2))
            ),
        ]

    @Test("in every pose", arguments: movements.indices)
    func derivatives(index: Int) {
        let (name, movement) = Self.movements[index]
        let h = 2e-5
        var compared = 0
        for k in 0..<997 {
            let t = 0.0031 + Double(k) * 0.0101
            let before = movement.motion(at: t - h, from: Self.pose)
            let now = movement.motion(at: t, from: Self.pose)
            let after = movement.motion(at: t + h, from: Self.pose)
            #expect(abs(now.attitude.normSquared - 1) < 1e-12)
            let rate = (before.attitude.conjugate * after.attitude).rotationVector * (0.5 / h)
            // At the end of a segment the position restarts; at the end of a pulse the acceleration jumps.
            let jump = (after.position - before.position).length
            guard jump < 1e-3, (after.acceleration - before.acceleration).length < 0.5 else { continue }
            let acceleration = (after.position - 2 * now.position + before.position) * (1 / (h * h))
            guard (acceleration - now.acceleration).length < 1e4 else { continue }
            #expect((rate - now.rotationRate).length < 1e-4, "\(name) at \(t)")
            #expect((acceleration - now.acceleration).length < 0.05, "\(name) at \(t)")
            let force = now.attitude.unrotate(now.acceleration + Vector3(0, 0, standardGravity))
            #expect((force - now.specificForce).length < 1e-9)
            compared += 1
        }
        #expect(compared > 950, "\(name)")
    }

    @Test("segments begin and end at rest, so that they can be joined")
    func ends() {
        let segments: [any Trajectory] = [
            Turn(axis: Vector3(1, 2, 3), angle: 1, duration: 0.5),
            Shake(axis: Vector3(0, 1, 0), amplitude: 20, frequency: 5, cycles: 6),
            Slide(axis: Vector3(1, 0, 0), distance: 2, duration: 3),
            Tap(axis: Vector3(0, 0, -1), amplitude: 30), Drop(height: 0.4), Walk(duration: 5),
            Vibration(axis: Vector3(1, -2, 0.5), amplitude: 3, frequency: 17, duration: 4), WashingMachine(),
            Throw(height: 0.4, spin: 3),
            Oscillation(axis: Vector3(0, 1, 0), amplitude: 0.3, frequency: 2, duration: 3),
        ]
        for segment in segments {
            for time in [1e-9, segment.duration - 1e-9] {
                let motion = segment.motion(at: time, from: Self.pose)
                #expect(motion.rotationRate.length < 1e-5)
                let velocity =
                    (motion.position - segment.motion(at: time - 1e-6, from: Self.pose).position).length / 1e-6
                #expect(velocity < 1e-2, "\(segment) at \(time)")
            }
            let end = segment.motion(at: segment.duration + 1, from: Self.pose)
            #expect(end.rotationRate == .zero)
            #expect(abs(end.specificForce.length - standardGravity) < 1e-12)
        }
    }
}

@Suite("Trajectories: each moves as documented")
struct TrajectoryTests {
    @Test("a pose at rest reads gravity in its direction")
    func rest() {
        let motion = Posed(Quaternion(roll: .pi / 2, pitch: 0, yaw: 0.3)).motion(at: 5)
        #expect((motion.specificForce - Vector3(0, standardGravity, 0)).length < 1e-12)
        #expect(motion.rotationRate == .zero)
    }

    @Test("a turn ends at its angle, right-handed, relative to its initial pose")
    func turn() {
        let down = MotionSequence([
            Turn(axis: Vector3(0, 0, 2), angle: .pi / 2, duration: 1), Rest(0.5),
            Turn(axis: Vector3(1, 0, 0), angle: -.pi / 3, duration: 0.7),
        ])
        let wanted =
            Quaternion(angle: .pi / 2, axis: Vector3(0, 0, 1)) * Quaternion(angle: -.pi / 3, axis: Vector3(1, 0, 0))
        #expect(down.duration == 2.2)
        #expect(down.motion(at: 9).attitude.angle(to: wanted) < 1e-12)
        #expect((down.motion(at: 0.5).rotationRate - Vector3(0, 0, 1.875 * .pi / 2)).length < 1e-12)
    }

    @Test("rotation reaches its rate and keeps it")
    func rotation() {
        let motion = Rotation(axis: Vector3(0, -1, 0), rate: 2, ramp: 0.5).motion(at: 10.25)
        #expect((motion.rotationRate - Vector3(0, -2, 0)).length < 1e-12)
        // The ramp costs half its duration.
        #expect(motion.attitude.angle(to: Quaternion(angle: 20, axis: Vector3(0, -1, 0))) < 1e-9)
    }

    @Test("a shake has its amplitude, its frequency and its axis")
    func shake() {
        let shake = Shake(axis: Vector3(0, 1, 0), amplitude: 20, frequency: 5, cycles: 6)
        #expect(shake.duration == 1.2)
        var peak = 0.0
        var reversals = 0
        var sign = 0.0
        for k in 1..<2400 {
            let a = shake.motion(at: Double(k) * 0.0005).acceleration
            #expect(a.x == 0 && abs(a.z) < 1e-12)
            peak = max(peak, abs(a.y))
            if abs(a.y) > 2, sign * a.y <= 0 {
                reversals += 1
                sign = a.y
            }
        }
        // The ends of the envelope add a little to the outer strokes.
        #expect(peak > 19.9 && peak < 22)
        // Two strokes per cycle, and one more at each end, from rest and to rest.
        #expect((12...14).contains(reversals))
    }

    @Test("a tap pushes along its axis first, then stops")
    func tap() {
        let tap = Tap(axis: Vector3(0, 0, -1), amplitude: 30, width: 0.008)
        #expect(abs(tap.motion(at: 0.004).acceleration.z + 30) < 1e-9)
        #expect(abs(tap.motion(at: 0.024).acceleration.z - 7.5) < 1e-9)
        #expect(tap.duration == 0.04)
    }

    @Test("a throw is weightless up to its height, turns in flight, and returns to the hand")
    func toss() {
        let toss = Throw(height: 0.5, push: 0.2, spin: .pi, axis: Vector3(0, 1, 0))
        #expect(abs(toss.flight - 0.6386) < 1e-3)
        let top = toss.motion(at: 0.2 + 0.5 * toss.flight)
        let left = toss.motion(at: 0.2)
        #expect(abs(top.position.z - left.position.z - 0.5) < 1e-9)
        #expect(top.specificForce.length < 1e-9)
        #expect(abs(toss.motion(at: toss.duration - 1e-9).position.z) < 1e-6)
        #expect(abs(toss.motion(at: 9).attitude.angle(to: .identity) - .pi) < 1e-9)
    }

    @Test("a walking hand swings from the shoulder, and bounces at every step")
    func walk() {
        var gait = Walk.Gait()
        gait.bounce = 0
        for k in 0..<50 {
            let motion = Walk(gait).motion(at: Double(k) * 0.1)
            let hand = motion.attitude.rotate(Vector3(0, 0, -gait.armLength)) + Vector3(0, 0, gait.armLength)
            #expect((motion.position - hand).length < 1e-12)
        }
        gait = Walk.Gait()
        gait.swing = 0
        let step = Walk(gait).motion(at: 10 / gait.stepFrequency)
        #expect((step.position - Vector3(0, 0, 0.025)).length < 1e-9)
        #expect(step.acceleration.z < -5)
    }

    @Test("a drop is weightless for as long as its height requires, then hits hard")
    func drop() {
        let drop = Drop(height: 0.5)
        let fall = (2 * 0.5 / standardGravity).squareRoot()
        #expect(drop.motion(at: fall - 0.001).specificForce.length < 1e-9)
        let impact = drop.motion(at: fall + 0.004).specificForce
        #expect(impact.z > 50 * standardGravity)
        // The bounce is weightless again.
        #expect(drop.motion(at: fall + 0.05).specificForce.length < 1e-9)
        #expect(abs(drop.motion(at: drop.duration).specificForce.z - standardGravity) < 1e-12)
    }

    @Test("a vibration has its amplitude, its frequency and its axis; a machine spins fastest at the end")
    func machines() {
        let axis = Vector3(0.6, -0.8, 0)
        let vibration = Vibration(axis: axis, amplitude: 2, frequency: 25, duration: 10)
        var squares = 0.0
        for k in 0..<1000 {
            let time = 2 + Double(k) * 0.001
            let acceleration = vibration.motion(at: time).acceleration
            squares += acceleration.lengthSquared / 1000
            #expect((acceleration - acceleration.dot(axis) * axis).length < 1e-9)
            #expect((acceleration - vibration.motion(at: time + 0.04).acceleration).length < 1e-6)
        }
        #expect(abs(squares - 2) < 0.01)
        let machine = WashingMachine()
        #expect(machine.duration == 312)
        #expect(machine.motion(at: 15).acceleration == .zero)
        let spin = machine.motion(at: 280).acceleration
        #expect((spin - machine.motion(at: 280.05).acceleration).length < 1e-6)
    }

    @Test("repetition continues in the pose reached")
    func repeating() {
        let steps = Repeating(MotionSequence([Turn(axis: Vector3(0, 0, 1), angle: .pi / 3, duration: 1), Rest(1)]))
        let wanted = Quaternion(angle: 4 * .pi / 3, axis: Vector3(0, 0, 1))
        #expect(steps.motion(at: 7.5).attitude.angle(to: wanted) < 1e-9)
        let closed = VirtualTrajectory.demo.trajectory
        #expect(closed.motion(at: 9.5e5 + 0.5).attitude.angle(to: .identity) < 1e-9)
    }
}

/// `sensor.trajectory` and the command line choose movements by name.
@Suite("Trajectories: one round")
struct RoundTests {
    @Test("one round of a repeating trajectory moves like its first round and ends")
    func once() {
        for kind in VirtualTrajectory.allCases {
            let once = kind.once
            guard once.duration.isFinite else { continue }
            #expect(once.duration > 0 && kind.trajectory.duration == .infinity, "\(kind)")
            for k in 0..<200 {
                let t = (Double(k) + 0.37) / 200 * once.duration
                #expect(once.motion(at: t) == kind.trajectory.motion(at: t), "\(kind) at \(t)")
            }
            let after = once.motion(at: once.duration + 1.1)
            #expect(after.rotationRate == .zero && after.acceleration.length < 1e-12, "\(kind)")
        }
        #expect(VirtualTrajectory.rest.once.duration == .infinity)
        #expect(VirtualTrajectory.walk.once.duration == .infinity)
        #expect(abs(VirtualTrajectory.shake.once.duration - 5) < 1e-12)
    }

    @Test("one round also works inside compositions")
    func nested() {
        let turn = Turn(axis: Vector3(0, 0, 1), angle: 1, duration: 0.5)
        let pose = Quaternion(roll: 0.3, pitch: 0, yaw: 0)
        let nested = Posed(pose, MotionSequence([Rest(1), Repeating(Superposed(Repeating(turn), Rest(0.2)))]))
        #expect(nested.duration == .infinity && nested.once.duration == 1.5)
        #expect(
            nested.once.motion(at: 3).attitude.angle(to: pose * Quaternion(angle: 1, axis: Vector3(0, 0, 1))) < 1e-12)
    }

    @Test("a halted movement rests in its last pose")
    func halted() {
        let halted = Halted(Rotation(axis: Vector3(1, 0, 0), rate: 2, ramp: 0.5), after: 0.75)
        #expect(halted.duration == 0.75)
        #expect(halted.motion(at: 0.7).rotationRate == Vector3(2, 0, 0))
        let end = halted.motion(at: 9)
        #expect(end.rotationRate == .zero && end.acceleration.length < 1e-12)
        #expect(end.attitude.angle(to: Quaternion(angle: 1, axis: Vector3(1, 0, 0))) < 1e-12)
        #expect(Halted(Rest(0.2), after: 5).duration == 0.2)
    }

    @Test("a recording is played once")
    func recording() {
        let samples = (0..<4).map { index in
            MotionSample(
                timestamp: Timestamp(seconds: 3 + 0.5 * Double(index)), acceleration: Vector3(1, Double(index), 9),
                rotationRate: .zero)
        }
        let once = RecordedTrajectory(samples, isLooped: true).once
        #expect(once.duration == 1.5)
        #expect(once.motion(at: 0.75).specificForce == Vector3(1, 1.5, 9))
    }
}

@Suite("Trajectories by name")
struct NamedTrajectoryTests {
    @Test("every name is found and described")
    func names() throws {
        #expect(Set(VirtualTrajectory.allCases.map(\.name)).count == VirtualTrajectory.allCases.count)
        for known in VirtualTrajectory.allCases {
            #expect(VirtualTrajectory(rawValue: known.name) == known)
            #expect(!known.summary.isEmpty && !known.summary.contains("\n"))
        }
        let motion = try #require(VirtualTrajectory(rawValue: "turn-360")).trajectory.motion(at: 3)
        #expect(motion.attitude.angle(to: Quaternion(angle: .pi, axis: Vector3(0, 0, 1))) < 1e-9)
    }

    @Test("the demonstration turns about every axis by tens of degrees and shakes, from rest, within 10 s")
    func demo() {
        let demo = VirtualTrajectory.demo.trajectory
        var extent = Vector3.zero
        var peak = 0.0
        var shakeBegins = 0.0
        for k in 0..<1000 {
            let time = Double(k) * 0.01
            let motion = demo.motion(at: time)
            let angles = motion.attitude.rotationVector
            for axis in 0..<3 { extent[axis] = max(extent[axis], abs(angles[axis]) * degreesPerRadian) }
            peak = max(peak, motion.acceleration.length)
            if shakeBegins == 0, motion.acceleration.length > 3 { shakeBegins = time }
        }
        #expect(extent.x > 29 && extent.y > 39 && extent.z > 59)
        #expect(peak > 1.9 * standardGravity)
        for k in 0..<90 {
            #expect(demo.motion(at: shakeBegins - 0.95 + Double(k) * 0.01).rotationRate.length < 1e-9)
        }
    }

    @Test("the calibration poses rest in ten orientations that are far apart")
    func calibrationPoses() {
        let poses = VirtualTrajectory.calibrationPoses.trajectory
        var upward: [Vector3] = []
        for index in 0..<10 {
            for step in 0...38 {
                #expect(poses.motion(at: Double(index) * 5 + 0.1 + Double(step) * 0.1).rotationRate == .zero)
            }
            upward.append(poses.motion(at: Double(index) * 5 + 2).specificForce * (1 / standardGravity))
        }
        for (index, one) in upward.enumerated() {
            for other in upward[..<index] { #expect(one.dot(other) < 0.83, "\(one) and \(other)") }
        }
    }

    @Test("the calibration turns go about each axis while it is level, and once round about the vertical")
    func calibrationTurns() {
        let turns = VirtualTrajectory.calibrationTurns.trajectory
        var isLevel = [false, false, false]
        var heading = 0.0
        for step in 0..<4000 {
            let motion = turns.motion(at: Double(step) * 0.01)
            for axis in 0..<3 where abs(motion.rotationRate[axis]) > 0.5 && abs(motion.specificForce[axis]) < 1e-6 {
                isLevel[axis] = true
            }
            if step >= 3700 { heading += motion.rotationRate.z * 0.01 }
        }
        #expect(isLevel == [true, true, true])
        #expect(abs(heading - 2 * .pi) < 1e-3)
    }

    @Test("all begin at rest, and all except rest, fan and the walks repeat with the stated period")
    func periods() {
        let periods: [VirtualTrajectory: Double] = [
            .slowTurn: 8, .fastTurn: 4, .turn360: 6, .tap: 3, .doubleTap: 3, .tripleTap: 4, .sideTaps: 12, .softTap: 3,
            .putDown: 6, .shake: 5, .gentleShake: 5, .drop: 5, .fall: 6, .machine: 600,
            .flickLeft: 4, .flickRight: 4, .flickUp: 4, .flickDown: 4, .flickForward: 4, .flickBackward: 4, .twist: 4,
            .toss: 5, .bump: 4, .flip: 5, .flip180: 6, .tilt: 7, .carry: 20,
            .calibrationPoses: 50, .calibrationTurns: 40, .demo: 9.5,
        ]
        for known in VirtualTrajectory.allCases {
            let movement = known.trajectory
            #expect(movement.motion(at: 0.9).specificForce == Vector3(0, 0, standardGravity), "\(known)")
            #expect(movement.duration == .infinity)
            guard let period = periods[known] else { continue }
            #expect(known.summary.contains("every \(period == 9.5 ? "9.5" : "\(Int(period))") s"), "\(known)")
            for k in 0..<100 {
                let time = Double(k) * 0.0613
                let first = movement.motion(at: time)
                let later = movement.motion(at: time + 7 * period)
                #expect(first.attitude.angle(to: later.attitude) < 1e-6, "\(known) at \(time)")
                #expect((first.specificForce - later.specificForce).length < 1e-6, "\(known) at \(time)")
            }
        }
    }
}

/// `sensor.trajectory` may be a recording.
@Suite("Recorded trajectories")
struct RecordedTrajectoryTests {
    private static func sample(_ seconds: Double, _ force: Vector3, _ rate: Vector3) -> MotionSample {
        MotionSample(timestamp: Timestamp(seconds: seconds), acceleration: force, rotationRate: rate)
    }

    private static let samples = [
        sample(50, Vector3(0, standardGravity, 0), Vector3(0, 0.2, 0)),
        sample(50.1, Vector3(1, 9, -2), Vector3(0, 0.4, 0)),
        sample(50.3, Vector3(3, 7, -6), Vector3(0, -0.4, 1)),
    ]

    @Test("linear between the samples")
    func interpolation() {
        let once = RecordedTrajectory(Self.samples, isLooped: false)
        let motion = once.motion(at: 0.2)
        #expect((motion.specificForce - Vector3(2, 8, -4)).length < 1e-9)
        #expect((motion.rotationRate - Vector3(0, 0, 0.5)).length < 1e-9)
        #expect(abs(once.duration - 0.3) < 1e-9)
    }

    @Test("the attitude starts at the recorded inclination and follows the rate")
    func attitude() {
        let once = RecordedTrajectory(Self.samples, isLooped: false)
        #expect(once.motion(at: 0).attitude.inclination(to: Quaternion(roll: .pi / 2, pitch: 0, yaw: 0)) < 1e-6)
        #expect(abs(once.motion(at: 0).attitude.eulerAngles.yaw) < 1e-9)
        #expect(abs(once.motion(at: 0.1).attitude.angle(to: once.motion(at: 0).attitude) - 0.03) < 1e-9)
        #expect(abs(once.motion(at: 0.05).attitude.angle(to: once.motion(at: 0).attitude) - 0.0125) < 1e-9)
    }

    @Test("once: holds the last pose at rest")
    func end() {
        let once = RecordedTrajectory(Self.samples, isLooped: false)
        let last = once.motion(at: 0.299_999_9).attitude
        let end = once.motion(at: 4)
        #expect(end.attitude.angle(to: last) < 1e-5)
        #expect(end.rotationRate == .zero)
        #expect(abs(end.specificForce.length - standardGravity) < 1e-9)
    }

    @Test("looped: from the last sample back to the first within the mean period")
    func loop() {
        let loop = RecordedTrajectory(Self.samples, isLooped: true)
        #expect(loop.duration == .infinity)
        #expect((loop.motion(at: 0.375).rotationRate - Vector3(0, -0.1, 0.5)).length < 1e-6)
        #expect((loop.motion(at: 0.45 * 7 + 0.2).specificForce - Vector3(2, 8, -4)).length < 1e-6)
    }

    @Test("no samples, a single one, one out of order, none of a gyroscope")
    func degenerate() {
        #expect(RecordedTrajectory([], isLooped: true).motion(at: 1) == TrueMotion(restingAt: .identity))
        let single = RecordedTrajectory([Self.samples[0]], isLooped: true).motion(at: 1)
        #expect((single.specificForce - Vector3(0, standardGravity, 0)).length < 1e-6)
        let disordered = RecordedTrajectory([Self.samples[0], Self.samples[2], Self.samples[1]], isLooped: false)
        #expect(abs(disordered.motion(at: 0.15).specificForce.x - 1.5) < 1e-9)
        let holed = RecordedTrajectory(
            [Self.samples[0], Self.sample(50.1, .unknown, .zero), Self.samples[2]], isLooped: false)
        #expect(abs(holed.motion(at: 0.15).specificForce.x - 1.5) < 1e-9)
        var bare = Self.samples
        for index in bare.indices { bare[index].flags = [] }
        #expect(RecordedTrajectory(bare, isLooped: false).motion(at: 0.2).rotationRate == .zero)
    }
}
