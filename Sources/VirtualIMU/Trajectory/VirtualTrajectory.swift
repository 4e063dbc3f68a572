package import MotionCore

/// The trajectories with a name, for a configuration or the command line.
package enum VirtualTrajectory: String, CaseIterable, Sendable {
    case rest
    case slowTurn = "slow-turn"
    case fastTurn = "fast-turn"
    case turn360 = "turn-360"
    case walk
    case tap
    case doubleTap = "double-tap"
    case tripleTap = "triple-tap"
    case sideTaps = "side-taps"
    case softTap = "soft-tap"
    case tapWalking = "tap-walking"
    case putDown = "put-down"
    case shake
    case gentleShake = "gentle-shake"
    case shortShake = "short-shake"
    case longShake = "long-shake"
    case shakeAndDrop = "shake-and-drop"
    case flickLeft = "flick-left"
    case flickRight = "flick-right"
    case flickUp = "flick-up"
    case flickDown = "flick-down"
    case flickForward = "flick-forward"
    case flickBackward = "flick-backward"
    case turnLeft = "turn-left"
    case turnRight = "turn-right"
    case twist
    case longTurn = "long-turn"
    case turnAndShake = "turn-and-shake"
    case tiltedTurn = "tilted-turn"
    case drop
    case fall
    case longFall = "long-fall"
    case softCatch = "soft-catch"
    case machine
    case fan
    case toss = "throw"
    case bump
    case flip
    case flip180 = "flip-180"
    case tilt
    case carry
    case calibrationPoses = "calibration-poses"
    case calibrationTurns = "calibration-turns"
    case demo

    /// The name in configurations and on the command line.
    package var name: String { rawValue }

    /// A description of the movement in one line.
    package var summary: String {
        switch self {
        case .rest: "lies flat and still"
        case .slowTurn: "turns by 90° about z within 1.8 s and back, every 8 s"
        case .fastTurn: "turns by 90° about x within 0.4 s and back, every 4 s: a turn if gestures.turn.mode is free"
        case .turn360: "turns once round about z within 1.8 s, every 6 s"
        case .walk: "is carried in a swinging hand, 1.9 steps a second"
        case .tap: "is tapped on its top, every 3 s"
        case .doubleTap: "is tapped twice on its top, every 3 s"
        case .tripleTap: "is tapped three times on its top, every 4 s"
        case .sideTaps: "is tapped on +x, -x, +y, -y, +z and -z in turn, every 12 s"
        case .softTap: "is tapped softly on its top, every 3 s"
        case .tapWalking: "is carried in a swinging hand, and tapped on its top every 3 s"
        case .putDown: "is lifted, held, lowered and let go just above the table, every 6 s"
        case .shake: "is shaken along x with 2 g at 5 Hz for 1.2 s, every 5 s"
        case .gentleShake: "is shaken along y with 0.7 g at 3.5 Hz for 1.4 s, every 5 s"
        case .shortShake: "is shaken and stopped after three swings: the shake is cancelled as too_short, every 5 s"
        case .longShake: "is shaken for 8 s: the shake is cancelled as too_long, every 12 s"
        case .shakeAndDrop: "is shaken and falls 2 m out of the hand: the shake is interrupted, every 7 s"
        case .flickLeft: "is flicked to the left with 1.8 g, every 4 s"
        case .flickRight: "is flicked to the right with 1.8 g, every 4 s"
        case .flickUp: "is flicked upwards with 1.8 g, every 4 s"
        case .flickDown: "is flicked downwards with 1.8 g, every 4 s"
        case .flickForward: "is flicked forwards with 1.8 g, every 4 s"
        case .flickBackward: "is flicked backwards with 1.8 g, every 4 s"
        case .turnLeft: "turns to the left, about z, by 90° within 0.8 s, every 3 s"
        case .turnRight: "turns to the right, about z, by 90° within 0.8 s, every 3 s"
        case .twist:
            "is twisted about x by 60° and back, 0.5 s each way, every 4 s: turns if gestures.turn.mode is free"
        case .longTurn: "turns four times round about z within 28 s: the turn is cancelled as too_long, every 32 s"
        case .turnAndShake: "is shaken while it turns by 180° about z: the turn is interrupted, every 8 s"
        case .tiltedTurn: "is tilted by 30° while it turns by 90° about z: the turn is cancelled as tilted, every 6 s"
        case .drop: "falls from 0.5 m, bounces and lies still, every 5 s"
        case .fall: "falls from 1 m, bounces and lies still, every 6 s"
        case .longFall: "falls from 16 m: the fall is cancelled as too_long, every 8 s"
        case .softCatch: "falls from 0.6 m into hands that give way: the fall is cancelled as too_weak, every 6 s"
        case .machine:
            "is stuck to a washing machine: 8.5 Hz to and fro with pauses, spinning at 13 and 20 Hz, every 600 s"
        case .fan: "is stuck to a fan that vibrates along z with 0.6 m/s² at 24 Hz, after 2 s"
        case .toss: "is thrown up by 0.5 m, turns over once in the air and is caught, every 5 s"
        case .bump: "is hit on its back with 6 g, every 4 s"
        case .flip: "is turned by 90° about x within 0.6 s, held, and turned back, every 5 s"
        case .flip180: "is turned upside down about x within 1 s, held, and turned back, every 6 s"
        case .tilt: "is tilted by 45° about y within 1 s, held for 2 s, and put back, every 7 s"
        case .carry: "is picked up, carried for 10 s and put down, every 20 s"
        case .calibrationPoses: "rests on ten sides, edges and corners for 4 s each, every 50 s"
        case .calibrationTurns: "turns by 90° about x, z and y and back, and once round about z, with rests, every 40 s"
        case .demo: "rolls, pitches, yaws by 30° to 60° and back, and is shaken along x with 2 g, every 9.5 s"
        }
    }

    /// The movement itself. All except `rest`, `fan` and those with walking repeat, and all begin with a rest of at
    /// least a second.
    package var trajectory: any Trajectory {
        switch self {
        case .rest: Rest()
        case .slowTurn: Self.toAndFro(Self.z, degrees: 90, duration: 1.8, rest: 2.2)
        case .fastTurn: Self.toAndFro(Self.x, degrees: 90, duration: 0.4, rest: 1.6)
        case .turn360:
            Repeating([Rest(2.1), Turn(axis: Self.z, angle: 2 * .pi, duration: 1.8), Rest(2.1)])
        case .walk: MotionSequence([Rest(2), Walk()])
        case .tap: Self.taps(1, period: 3)
        case .doubleTap: Self.taps(2, period: 3)
        case .tripleTap: Self.taps(3, period: 4)
        case .sideTaps: Self.tapsOnEverySide
        case .softTap: Self.softTaps
        case .tapWalking: Self.tapsWhileWalking
        case .putDown: Self.puttingDown
        case .shake: Repeating([Rest(2), Self.strongShake, Rest(1.8)])
        case .gentleShake:
            Repeating([
                Rest(2), Shake(axis: Self.y, amplitude: 0.7 * standardGravity, frequency: 3.5, cycles: 4.9), Rest(1.6),
            ])
        case .shortShake:
            // Once to and fro, which is three swings of acceleration, and no more.
            Repeating([
                Rest(2), Slide(axis: Self.x, distance: 0.75, duration: 0.4),
                Slide(axis: Self.x, distance: -0.75, duration: 0.4), Rest(2.2),
            ])
        case .longShake:
            Repeating([
                Rest(2), Shake(axis: Self.x, amplitude: 2 * standardGravity, frequency: 4, cycles: 32), Rest(2),
            ])
        case .shakeAndDrop: Self.shakeThatSlips
        case .flickLeft: Self.flick(along: Self.y)
        case .flickRight: Self.flick(along: -Self.y)
        case .flickUp: Self.flick(along: Self.z)
        case .flickDown: Self.flick(along: -Self.z)
        case .flickForward: Self.flick(along: Self.x)
        case .flickBackward: Self.flick(along: -Self.x)
        case .turnLeft: Self.quarterTurn(about: Self.z)
        case .turnRight: Self.quarterTurn(about: -Self.z)
        case .twist:
            Repeating([
                Rest(1.5), Self.turn(Self.x, degrees: 60, duration: 0.5),
                Self.turn(Self.x, degrees: -60, duration: 0.5),
                Rest(1.5),
            ])
        case .longTurn: Repeating([Rest(2), Self.turn(Self.z, degrees: 1440, duration: 28), Rest(2)])
        case .turnAndShake: Self.turnWhileShaken
        case .tiltedTurn: Self.turnWhileTilted
        case .drop: Self.dropped(from: 0.5, within: 3.5)
        case .fall: Self.dropped(from: 1, within: 4.5)
        case .longFall: Self.single(Drop(height: 16, bounces: 0), after: 2, within: 8)
        case .softCatch: Self.single(CaughtFall(height: 0.6, catching: 1.6), after: 2, within: 6)
        case .machine: Self.single(WashingMachine(), after: 5, within: 600)
        case .fan: MotionSequence([Rest(2), Vibration(axis: Self.z, amplitude: 0.6, frequency: 24)])
        case .toss: Self.single(Throw(height: 0.5, spin: 2 * .pi), after: 2, within: 5)
        case .bump: Self.single(Tap(axis: Self.x, amplitude: 6 * standardGravity, width: 0.012), after: 2, within: 4)
        case .flip: Self.toAndFro(Self.x, degrees: 90, duration: 0.6, rest: 1.9)
        case .flip180: Self.toAndFro(Self.x, degrees: 180, duration: 1, rest: 2)
        case .tilt:
            Repeating([
                Rest(3), Self.turn(Self.y, degrees: 45, duration: 1), Rest(2),
                Self.turn(Self.y, degrees: -45, duration: 1),
            ])
        case .carry:
            Repeating([
                Rest(3), Slide(axis: Self.z, distance: 0.4, duration: 1.2), Walk(duration: 10),
                Slide(axis: Self.z, distance: -0.4, duration: 1.2), Rest(4.6),
            ])
        case .calibrationPoses: Self.restsOnManySides
        case .calibrationTurns: Self.turnsBetweenRests
        case .demo: Self.demonstration
        }
    }

    /// One round, from rest to rest; `rest` and `walk` never end.
    package var once: any Trajectory { trajectory.once }

    static var x: Vector3 { Vector3(1, 0, 0) }
    static var y: Vector3 { Vector3(0, 1, 0) }
    static var z: Vector3 { Vector3(0, 0, 1) }

    private static var strongShake: Shake {
        Shake(axis: x, amplitude: 2 * standardGravity, frequency: 5, cycles: 6)
    }

    private static var demonstration: Repeating {
        Repeating([
            Rest(1),
            turn(x, degrees: 30, duration: 0.7), Rest(0.2), turn(x, degrees: -30, duration: 0.7),
            turn(y, degrees: 40, duration: 0.7), Rest(0.2), turn(y, degrees: -40, duration: 0.7),
            Rest(0.45), turn(z, degrees: 60, duration: 0.8), Rest(0.45), turn(z, degrees: -60, duration: 0.8),
            Rest(1), strongShake, Rest(0.6),
        ])
    }

    /// A movement after a rest of `before` seconds, and a rest to the end of the round of `round` seconds.
    private static func single(_ movement: any Trajectory, after before: Double, within round: Double) -> Repeating {
        Repeating([Rest(before), movement, Rest(round - before - movement.duration)])
    }

    /// A flick with 1.8 g along an axis of the body, every 4 s.
    private static func flick(along axis: Vector3) -> Repeating {
        single(Flick(axis: axis, amplitude: 1.8 * standardGravity), after: 1.5, within: 4)
    }

    /// A turn by 90° within 0.8 s, always in the same direction, every 3 s.
    private static func quarterTurn(about axis: Vector3) -> Repeating {
        Repeating([Rest(1.2), Turn(axis: axis, angle: 0.5 * .pi, duration: 0.8), Rest(1)])
    }

    /// A fall that repeats: before the next one the board is lifted slowly by the height that it fell.
    private static func dropped(from height: Double, within seconds: Double) -> Repeating {
        let drop = Drop(height: height)
        return Repeating([
            Rest(1.5), drop, Rest(seconds - drop.duration - 1), Slide(axis: z, distance: height, duration: 1),
        ])
    }

    static func turn(_ axis: Vector3, degrees: Double, duration: Double) -> Turn {
        Turn(axis: axis, angle: degrees * radiansPerDegree, duration: duration)
    }

    private static func toAndFro(_ axis: Vector3, degrees: Double, duration: Double, rest: Double) -> Repeating {
        Repeating([
            Rest(rest), turn(axis, degrees: degrees, duration: duration),
            Rest(rest), turn(axis, degrees: -degrees, duration: duration),
        ])
    }
}

