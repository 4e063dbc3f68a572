import MotionCore
import Testing

/// Attitude from rate and force: the vertical is found, a bias is learnt at rest, faults of the stream are survived.
@Suite struct AttitudeFilterTests {
    private let interval = 0.005

    private func sample(_ attitude: Quaternion, rate: Vector3 = .zero) -> MotionSample {
        MotionSample(
            timestamp: Timestamp(nanoseconds: 0), acceleration: attitude.unrotate(Vector3(0, 0, standardGravity)),
            rotationRate: rate)
    }

    @Test func theFirstSampleSetsTheInclination() {
        var filter = AttitudeFilter()
        let pose = Quaternion(roll: 0.6, pitch: -0.4, yaw: 0)
        filter.update(sample(pose), interval: 0)
        #expect(filter.attitude.inclination(to: pose) < 1e-9)
    }

    @Test func aTurnIsFollowedExactly() {
        var filter = AttitudeFilter()
        var truth = Quaternion(roll: 0.2, pitch: 0.1, yaw: 0)
        filter.update(sample(truth), interval: 0)
        let start = filter.attitude
        let startTruth = truth
        let rate = Vector3(0.9, -1.3, 2.1)
        for _ in 0..<2000 {
            truth = truth * Quaternion(rotationVector: rate * interval)
            filter.update(sample(truth, rate: rate), interval: interval)
        }
        let turned = start.conjugate * filter.attitude
        let turnedTruth = startTruth.conjugate * truth
        #expect(turned.angle(to: turnedTruth) < 0.02 * radiansPerDegree)
    }

    @Test func aBiasOfAnMPU6050IsLearntAtRest() {
        var filter = AttitudeFilter()
        let bias = Vector3(5, -8, 3) * radiansPerDegree
        let pose = Quaternion(roll: -1, pitch: 0.5, yaw: 0)
        for _ in 0..<1000 { filter.update(sample(pose, rate: bias), interval: interval) }
        #expect((filter.gyroscopeBias - bias).length < 0.05 * radiansPerDegree)
        #expect(filter.isAtRest)
        // What tilted before the bias was known is levelled with a time constant of 3 s.
        for _ in 0..<6000 { filter.update(sample(pose, rate: bias), interval: interval) }
        let before = filter.attitude
        for _ in 0..<2000 { filter.update(sample(pose, rate: bias), interval: interval) }
        #expect(filter.attitude.angle(to: before) < 0.1 * radiansPerDegree)
    }

    @Test func aTurntableIsNoRest() {
        var filter = AttitudeFilter()
        let rate = Vector3(0, 0, 60 * radiansPerDegree)
        for _ in 0..<1000 { filter.update(sample(.identity, rate: rate), interval: interval) }
        #expect(!filter.isAtRest)
        #expect(filter.gyroscopeBias == .zero)
    }

    @Test func samplesThatAreNotFiniteAreBridged() {
        var filter = AttitudeFilter()
        let rate = Vector3(0, 0, 1)
        filter.update(sample(.identity), interval: 0)
        let start = filter.attitude
        for index in 1...100 {
            var next = sample(.identity, rate: rate)
            if index % 10 == 5 { next.rotationRate = .unknown }
            filter.update(next, interval: 0.01)
        }
        #expect(abs((start.conjugate * filter.attitude).rotationVector.z - 1) < 1e-9)
    }

    @Test func afterALongGapTheVerticalIsFoundAnewAndTheBiasKept() {
        var filter = AttitudeFilter()
        let bias = Vector3(2, 1, -3) * radiansPerDegree
        for _ in 0..<1000 { filter.update(sample(.identity, rate: bias), interval: interval) }
        let learnt = filter.gyroscopeBias
        let tipped = Quaternion(roll: 1.2, pitch: 0, yaw: 0)
        filter.update(sample(tipped, rate: bias), interval: 30)
        #expect(filter.attitude.inclination(to: tipped) < 0.1 * radiansPerDegree)
        #expect(filter.gyroscopeBias == learnt)
    }

    @Test func withoutAGyroscopeTheInclinationHasHeadingZero() {
        var filter = AttitudeFilter()
        let pose = Quaternion(roll: 0.5, pitch: -0.7, yaw: 1.4)
        for _ in 0..<600 {
            var next = sample(pose)
            next.flags = []
            filter.update(next, interval: interval)
        }
        #expect(filter.attitude.inclination(to: pose) < 0.01 * radiansPerDegree)
        #expect(abs(filter.attitude.eulerAngles.yaw) < 1e-9)
    }
}
