internal import CMotionMath

/// A turn of the sensor from one rest to the next: the gyroscope's readings along its own axes.
package struct TurnSegment: Sendable {
    /// One sample's part of the turn.
    struct Step: Sendable, BitwiseCopyable {
        /// Mean of the rates at both ends, rad/s.
        var rate: Vector3
        /// Seconds.
        var interval: Double
    }

    /// The rest before the turn.
    package let start: RestingPose

    /// The rest after it.
    package let end: RestingPose

    /// How many full turns about the vertical the sensor made, in either direction, back to the same attitude; 0 for
    /// any other turn.
    package var fullTurns: Int

    let steps: [Step]
    let duration: Double

    /// The turn with the forces of its rests multiplied.
    func scaled(by factor: Double) -> TurnSegment {
        TurnSegment(
            start: start.scaled(by: factor), end: end.scaled(by: factor), fullTurns: fullTurns, steps: steps,
            duration: duration)
    }

    /// The bias `time` seconds after the start, interpolated between the mean rates of both rests.
    func bias(after time: Double) -> Vector3 {
        start.rate + (end.rate - start.rate) * (duration > 0 ? time / duration : 0)
    }

    /// The rotation that the gyroscope measured, without bias and otherwise uncorrected. Rotates vectors in sensor axes
    /// at the end into sensor axes at the start.
    package var measuredRotation: Quaternion { TurnIntegral(self, matrix: .identity).rotation }

    /// The angle (rad) turned about the vertical, right-handed, as the gyroscope measured it; more than 2π after
    /// several turns.
    package var measuredHeading: Double { TurnIntegral(self, matrix: .identity).heading }
}

/// Records the gyroscope's readings from the end of a rest on.
package struct TurnRecorder: Sendable {
    /// Why a recording cannot be used.
    package enum Damage: UInt8, Sendable, BitwiseCopyable {
        /// Samples are missing.
        case gap
        /// A gyroscope axis was clipped: the turn was too fast.
        case clipped
        /// The sensor has no gyroscope.
        case noGyroscope
        /// The turn took so long that the bias may have changed.
        case tooLong
    }

    /// Longest recording, seconds.
    package static let longest = 120.0

    private let start: RestingPose
    private var steps: [TurnSegment.Step] = []
    private var duration = 0.0
    private var last: MotionSample?

    /// Why the recording cannot be used; `nil` if it can.
    package private(set) var damage: Damage?

    /// Starts at a pose that the sensor is still in.
    package init(from start: RestingPose) {
        self.start = start
    }

    /// Adds a sample along the sensor's axes.
    package mutating func take(_ sample: MotionSample) {
        guard damage == nil else { return }
        guard let last else {
            self.last = sample
            return
        }
        let interval = sample.timestamp.seconds(since: last.timestamp)
        guard interval > 0 else { return }
        if !sample.flags.contains(.rotationRate) || !sample.rotationRate.isFinite {
            damage = .noGyroscope
        } else if sample.flags.contains(.afterGap) || interval > 0.2 {
            damage = .gap
        } else if !sample.flags.isDisjoint(with: .rotationRateClipped) {
            damage = .clipped
        } else if duration + interval > TurnRecorder.longest {
            damage = .tooLong
        }
        guard damage == nil else {
            steps = []
            return
        }
        self.last = sample
        steps.append(
            TurnSegment.Step(rate: 0.5 * (last.rotationRate + sample.rotationRate), interval: interval))
        duration += interval
    }

    /// Ends the turn in a rest. The samples added may include some of that rest.
    ///
    /// - Parameters:
    ///   - end: the rest.
    ///   - fullTurns: the number of full turns about the vertical, or 0.
    /// - Returns: the turn; `nil` if the recording cannot be used.
    package func finished(at end: RestingPose, fullTurns: Int = 0) -> TurnSegment? {
        guard damage == nil, !steps.isEmpty else { return nil }
        return TurnSegment(start: start, end: end, fullTurns: abs(fullTurns), steps: steps, duration: duration)
    }
}

/// The rotation of a turn as a gyroscope with a given matrix measures it, and its derivatives with respect to that
/// matrix.
struct TurnIntegral {
    /// Rotates vectors in sensor axes at the end into sensor axes at the start.
    private(set) var rotation = Quaternion.identity

    /// The angle about the vertical, rad, whole turns included.
    private(set) var heading = 0.0

    /// The angle turned about any axis, rad, all movements added up.
    private(set) var path = 0.0

    /// The derivatives of the rotation at the end, rad along the sensor's axes, with respect to the nine elements of
    /// the matrix, row by row.
    private(set) var sensitivity = [Vector3](repeating: .zero, count: 9)

    /// Integrates a turn. `up` is the direction of gravity (unit vector) at its start, by default as the accelerometer
    /// measured it.
    init(_ turn: TurnSegment, matrix: Matrix3, up: Vector3? = nil) {
        let up = up ?? turn.start.force.normalized ?? Vector3(0, 0, 1)
        var time = 0.0
        for step in turn.steps {
            time += step.interval
            let read = (step.rate - turn.bias(after: time)) * step.interval
            let turned = matrix * read
            path += turned.length
            heading += turned.dot(rotation.unrotate(up))
            let change = Quaternion(rotationVector: turned)
            rotation = rotation * change
            for row in 0..<3 {
                for column in 0..<3 {
                    var vector = change.unrotate(sensitivity[3 * row + column])
                    vector[row] += read[column]
                    sensitivity[3 * row + column] = vector
                }
            }
        }
        rotation = rotation.normalized
    }
}

extension TurnSegment {
    /// What a gyroscope with a given calibration measures during a turn.
    package struct Reading: Equatable, Sendable, BitwiseCopyable {
        /// The angle turned about the vertical, rad, right-handed; more than 2π after several turns.
        package var heading: Double
        /// The angle (rad) between gravity's direction, carried along from the rest at the start, and the direction
        /// that the accelerometer measures in the rest at the end.
        package var gravityError: Double
    }

    /// Evaluates the turn with a gyroscope matrix and an accelerometer calibration.
    package func reading(matrix: Matrix3, accelerometer: AccelerometerCalibration) -> Reading {
        guard let up = accelerometer.apply(start.force).normalized else { return Reading(heading: 0, gravityError: 0) }
        let integral = TurnIntegral(self, matrix: matrix, up: up)
        let turned = integral.rotation.unrotate(up)
        return Reading(
            heading: integral.heading, gravityError: turned.angle(to: accelerometer.apply(end.force)))
    }
}
