/// A turn of the sensor from one rest to the next: what the gyroscope read meanwhile, along its own axes.
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

    /// How many times the sensor was turned all the way round the vertical and back to the same attitude, whichever
    /// way; 0 for a turn that is not such a one.
    package var fullTurns: Int

    let steps: [Step]
    let duration: Double

    /// The bias as it was `time` seconds after the start: on the line between both rests' mean rates.
    func bias(after time: Double) -> Vector3 {
        start.rate + (end.rate - start.rate) * (duration > 0 ? time / duration : 0)
    }

    /// The rotation that the gyroscope measured, biases taken out and otherwise believed: turns vectors of the sensor
    /// at the end into those of the sensor at the start.
    package var measuredRotation: Quaternion { TurnIntegral(self, matrix: .identity).rotation }

    /// The angle (rad) turned about the vertical, right-handed and beyond one turn, as far as the gyroscope is believed.
    package var measuredHeading: Double { TurnIntegral(self, matrix: .identity).heading }
}

/// Records what the gyroscope reads from the end of a rest on.
package struct TurnRecorder: Sendable {
    /// What made a recording useless.
    package enum Damage: UInt8, Sendable, BitwiseCopyable {
        /// Samples are missing.
        case gap
        /// An axis of the gyroscope was at the end of its range: the turn was too fast.
        case clipped
        /// The sensor has no gyroscope.
        case noGyroscope
        /// The turn took longer than biases stay the same.
        case tooLong
    }

    /// Longest recording, seconds.
    package static let longest = 120.0

    private let start: RestingPose
    private var steps: [TurnSegment.Step] = []
    private var duration = 0.0
    private var last: MotionSample?

    /// What made the recording useless; `nil` while nothing did.
    package private(set) var damage: Damage?

    /// Begins at a pose that the sensor is still in.
    package init(from start: RestingPose) {
        self.start = start
    }

    /// Takes a sample along the sensor's axes.
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

    /// Ends the turn in a rest, which the samples taken may reach into.
    ///
    /// - Parameters:
    ///   - end: the rest.
    ///   - fullTurns: how many times it went all the way round the vertical, where it is such a turn.
    /// - Returns: the turn; `nil` where the recording is useless.
    package func finished(at end: RestingPose, fullTurns: Int = 0) -> TurnSegment? {
        guard damage == nil, !steps.isEmpty else { return nil }
        return TurnSegment(start: start, end: end, fullTurns: abs(fullTurns), steps: steps, duration: duration)
    }
}

/// The rotation of a turn as a gyroscope with a given matrix measured it, and how it changes with that matrix.
struct TurnIntegral {
    /// Turns vectors of the sensor at the end into those at the start.
    private(set) var rotation = Quaternion.identity

    /// The angle about the vertical, rad, whole turns counted.
    private(set) var heading = 0.0

    /// The angle turned about any axis, rad, all movements added up.
    private(set) var path = 0.0

    /// The rotation of the sensor at the end, rad along its axes, for a change of each of the matrix' nine elements, row
    /// after row.
    private(set) var sensitivity = [Vector3](repeating: .zero, count: 9)

    /// Integrates a turn, with gravity in the direction `up` (length 1) at its start; by default as the accelerometer
    /// read it.
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
