import MotionCore
import Testing
import VirtualIMU

/// Requirement: finds the mounting from two poses instead of nine numbers entered by hand.
@Suite struct MountFitTests {
    private static let up = Vector3(0, 0, standardGravity)

    /// Force along the sensor's axes for a body in an attitude, with the sensor mounted by `mount`.
    private func force(_ attitude: Quaternion, _ mount: Matrix3) -> Vector3 {
        mount.transposed * attitude.unrotate(Self.up)
    }

    private func mount(_ rotation: Quaternion) -> Matrix3 {
        Matrix3(
            rotation.rotate(Vector3(1, 0, 0)), rotation.rotate(Vector3(0, 1, 0)), rotation.rotate(Vector3(0, 0, 1))
        ).transposed
    }

    private func nose(down degrees: Double) -> Quaternion {
        Quaternion(angle: degrees * radiansPerDegree, axis: Vector3(0, 1, 0))
    }

    private func largestDifference(_ a: Matrix3, _ b: Matrix3) -> Double {
        max((a.row0 - b.row0).length, (a.row1 - b.row1).length, (a.row2 - b.row2).length)
    }

    @Test func findsEveryMountingFromTwoPoses() throws {
        for axis in sphere(12) {
            for angle in [0.0, 0.5, 1.6, 3.1] {
                let truth = mount(Quaternion(angle: angle, axis: axis))
                for degrees in [25.0, 90, 150] {
                    let found = try MountFit.mount(
                        level: force(.identity, truth), tippedForward: force(nose(down: degrees), truth))
                    #expect(largestDifference(found, truth) < 1e-9)
                    #expect(found.orthonormalityError < 1e-12 && abs(found.determinant - 1) < 1e-12)
                }
            }
        }
    }

    /// With the noise of a chip, averaged as in a pose, and with a hand that tips 3° sideways.
    @Test func findsMountingFromNoisyPosesWithinDegrees() throws {
        let path = MotionSequence([Rest(4), Turn(axis: Vector3(0, 1, 0), angle: 1, duration: 1), Rest(4)])
        var chip = Imperfections.typical
        chip.accelerometerBias = .zero
        let (poses, _) = CalibrationRig(path, chip).collect(9)
        #expect(poses.count == 2)
        let found = try MountFit.mount(level: poses[0].force, tippedForward: poses[1].force)
        #expect(largestDifference(found, .identity) < 1 * radiansPerDegree)
        let crooked = Quaternion(angle: 3 * radiansPerDegree, axis: Vector3(1, 0, 0)) * nose(down: 60)
        let other = try MountFit.mount(level: Self.up, tippedForward: crooked.unrotate(Self.up))
        #expect(largestDifference(other, .identity) < 4 * radiansPerDegree)
    }

    @Test(arguments: [0, 10, 19, 161, 180] as [Double])
    func rejectsPosesThatDoNotDetermineForward(degrees: Double) {
        #expect { try MountFit.mount(level: Self.up, tippedForward: nose(down: degrees).unrotate(Self.up)) } throws: {
            guard case .wrongAngle(let angle) = $0 as? MountFitError else { return false }
            return abs(angle - degrees * radiansPerDegree) < 1e-6
        }
    }

    @Test func rejectsForceThatIsNotGravity() {
        for force in [Vector3.zero, 0.1 * Self.up, 3 * Self.up, .unknown] {
            #expect(throws: MountFitError.self) { try MountFit.mount(level: Self.up, tippedForward: force) }
            #expect(throws: MountFitError.self) { try MountFit.mount(level: force, tippedForward: Self.up) }
        }
    }
}
