import Foundation
import MotionCore
import Testing

/// Requirement: what a recognizer finds is no event: at the start, after missing samples, a tare, and a change of settings,
/// mount or calibration. Only what changes from there on is one.
@Suite struct FoundStateTests {
    /// How the board is, all the time.
    enum Posture: String, CaseIterable {
        case plusX, minusX, plusY, minusY, plusZ, minusZ, oblique
        /// On a machine that runs.
        case machine
        /// In the hand of somebody who shakes it.
        case shaken

        private var up: Vector3 {
            switch self {
            case .plusX: Vector3(1, 0, 0)
            case .minusX: Vector3(-1, 0, 0)
            case .plusY, .machine: Vector3(0, 1, 0)
            case .minusY: Vector3(0, -1, 0)
            case .plusZ: Vector3(0, 0, 1)
            case .minusZ, .shaken: Vector3(0, 0, -1)
            case .oblique: Vector3(0.5, -0.6, 0.6244998)
            }
        }

        /// Specific force, m/s², and angular rate, rad/s.
        func reading(at time: Double) -> (force: Vector3, rate: Vector3) {
            // Nobody shakes as steadily as a machine.
            let isPushed = time.truncatingRemainder(dividingBy: 1.75) < 0.75
            let swing =
                switch self {
                case .machine: Vector3(0, 0.3, 0.7) * sine(24, time)
                case .shaken where isPushed: Vector3(20, 3, 0) * sine(4, time)
                default: Vector3.zero
                }
            let turn = self == .shaken && isPushed ? Vector3(0, 0.4, 0.8) * sine(4, time) : .zero
            return (standardGravity * up + swing, turn)
        }

        /// The gestures that the movement really is.
        var gestures: GestureSet {
            self == .shaken ? GestureSet.all.subtracting([.tilt, .flip, .vibration]) : []
        }
    }

    enum Occasion: CaseIterable {
        case nothing, lostFor2Seconds, lostFor60Seconds, missingFor2Seconds, tare, tareOfHeading, noReference
        case smallerAngle, largerAngle, gesturesOff, mount, calibration

        func happen(to feed: inout TrajectoryFeed, _ settings: MotionSettings) {
            var settings = settings
            var events: [GestureEvent] = []
            let emit = { (event: GestureEvent) in events.append(event) }
            switch self {
            case .nothing: break
            case .lostFor2Seconds, .lostFor60Seconds:
                feed.pipeline.cancelGestures(.sensorLost, emit: emit)
                feed.time += self == .lostFor2Seconds ? 2 : 60
            case .missingFor2Seconds: feed.time += 2
            case .tare: feed.pipeline.takeReference()
            case .tareOfHeading: feed.pipeline.takeReference(headingOnly: true)
            case .noReference: feed.pipeline.clearReference()
            case .smallerAngle, .largerAngle:
                settings.gestures.tilt.angle = (self == .smallerAngle ? 10 : 100) * radiansPerDegree
                feed.pipeline.apply(settings, emit: emit)
            case .gesturesOff:
                var none = settings
                for gesture in Gesture.allCases { none.gestures[gesture].isEnabled = false }
                feed.pipeline.apply(none, emit: emit)
                feed.pipeline.apply(settings, emit: emit)
            case .mount:
                settings.mount = Matrix3(Vector3(0, 0, 1), Vector3(1, 0, 0), Vector3(0, 1, 0))
                feed.pipeline.apply(settings, emit: emit)
            case .calibration:
                var chip = ChipCalibration()
                chip.accelerometer.offset = Vector3(0.3, -0.2, 0.1)
                feed.pipeline.apply(chip, emit: emit)
            }
            feed.events += events
        }
    }

    @Test(arguments: Posture.allCases, Occasion.allCases)
    func isNoEvent(posture: Posture, occasion: Occasion) {
        for reference in [ReferencePolicy.none, .start] {
            for hasGyroscope in [true, false] {
                var settings = MotionSettings()
                settings.reference = reference
                for gesture in Gesture.allCases { settings.gestures[gesture].isEnabled = true }
                // What is learnt takes longer; MachineRuleTests are about it.
                settings.gestures.vibration.threshold = 0.12
                var feed = TrajectoryFeed(
                    settings: settings.gestures, rate: 100, hasGyroscope: hasGyroscope, reference: reference)
                feed.hold(posture, seconds: 20)
                occasion.happen(to: &feed, settings)
                feed.hold(posture, seconds: 20)
                // The end of a gesture that was in progress, for example of the shake, is one.
                let wrong = feed.events.filter { !posture.gestures.contains($0.gesture) }
                #expect(wrong.isEmpty, "\(reference), \(hasGyroscope): \(wrong.map { "\($0.gesture) \($0.phase)" })")
                #expect(feed.state.isVibrating == (posture == .machine))
                #expect(feed.state.isMoving == (posture == .shaken))
            }
        }
    }
}

extension TrajectoryFeed {
    fileprivate mutating func hold(_ posture: FoundStateTests.Posture, seconds: Double) {
        let end = time + seconds
        while time < end {
            let reading = posture.reading(at: time)
            take(reading.force, reading.rate)
        }
    }
}
