import MotionCore
import Testing
import VirtualIMU

/// Requirement: finds the gyroscope's scale and misalignment from turns between rests and full turns about the
/// vertical.
@Suite struct GyroscopeFitTests {
    private static let x = Vector3(1, 0, 0)
    private static let y = Vector3(0, 1, 0)
    private static let z = Vector3(0, 0, 1)

    /// A turn recorded without noise by a gyroscope whose correction is `matrix`.
    private func turn(
        _ movement: Turn, from pose: Quaternion = .identity, matrix: Matrix3,
        bias: Vector3 = Vector3(0.02, -0.05, 0.03),
        fullTurns: Int = 0, flags: MotionSample.Flags = .rotationRate
    ) throws -> TurnSegment {
        let reading = matrix.inverse
        let start = movement.motion(at: 0, from: pose)
        let end = movement.motion(at: movement.duration, from: pose)
        var recorder = TurnRecorder(from: RestingPose(force: start.specificForce, rate: bias, temperature: 30))
        for index in 0...Int(movement.duration * 500) {
            let time = Double(index) / 500
            recorder.take(
                MotionSample(
                    timestamp: Timestamp(seconds: 10 + time), acceleration: start.specificForce,
                    rotationRate: reading * movement.motion(at: time, from: pose).rotationRate + bias, flags: flags))
        }
        let rest = RestingPose(force: end.specificForce, rate: bias, temperature: 30)
        return try #require(recorder.finished(at: rest, fullTurns: fullTurns))
    }

    private func quarter(_ axis: Vector3) -> Turn { Turn(axis: axis, angle: 0.5 * .pi, duration: 1) }
    private func round(_ turns: Double) -> Turn { Turn(axis: Self.z, angle: 2 * .pi * turns, duration: 4) }

    /// Turns that have every axis level once: about x and y from lying flat, about z from standing on edge.
    private func spanning(_ matrix: Matrix3) throws -> [TurnSegment] {
        let edge = Quaternion(angle: 0.5 * .pi, axis: Self.x)
        return [
            try turn(quarter(Self.x), matrix: matrix), try turn(quarter(-Self.x), matrix: matrix),
            try turn(quarter(Self.y), matrix: matrix), try turn(quarter(-Self.y), matrix: matrix),
            try turn(quarter(Self.z), from: edge, matrix: matrix),
            try turn(quarter(-Self.z), from: edge, matrix: matrix),
            try turn(quarter(Vector3(1, 1, 0)), matrix: matrix),
            try turn(quarter(Vector3(0, 1, 1)), from: edge, matrix: matrix),
        ]
    }

    private let matrix = Matrix3(
        Vector3(0.97, 0.006, -0.004), Vector3(-0.003, 1.03, 0.005), Vector3(0.004, -0.006, 0.97))

    private func largestDifference(_ a: Matrix3, _ b: Matrix3) -> Double {
        [(a.row0, b.row0), (a.row1, b.row1), (a.row2, b.row2)].map { ($0 - $1).length }.max() ?? .nan
    }

    @Test func turnsDetermineMatrixAndBias() throws {
        var fit = GyroscopeFit(accelerometer: AccelerometerCalibration())
        for turn in try spanning(matrix) { try fit.add(turn) }
        let solution = try fit.solve()
        #expect(largestDifference(solution.calibration.matrix, matrix) < 2e-3)
        #expect((solution.calibration.bias - Vector3(0.02, -0.05, 0.03)).length < 1e-9)
        #expect(solution.calibration.referenceTemperature == 30)
        #expect(solution.residual < 0.05 * radiansPerDegree)
        #expect(solution.turns == 8)
        #expect(solution.uncertainty > 0 && solution.uncertainty < 0.01)
    }

    /// A full turn determines the scale of the vertical axis in either direction; several determine it better.
    @Test(arguments: [1, -1, 3] as [Double])
    func fullTurnsDetermineScaleOfVerticalAxis(turns: Double) throws {
        var fit = GyroscopeFit(accelerometer: AccelerometerCalibration())
        let axis = Matrix3(Self.x, Self.y, Vector3(0, 0, 0.96))
        try fit.add(try turn(quarter(Self.x), matrix: axis))
        try fit.add(try turn(quarter(Self.y), matrix: axis))
        try fit.add(try turn(round(turns), matrix: axis, fullTurns: Int(turns)))
        let solution = try fit.solve()
        #expect(abs(solution.calibration.matrix.row2.z - 0.96) < 1e-3)
    }

