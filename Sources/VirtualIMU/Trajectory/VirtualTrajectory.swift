internal import MotionCore

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

    /// The trajectory with a name.
    ///
    /// - Throws: `UnknownTrajectory`, which lists the known names.
    package static func named(_ name: String) throws(UnknownTrajectory) -> any Trajectory {
        guard let known = VirtualTrajectory(rawValue: name) else { throw UnknownTrajectory(name: name) }
        return known.trajectory
    }

    /// The movement itself. All except `rest`, `fan` and those with walking repeat, and all begin with a rest of at
    /// least a second.
    package var trajectory: any Trajectory {
        switch self {
        case .rest: Rest()
        case .slowTurn: Self.toAndFro(Self.z, degrees: 90, duration: 1.8, rest: 2.2)
        case .fastTurn: Self.toAndFro(Self.x, degrees: 90, duration: 0.4, rest: 1.6)
        case .turn360:
            Repeating(MotionSequence([Rest(2.1), Turn(axis: Self.z, angle: 2 * .pi, duration: 1.8), Rest(2.1)]))
        case .walk: MotionSequence([Rest(2), Walk()])
        case .tap: Self.taps(1, period: 3)
        case .doubleTap: Self.taps(2, period: 3)
        case .tripleTap: Self.taps(3, period: 4)
        case .sideTaps: Self.tapsOnEverySide
        case .softTap: Self.softTaps
        case .tapWalking: Self.tapsWhileWalking
        case .putDown: Self.puttingDown
        case .shake: Repeating(MotionSequence([Rest(2), Self.strongShake, Rest(1.8)]))
        case .gentleShake:
            Repeating(
                MotionSequence([
                    Rest(2), Shake(axis: Self.y, amplitude: 0.7 * standardGravity, frequency: 3.5, cycles: 4.9),
                    Rest(1.6),
                ]))
        case .shortShake: Self.stoppedShake
        case .longShake: Self.endlessShake
        case .shakeAndDrop: Self.shakeThatSlips
        case .flickLeft: Self.flick(along: Self.y)
        case .flickRight: Self.flick(along: -Self.y)
        case .flickUp: Self.flick(along: Self.z)
        case .flickDown: Self.flick(along: -Self.z)
        case .flickForward: Self.flick(along: Self.x)
        case .flickBackward: Self.flick(along: -Self.x)
        case .turnLeft: Self.quarterTurn(about: Self.z)
        case .turnRight: Self.quarterTurn(about: -Self.z)
        case .twist: Self.wristTwist
        case .longTurn: Self.endlessTurn
        case .turnAndShake: Self.turnWhileShaken
        case .tiltedTurn: Self.turnWhileTilted
        case .drop: Self.dropped(from: 0.5, within: 3.5)
        case .fall: Self.dropped(from: 1, within: 4.5)
        case .longFall: Self.endlessFall
        case .softCatch: Self.caughtFall
        case .machine: Repeating(MotionSequence([Rest(5), WashingMachine(), Rest(595 - WashingMachine().duration)]))
        case .fan: MotionSequence([Rest(2), Vibration(axis: Self.z, amplitude: 0.6, frequency: 24)])
        case .toss, .bump, .flip, .flip180, .tilt, .carry: Self.handled(self)
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
        Repeating(
            MotionSequence([
                Rest(1),
                turn(x, degrees: 30, duration: 0.7), Rest(0.2), turn(x, degrees: -30, duration: 0.7),
                turn(y, degrees: 40, duration: 0.7), Rest(0.2), turn(y, degrees: -40, duration: 0.7),
                Rest(0.45), turn(z, degrees: 60, duration: 0.8), Rest(0.45), turn(z, degrees: -60, duration: 0.8),
                Rest(1), strongShake, Rest(0.6),
            ]))
    }

    /// A fall that repeats: before the next one the board is lifted slowly by the height that it fell.
    private static func dropped(from height: Double, within seconds: Double) -> Repeating {
        let drop = Drop(height: height)
        return Repeating(
            MotionSequence([
                Rest(1.5), drop, Rest(seconds - drop.duration - 1), Slide(axis: z, distance: height, duration: 1),
            ]))
    }

    static func turn(_ axis: Vector3, degrees: Double, duration: Double) -> Turn {
        Turn(axis: axis, angle: degrees * radiansPerDegree, duration: duration)
    }

    private static func toAndFro(_ axis: Vector3, degrees: Double, duration: Double, rest: Double) -> Repeating {
        Repeating(
            MotionSequence([
                Rest(rest), turn(axis, degrees: degrees, duration: duration),
                Rest(rest), turn(axis, degrees: -degrees, duration: duration),
            ]))
    }
}

/// The error for an unknown trajectory name.
package struct UnknownTrajectory: Error, Equatable, Sendable, CustomStringConvertible {
    /// The unknown name.
    package let name: String

    /// The known names.
    package var knownNames: [String] { VirtualTrajectory.allCases.map(\.name) }

    package var description: String {
        "unknown trajectory \"\(name)\"; the known ones are \(knownNames.joined(separator: ", "))"
    }
}