/// Taps of all kinds, and movements that are easily confused with one.
extension VirtualTrajectory {
    /// The tap of a finger on the top.
    static var fingerTap: Tap { Tap(axis: Vector3(0, 0, -1), amplitude: 3 * standardGravity) }

    /// Seconds from one tap to the next within a double or triple tap.
    private static let pace = 0.2

    /// A sequence of taps on the top, every `period` seconds.
    static func taps(_ count: Int, period: Double) -> Repeating {
        var segments: [any Trajectory] = [Rest(1.5)]
        for index in 0..<count {
            if index > 0 { segments.append(Rest(pace - fingerTap.duration)) }
            segments.append(fingerTap)
        }
        segments.append(Rest(period - MotionSequence(segments).duration))
        return Repeating(segments)
    }

    /// One tap on each side, every 2 s: on +x, -x, +y, -y, +z and -z. A tap pushes the board away from the side it
    /// hits.
    static var tapsOnEverySide: Repeating {
        var segments: [any Trajectory] = []
        for side in BodySide.allCases {
            let tap = Tap(axis: -side.direction, amplitude: 2 * standardGravity)
            segments += [Rest(1.5), tap, Rest(0.5 - tap.duration)]
        }
        return Repeating(segments)
    }

    /// Taps of a soft fingertip.
    static var softTaps: Repeating {
        single(Tap(axis: Vector3(0, 0, -1), amplitude: 0.4 * standardGravity, width: 0.012), after: 1.5, within: 3)
    }