    @Test func rejectsTurnsThatLeaveOutAnAxis() throws {
        var fit = GyroscopeFit(accelerometer: AccelerometerCalibration())
        for axis in [Self.x, -Self.x, Self.y, -Self.y] { try fit.add(try turn(quarter(axis), matrix: matrix)) }
        #expect { try fit.solve() } throws: { error in
            guard case .axesDoNotSpan(weakestAxis: 2, let uncertainty) = error as? GyroscopeFitError else {
                return false
            }
            return uncertainty > 0.01
        }
    }

    @Test func rejectsUnusableTurns() throws {
        var fit = GyroscopeFit(accelerometer: AccelerometerCalibration())
        #expect(throws: GyroscopeFitError.tooFewTurns(have: 0, need: 3)) { try fit.solve() }
        #expect { try fit.add(try turn(Turn(axis: Self.x, angle: 0.2, duration: 1), matrix: .identity)) } throws: {
            guard case .tooSmall(let angle) = $0 as? GyroscopeFitError else { return false }
            return abs(angle - 0.2) < 1e-3
        }
        #expect { try fit.add(try turn(round(2), matrix: .identity, fullTurns: 1)) } throws: {
            guard case .wrongNumberOfTurns(let measured, expected: 1) = $0 as? GyroscopeFitError else { return false }
            return abs(measured - 2) < 1e-3
        }
        #expect { try fit.add(try turn(quarter(Self.x), matrix: .identity, fullTurns: 1)) } throws: {
            guard case .notBack(let angle) = $0 as? GyroscopeFitError else { return false }
            return abs(angle - 0.5 * .pi) < 1e-6
        }
        #expect(fit.turns.isEmpty)
    }

    /// A full turn must end in the attitude in which it began, to 3°.
    @Test(arguments: [(2.9, true), (3.1, false)])
    func fullTurnMustEndWhereItBegan(degrees: Double, isAccepted: Bool) throws {
        let there = round(1)
        let end = Quaternion(angle: degrees * radiansPerDegree, axis: Vector3(0.6, -0.8, 0))
        var recorder = TurnRecorder(from: RestingPose(force: Vector3(0, 0, standardGravity)))
        for index in 0...Int(there.duration * 500) {
            let motion = there.motion(at: Double(index) / 500)
            recorder.take(
                MotionSample(
                    timestamp: Timestamp(seconds: 10 + Double(index) / 500), acceleration: motion.specificForce,
                    rotationRate: motion.rotationRate))
        }
        let rest = RestingPose(force: end.unrotate(Vector3(0, 0, standardGravity)))
        let turn = try #require(recorder.finished(at: rest, fullTurns: 1))
        var fit = GyroscopeFit(accelerometer: AccelerometerCalibration())
        if isAccepted {
            try fit.add(turn)
        } else {
            #expect { try fit.add(turn) } throws: {
                guard case .notBack(let angle) = $0 as? GyroscopeFitError else { return false }
                return abs(angle - degrees * radiansPerDegree) < 1e-6
            }
        }
        #expect(fit.turns.count == (isAccepted ? 1 : 0))
    }

    /// The gyroscope may be wrong by 15 % about the number of full turns, but not by more.
    @Test(arguments: [(1.13, true), (1.18, false), (0.88, true), (0.83, false)])
    func fullTurnMustNearlyBeMeasured(scale: Double, isAccepted: Bool) throws {
        var fit = GyroscopeFit(accelerometer: AccelerometerCalibration())
        let read = try turn(round(2), matrix: Matrix3(Self.x, Self.y, Vector3(0, 0, 1 / scale)), fullTurns: 2)
        if isAccepted {
            try fit.add(read)
        } else {
            #expect(throws: GyroscopeFitError.self) { try fit.add(read) }
        }
        #expect(fit.turns.count == (isAccepted ? 1 : 0))
    }

    /// Turns that contradict each other, because gravity is not where the gyroscope says, give no calibration.
    @Test func rejectsContradictoryTurns() throws {
        let axes = [Self.x, -Self.x, Self.y, -Self.y, Self.z, -Self.z]
        var fit = GyroscopeFit(accelerometer: AccelerometerCalibration())
        let edge = Quaternion(angle: 0.5 * .pi, axis: Self.x)
        for axis in axes {
            let pose = abs(axis.z) > 0.5 ? edge : .identity
            let good = try turn(quarter(axis), from: pose, matrix: .identity)
            let off = Quaternion(angle: 6 * radiansPerDegree, axis: Vector3(0.6, 0.48, 0.64))
            let end = RestingPose(force: off.rotate(good.end.force), rate: good.end.rate)
            var recorder = TurnRecorder(from: good.start)
            let movement = quarter(axis)
            for index in 0...Int(movement.duration * 500) {
                recorder.take(
                    MotionSample(
                        timestamp: Timestamp(seconds: 10 + Double(index) / 500), acceleration: good.start.force,
                        rotationRate: movement.motion(at: Double(index) / 500, from: pose).rotationRate
                            + good.start.rate))
            }
            try fit.add(try #require(recorder.finished(at: end)))
        }
        #expect {
            try fit.solve()
        } throws: { error in
            guard case .residualTooLarge(let residual) = error as? GyroscopeFitError else { return false }
            return residual > 2 * radiansPerDegree
        }
    }

    @Test func rejectsImplausibleGyroscope() throws {
        var fit = GyroscopeFit(accelerometer: AccelerometerCalibration())
        let broken = Matrix3(1.3 * Self.x, 1.3 * Self.y, 1.3 * Self.z)
        for turn in try spanning(broken) { try fit.add(turn) }
        #expect { try fit.solve() } throws: { error in
            guard case .implausibleMatrix = error as? GyroscopeFitError else { return false }
            return true
        }
    }

    @Test func rejectsRecordingWithGapClippingOrNoGyroscope() {
        let rest = RestingPose(force: Vector3(0, 0, standardGravity))
        func damage(_ flags: MotionSample.Flags, after seconds: Double = 0.005) -> TurnRecorder.Damage? {
            var recorder = TurnRecorder(from: rest)
            for (time, flags) in [(1.0, MotionSample.Flags.rotationRate), (1 + seconds, flags), (2, .rotationRate)] {
                recorder.take(
                    MotionSample(
                        timestamp: Timestamp(seconds: time), acceleration: .zero, rotationRate: .zero, flags: flags))
            }
            #expect(recorder.finished(at: rest) == nil)
            return recorder.damage
        }
        #expect(damage([]) == .noGyroscope)
        #expect(damage([.rotationRate, .afterGap]) == .gap)
        #expect(damage(.rotationRate, after: 0.3) == .gap)
        #expect(damage([.rotationRate, .rotationRateClipped(axis: 1)]) == .clipped)
    }
}
