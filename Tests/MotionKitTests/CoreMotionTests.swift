import MotionCore
import MotionKit
import Testing

/// Requirement: ported code reads the axes, units and signs of CoreMotion.
@Suite struct CoreMotionTests {
    /// The state of a resting body: `force` is what its accelerometer measures, g, body axes.
    private func state(_ attitude: Quaternion) -> MotionState {
        var state = MotionState()
        state.attitude = attitude
        state.relativeAttitude = attitude
        state.gravity = attitude.unrotate(Vector3(0, 0, standardGravity))
        return state
    }

    private func isClose(_ a: Vector3, _ b: Vector3) -> Bool { (a - b).length < 1e-9 }

    private func isClose(_ a: CoreMotionValues.Attitude, roll: Double, pitch: Double, yaw: Double) -> Bool {
        isClose(Vector3(a.roll, a.pitch, a.yaw), Vector3(roll, pitch, yaw))
    }

    @Test func liesFaceUp() {
        let values = state(.identity).coreMotion
        #expect(isClose(values.gravity, Vector3(0, 0, -1)))
        #expect(isClose(values.attitude, roll: 0, pitch: 0, yaw: 0))
        #expect(values.attitude.quaternion == .identity)
    }

    /// A phone that is held upright: gravity pulls towards the lower edge.
    @Test func standsOnItsLowerEdge() {
        // Forward goes up: about y, which points left, that is negative.
        let values = state(Quaternion(angle: -.pi / 2, axis: Vector3(0, 1, 0))).coreMotion
        #expect(isClose(values.gravity, Vector3(0, -1, 0)))
        #expect(abs(values.attitude.pitch - .pi / 2) < 1e-6)
        // Apple's x axis, to the right: sin 45°.
        #expect(abs(values.attitude.quaternion.x - 0.5.squareRoot()) < 1e-12)
    }

    @Test func itsRightEdgeIsDown() {
        let values = state(Quaternion(angle: .pi / 2, axis: Vector3(1, 0, 0))).coreMotion
        #expect(isClose(values.gravity, Vector3(1, 0, 0)))
        #expect(isClose(values.attitude, roll: .pi / 2, pitch: 0, yaw: 0))
        #expect(abs(values.attitude.quaternion.y - 0.5.squareRoot()) < 1e-12)
    }

    @Test func itsTopEdgePointsToTheLeft() {
        let values = state(Quaternion(angle: .pi / 2, axis: Vector3(0, 0, 1))).coreMotion
        #expect(isClose(values.gravity, Vector3(0, 0, -1)))
        #expect(isClose(values.attitude, roll: 0, pitch: 0, yaw: .pi / 2))
    }

    /// The angles are those of yaw about z, then pitch about the new x, then roll about the new y, and the quaternion and
    /// gravity are of the same attitude.
    @Test func anglesQuaternionAndGravityFitTogether() {
        let (roll, pitch, yaw) = (-0.7, 0.4, 1.9)
        let turned = Quaternion(angle: yaw, axis: Vector3(0, 0, 1))
        let pitched = turned * Quaternion(angle: pitch, axis: Vector3(1, 0, 0))
        let expected = pitched * Quaternion(angle: roll, axis: Vector3(0, 1, 0))
        let values = state(Quaternion(roll: roll, pitch: -pitch, yaw: yaw)).coreMotion
        #expect(values.attitude.quaternion.angle(to: expected) < 1e-9)
        #expect(isClose(values.attitude, roll: roll, pitch: pitch, yaw: yaw))
        #expect(isClose(values.gravity, expected.unrotate(Vector3(0, 0, -1))))
    }

    @Test func ratesAndAccelerationsHaveApplesAxesAndSigns() {
        var state = MotionState()
        // Body axes: forward, left, up.
        state.linearAcceleration = Vector3(1, -2, 3) * standardGravity
        state.rotationRate = Vector3(0.1, -0.2, 0.3)
        let values = state.coreMotion
        #expect(isClose(values.userAcceleration, Vector3(-2, -1, -3)))
        #expect(isClose(values.rotationRate, Vector3(0.2, 0.1, 0.3)))
    }

    /// In free fall an accelerometer measures nothing, which CoreMotion reports as -1 g of gravity and +1 g.
    @Test func gravityAndUserAccelerationCancelInFreeFall() {
        var state = MotionState()
        state.linearAcceleration = Vector3(0, 0, -standardGravity)
        #expect(isClose(state.coreMotion.userAcceleration, Vector3(0, 0, 1)))
        #expect(isClose(state.coreMotion.userAcceleration + state.coreMotion.gravity, .zero))
    }

    /// What ported code relies on: with this mounting, CoreMotion's axes are those of the chip.
    @Test func theMountMatrixOfAPhoneIsARotation() {
        let mount = Matrix3.phoneAxes
        #expect(mount.determinant == 1)
        #expect(mount.orthonormalityError == 0)
        #expect(mount * Vector3(0.1, -0.2, 0.3) == Vector3(-0.2, -0.1, 0.3))
        var state = MotionState()
        state.rotationRate = mount * Vector3(0.1, -0.2, 0.3)
        #expect(isClose(state.coreMotion.rotationRate, Vector3(0.1, -0.2, 0.3)))
    }

    @Test func cutoffOfAFactor() {
        #expect(abs(MotionSettings.cutoff(ofFactor: 0.95, framesPerSecond: 60) - 28.607) < 0.001)
        #expect(abs(MotionSettings.cutoff(ofFactor: 0.05, framesPerSecond: 60) - 0.4898) < 0.0001)
        #expect(abs(MotionSettings.cutoff(ofFactor: 0.05, framesPerSecond: 120) - 0.9796) < 0.0001)
    }

    @Test(arguments: [1.0, 1.5, 0, -0.1, .nan])
    func factorsWithoutACutoffSwitchTheFilterOff(factor: Double) {
        #expect(MotionSettings.cutoff(ofFactor: factor, framesPerSecond: 60) == 0)
    }

    /// The published attitude follows a step as the ported filter does.
    @Test func theAttitudeLowPassWithThatCutoffIsThePortedFilter() {
        let cutoff = MotionSettings.cutoff(ofFactor: 0.2, framesPerSecond: 60)
        var filter = AttitudeLowPass(cutoff: cutoff)
        filter.update(.identity, interval: 1.0 / 60)
        let target = Quaternion(angle: 0.5, axis: Vector3(1, 0, 0))
        var ported = 0.0
        for _ in 0..<10 {
            filter.update(target, interval: 1.0 / 60)
            ported += 0.2 * (0.5 - ported)
        }
        #expect(abs(filter.output.angle(to: .identity) - ported) < 1e-9)
    }
}
