import MotionCore
import Testing

/// The conventions of docs/mqtt.md: w first, body to earth, intrinsic Z-Y'-X'' angles.
@Suite struct QuaternionTests {
    private func close(_ a: Vector3, _ b: Vector3, _ tolerance: Double = 1e-12) -> Bool { (a - b).length <= tolerance }

    @Test func rotatesBodyVectorsIntoEarthVectors() {
        let yaw90 = Quaternion(angle: .pi / 2, axis: Vector3(0, 0, 1))
        #expect(close(yaw90.rotate(Vector3(1, 0, 0)), Vector3(0, 1, 0)))
        #expect(close(yaw90.unrotate(Vector3(0, 1, 0)), Vector3(1, 0, 0)))
    }

    @Test func productAppliesRightFactorFirst() {
        let yaw = Quaternion(angle: 0.7, axis: Vector3(0, 0, 1))
        let roll = Quaternion(angle: -1.1, axis: Vector3(1, 0, 0))
        let v = Vector3(0.3, -2, 1.5)
        #expect(close((yaw * roll).rotate(v), yaw.rotate(roll.rotate(v)), 1e-12))
    }

    @Test(arguments: [(0.3, -0.5, 2.9), (-2.8, 1.2, -0.4), (1.5, -1.5, 0.1), (0, 0, -3.1)])
    func anglesSurviveRoundTrip(roll: Double, pitch: Double, yaw: Double) {
        let angles = Quaternion(roll: roll, pitch: pitch, yaw: yaw).eulerAngles
        #expect(abs(angles.roll - roll) < 1e-9)
        #expect(abs(angles.pitch - pitch) < 1e-9)
        #expect(abs(angles.yaw - yaw) < 1e-9)
    }

    @Test(arguments: [Double.pi / 2, -Double.pi / 2])
    func anglesDescribeAttitudeAtPoles(pitch: Double) {
        let attitude = Quaternion(roll: 0.4, pitch: pitch, yaw: 1.9)
        let angles = attitude.eulerAngles
        #expect(angles.roll == 0)
        #expect(angles.pitch == pitch)
        let again = Quaternion(roll: angles.roll, pitch: angles.pitch, yaw: angles.yaw)
        #expect(attitude.angle(to: again) < 1e-4)
    }

    @Test(arguments: [1e-9, 0.01, 0.0999, 0.1001, 1.0, 3.1])
    func rotationVectorsSurviveRoundTrip(angle: Double) {
        let vector = Vector3(0.36, -0.48, 0.8) * angle
        #expect(close(Quaternion(rotationVector: vector).rotationVector, vector, 1e-12 * max(1, angle)))
    }

    @Test func shortestRotationMapsOneDirectionToOther() {
        let pairs = [
            (Vector3(1, 2, -3), Vector3(-4, 0.5, 2)), (Vector3(0, 0, 1), Vector3(0, 0, -1)),
            (Vector3(-1, 0, 0), Vector3(1, 0, 0)), (Vector3(0, 5, 0), Vector3(0, 2, 0)),
        ]
        for (from, to) in pairs {
            let turned = Quaternion(from: from, to: to).rotate(from)
            #expect(close(turned * (1 / turned.length), to * (1 / to.length), 1e-9))
        }
    }

    @Test func inclinationIgnoresHeading() {
        let a = Quaternion(roll: 0.2, pitch: -0.3, yaw: 1)
        let turned = Quaternion(angle: 2.2, axis: Vector3(0, 0, 1)) * a
        #expect(a.inclination(to: turned) < 1e-7)
        #expect(abs(Quaternion.identity.inclination(to: Quaternion(roll: 0.25, pitch: 0, yaw: 3)) - 0.25) < 1e-9)
    }
}