    /// Taps while the board is carried by a person who walks.
    static var tapsWhileWalking: Superposed {
        Superposed(MotionSequence([Rest(1.5), Walk()]), MotionSequence([Rest(3), taps(1, period: 3)]))
    }

    /// Lifting, holding in a trembling hand, lowering, and letting go 2 mm above the table.
    static var puttingDown: Repeating {
        let letGo = Drop(height: 0.002)
        return Repeating([
            Rest(1.5), Slide(axis: z, distance: 0.25, duration: 0.8),
            Oscillation(axis: Vector3(1, 0.5, 0), amplitude: 0.03, frequency: 2, duration: 1),
            Slide(axis: z, distance: -0.248, duration: 0.8), letGo, Rest(1.9 - letGo.duration),
        ])
    }
}

/// The movements of a person who calibrates a board, so that calibration can be tried and tested without hands.
extension VirtualTrajectory {
    /// Ten rests, each with another side, edge or corner up, and turns between them; the first eight are enough.
    static var restsOnManySides: Repeating {
        // Sides alone contain no information about cross-axis sensitivity, corners alone none about single scale
        // factors.
        let upward = [
            Vector3(0, 0, 1), Vector3(1, 1, 1), Vector3(1, -1, 0), Vector3(1, 1, -1), Vector3(-1, 1, -1),
            Vector3(0, 0, -1), Vector3(-1, -1, -1), Vector3(-1, 1, 1), Vector3(0, -1, 0), Vector3(-1, 0, 0),
        ]
        let attitudes = upward.map { Quaternion(from: $0, to: Vector3(0, 0, 1)) }
        var segments: [any Trajectory] = []
        for (index, attitude) in attitudes.enumerated() {
            let next = attitudes[(index + 1) % attitudes.count]
            let turn = (attitude.conjugate * next).rotationVector
            segments += [Rest(4), Turn(axis: turn, angle: turn.length, duration: 1)]
        }
        return Repeating(segments)
    }

