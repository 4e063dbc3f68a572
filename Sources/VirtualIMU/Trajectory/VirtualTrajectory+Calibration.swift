internal import MotionCore

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
        return Repeating(MotionSequence(segments))
    }

    /// Rests, turns about each level axis, there and back, and one full turn about the vertical.
    static var turnsBetweenRests: Repeating {
        let x = Vector3(1, 0, 0)
        let y = Vector3(0, 1, 0)
        let z = Vector3(0, 0, 1)
        // Gravity shows how far a turn went only if its axis is level: x with z up, then z with y up, then y with x up,
        // which leads back to z.
        let turns: [(axis: Vector3, degrees: Double, duration: Double)] = [
            (x, 90, 1.5), (z, 90, 1.5), (y, 90, 1.5), (y, -90, 1.5), (z, -90, 1.5), (x, -90, 1.5), (z, 360, 3),
        ]
        var segments: [any Trajectory] = []
        for turn in turns {
            segments += [
                Rest(4), Turn(axis: turn.axis, angle: turn.degrees * radiansPerDegree, duration: turn.duration),
            ]
        }
        return Repeating(MotionSequence(segments))
    }
}
