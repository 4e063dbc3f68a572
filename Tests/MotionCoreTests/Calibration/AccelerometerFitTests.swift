import MotionCore
import Testing
import VirtualIMU

/// Requirement: finds the accelerometer's errors from resting positions in any order and any orientation.
@Suite struct AccelerometerFitTests {
    /// Readings of a noiseless chip that rests with each of `directions` up.
    private func poses(_ directions: [Vector3], _ chip: Imperfections = badChip()) -> [RestingPose] {
        directions.compactMap(\.normalized).map { up in
            RestingPose(force: chip.accelerometerMatrix * (standardGravity * up) + chip.accelerometerBias)
        }
    }

    private func fit(_ poses: [RestingPose]) throws -> AccelerometerFit {
        var fit = AccelerometerFit()
        for pose in poses { try fit.add(pose) }
        return fit
    }

    private let top = Vector3(0, 0, 1)

    /// The target: 5 % scale, 3° cross-axis, 100 mg offset, noise as specified; eight poses in arbitrary orientations.
    /// The whole sphere is checked, not only the poses.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func eightPosesWithTurnsGiveGravityWithinTwoMilliG(seed: UInt64) throws {
        let chip = badChip()
        let path = posing([
            Vector3(1, 1, 0.3), Vector3(-0.5, 1, -1), Vector3(-1, -1, 0.2), Vector3(0.3, -1, -1),
            Vector3(1, 0.2, -0.8), Vector3(-0.9, 0.1, 0.6), Vector3(0.1, 1, 0.6),
        ])
        let (poses, turns) = CalibrationRig(path, chip, seed: seed).collect(path.duration)
        #expect(poses.count == 8 && turns.count == 7)
        var fit = try fit(poses)
        for turn in turns { fit.add(turn) }
        let solution = try fit.solve()
        #expect(largestGravityError(AccelerometerCalibration(), chip) > 100)
        #expect(largestGravityError(solution.calibration, chip) < 2)
        #expect(solution.residual < 0.002 * standardGravity)
        #expect(solution.poses == 8)
    }

    /// Requirement: a copy that measures twice or half of everything can be calibrated.
    @Test(arguments: [2, 0.5])
    func aCopyWithAnotherScaleIsCalibrated(scale: Double) throws {
        var chip = badChip()
        chip.accelerometerMatrix = Matrix3(
            chip.accelerometerMatrix.row0 * scale, chip.accelerometerMatrix.row1 * scale,
            chip.accelerometerMatrix.row2 * scale)
        chip.accelerometerBias = chip.accelerometerBias * scale
        let path = posing(faces + slants.prefix(4))
        let (poses, turns) = CalibrationRig(path, chip).collect(path.duration)
        var fit = try fit(poses)
        for turn in turns { fit.add(turn) }
        #expect(largestGravityError(try fit.solve().calibration, chip) < 2)
        // All poses are of one chip.
        let slant = try #require(Vector3(1, 1, 0.3).normalized)
        let other = RestingPose(force: slant * (scale == 2 ? 0.5 : 2) * standardGravity)
        #expect(throws: AccelerometerFitError.notGravity(length: other.force.length)) { try fit.add(other) }
    }

    /// Without turns, ten poses determine the nine numbers.
    @Test func tenPosesSufficeWithoutTurns() throws {
        let chip = badChip()
        let path = posing(faces + slants.prefix(4))
        let (poses, _) = CalibrationRig(path, chip).collect(path.duration)
        let solution = try fit(poses).solve()
        #expect(solution.poses == 10)
        #expect(largestGravityError(solution.calibration, chip) < 2)
    }

    /// Six faces determine offset and scale. The uncertainty shows how little they reveal about the cross axes,
    /// although the residual is small.
    @Test func sixFacesGiveOffsetAndScaleAndReportWeakestDirection() throws {
        var chip = Imperfections.ideal
        chip.accelerometerBias = Vector3(0.9, -0.8, 0.7)
        chip.accelerometerMatrix = Matrix3(Vector3(1.05, 0, 0), Vector3(0, 0.96, 0), Vector3(0, 0, 1.03))
        let solution = try fit(poses([top] + faces, chip)).solve()
        #expect((solution.calibration.offset - chip.accelerometerBias).length < 0.01)
        #expect(largestGravityError(solution.calibration, chip) < 2)
        #expect(solution.uncertainty > 0.02 * standardGravity)
        #expect(solution.weakestDirection.x * solution.weakestDirection.y != 0)
    }

    @Test func orderOfPosesDoesNotMatter() throws {
        let all = poses([top] + faces + slants)
        let one = try fit(all).solve().calibration
        let other = try fit(all.reversed()).solve().calibration
        #expect((one.offset - other.offset).length < 1e-6)
        #expect(largestGravityError(one, badChip()) < 0.5)
    }

    @Test func rejectsPoseTooCloseToAnother() throws {
        var fit = try fit(poses([top]))
        let near = poses([Vector3(0.2, 0, 1)])[0]
        #expect { try fit.add(near) } throws: { error in
            guard case .tooNear(pose: 0, let angle) = error as? AccelerometerFitError else { return false }
            return angle > 0 && angle < 20 * radiansPerDegree
        }
        // The opposite pose is useful.
        try fit.add(poses([-top])[0])
        try fit.add(poses([Vector3(0.5, 0, 1)])[0])
        #expect(fit.poses.count == 3)
    }

    @Test func rejectsForceThatIsNotGravity() {
        var fit = AccelerometerFit()
        for force in [Vector3.zero, 3.2 * standardGravity * top, Vector3(.nan, 0, 9.8), Vector3(.infinity, 0, 0)] {
            #expect(throws: AccelerometerFitError.self) { try fit.add(RestingPose(force: force)) }
        }
        #expect(fit.poses.isEmpty)
    }

    @Test func rejectsTooFewPoses() throws {
        #expect(throws: AccelerometerFitError.tooFewPoses(have: 0, need: 6)) { try AccelerometerFit().solve() }
        let five = try fit(poses(faces))
        #expect(throws: AccelerometerFitError.tooFewPoses(have: 5, need: 6)) { try five.solve() }
    }

    /// Six poses of the upper half reveal nothing about the lower one; the advice is to turn the board over.
    @Test func rejectsPosesThatLeaveOutASide() throws {
        let upper = [
            top, Vector3(1, 0, 0.8), Vector3(-1, 0, 0.8), Vector3(0, 1, 0.8), Vector3(0, -1, 0.8), Vector3(1, 1, 0.3),
        ]
        let fit = try fit(poses(upper))
        #expect { try fit.solve() } throws: { error in
            guard case .notSpread(let missing) = error as? AccelerometerFitError else { return false }
            return missing.z < -0.5
        }
        #expect(fit.mostUsefulDirection.z < -0.5)
    }

    @Test func rejectsImplausibleErrors() throws {
        var shifted = Imperfections.ideal
        shifted.accelerometerBias = Vector3(0, 0.35 * standardGravity, 0)
        let offset = try fit(poses([top] + faces + slants, shifted))
        #expect { try offset.solve() } throws: { error in
            guard case .implausibleOffset(axis: 1, _) = error as? AccelerometerFitError else { return false }
            return true
        }
        var stretched = Imperfections.ideal
        stretched.accelerometerMatrix = Matrix3(Vector3(0.8, 0, 0), Vector3(0, 1, 0), Vector3(0, 0, 1))
        let scale = try fit(poses([top] + faces + slants, stretched))
        #expect { try scale.solve() } throws: { error in
            guard case .implausibleMatrix = error as? AccelerometerFitError else { return false }
            return true
        }
    }

    /// The other poses expose one in which the board was held against something that shook.
    @Test func rejectsContradictoryPoses() throws {
        var all = poses([top] + faces + slants)
        all[3].force = 1.2 * all[3].force
        all[8].force = 0.8 * all[8].force
        let fit = try fit(all)
        #expect { try fit.solve() } throws: { error in
            guard case .residualTooLarge(let residual, _) = error as? AccelerometerFitError else { return false }
            return residual > 0.02 * standardGravity
        }
    }

    /// A recording that does not match the poses at its ends is left out instead of spoiling the fit.
    @Test func ignoresImpossibleTurn() throws {
        let chip = badChip()
        let all = poses([top] + faces + slants.prefix(4))
        var fit = try fit(all)
        let without = try fit.solve().calibration
        var recorder = TurnRecorder(from: all[0])
        for index in 0...200 {
            recorder.take(
                MotionSample(
                    timestamp: Timestamp(seconds: Double(index) * 0.005), acceleration: .zero,
                    rotationRate: Vector3(0.7, 0.1, 0)))
        }
        fit.add(try #require(recorder.finished(at: all[1])))
        #expect(try fit.solve().calibration == without)
        #expect(largestGravityError(without, chip) < 1)
    }
}