    /// Rests, turns about each level axis, there and back, and one full turn about the vertical.
    static var turnsBetweenRests: Repeating {
        // Gravity shows how far a turn went only if its axis is level: x with z up, then z with y up, then y with x up,
        // which leads back to z.
        let turns: [(Vector3, degrees: Double, duration: Double)] = [
            (x, 90, 1.5), (z, 90, 1.5), (y, 90, 1.5), (y, -90, 1.5), (z, -90, 1.5), (x, -90, 1.5), (z, 360, 3),
        ]
        var segments: [any Trajectory] = []
        for (axis, degrees, duration) in turns {
            segments += [Rest(4), turn(axis, degrees: degrees, duration: duration)]
        }
        return Repeating(segments)
    }
}

/// Movements that begin like a gesture and are cancelled, so that what an automation does then can be tried.
extension VirtualTrajectory {
    /// A shake in which the board slips out of the hand and falls 2 m, every 7 s.
    static var shakeThatSlips: Repeating {
        let shake = Shake(axis: x, amplitude: standardGravity, frequency: 4, cycles: 6)
        let drop = Drop(height: 2)
        return Repeating([Rest(2), shake, drop, Rest(5 - shake.duration - drop.duration)])
    }

    /// A turn during which the board is shaken, every 8 s.
    static var turnWhileShaken: Repeating {
        let shake = Shake(axis: x, amplitude: 2 * standardGravity, frequency: 5, cycles: 6)
        let turned = Superposed(turn(z, degrees: 180, duration: 3), MotionSequence([Rest(1.2), shake]))
        return Repeating([Rest(2), turned, Rest(3)])
    }

    /// A turn during which the board is tilted, and put back, every 6 s.
    static var turnWhileTilted: Repeating {
        let tilted = Superposed(
            turn(z, degrees: 90, duration: 1.2), MotionSequence([Rest(0.5), turn(x, degrees: 30, duration: 0.8)]))
        return Repeating([Rest(2), tilted, Rest(1), turn(x, degrees: -30, duration: 0.7), Rest(1)])
    }
}

/// A fall into hands that catch it softly: free fall, then a half sine of acceleration until it is at rest.
struct CaughtFall: Trajectory {
    let duration: Double
    private let flight: Double
    private let catching: HalfSine

    /// Falls by `height` (m), and is caught within `catching` seconds.
    init(height: Double, catching seconds: Double) {
        let speed = (2 * standardGravity * height).squareRoot()
        flight = speed / standardGravity
        catching = HalfSine(impulse: speed, duration: seconds)
        duration = flight + seconds
    }

    func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        guard time > 0, time < duration else { return TrueMotion(restingAt: pose) }
        return TrueMotion(attitude: pose, height: height(at: time))
    }

    private func height(at time: Double) -> Jet {
        let falling = min(time, flight)
        let free = Jet(
            -0.5 * standardGravity * falling * falling, -standardGravity * falling, -standardGravity)
        guard time > flight else { return free }
        let since = time - flight
        let caught = catching.jet(at: since)
        return Jet(free.value + free.first * since + caught.value, free.first + caught.first, caught.second)
    }
}

/// Walking with the board in a swinging hand: the body bounces at every step, and the arm swings once in two steps.
package struct Walk: Trajectory {
    /// A person's gait.
    package struct Gait: Sendable {
        /// Steps per second, Hz.
        package var stepFrequency = 1.9

        /// Half the vertical movement of the body, m.
        package var bounce = 0.02

        /// The share of the bounce at twice the step frequency, which makes the heel strike sharper than the lift.
        package var strike = 0.25

        /// How far the arm swings to either side, rad.
        package var swing = 0.35

        /// Distance from the shoulder to the board, m.
        package var armLength = 0.65

        /// Creates an unhurried gait.
        package init() {}
    }

    /// Seconds in which the gait builds up and dies away.
    private static let ramp = 1.0

    package let duration: Double
    private let gait: Gait

    package init(_ gait: Gait = Gait(), duration: Double = .infinity) {
        self.gait = gait
        self.duration = duration
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        guard time > 0, time < duration else { return TrueMotion(restingAt: pose) }
        let envelope = Jet.envelope(time, duration: duration, ramp: min(Self.ramp, 0.5 * duration))
        let step = Jet(time: time, rate: 2 * .pi * gait.stepFrequency)
        let bounce = gait.bounce * (envelope * (Jet.cosine(step) + gait.strike * Jet.cosine(2 * step)))

        // The arm hangs from the shoulder and turns about y. The position is that of the hand relative to where it
        // hung.
        let swing = gait.swing * (envelope * Jet.sine(0.5 * step))
        let forward = -gait.armLength * Jet.sine(swing)
        let up = gait.armLength * (Jet(constant: 1) + -1 * Jet.cosine(swing))
        return TrueMotion(
            attitude: pose * Quaternion(angle: swing.value, axis: Vector3(0, 1, 0)),
            rotationRate: Vector3(0, swing.first, 0),
            position: pose.rotate(Vector3(forward.value, 0, up.value)) + Vector3(0, 0, bounce.value),
            acceleration: pose.rotate(Vector3(forward.second, 0, up.second)) + Vector3(0, 0, bounce.second))
    }
}
