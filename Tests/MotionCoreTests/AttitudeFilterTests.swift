import Foundation
import MotionCore
import Testing

/// Attitude from rate and force: finds the vertical, estimates the calibration, and survives faults of the stream.
@Suite struct AttitudeFilterTests {
    private let interval = 0.005

    private func sample(_ attitude: Quaternion, rate: Vector3 = .zero) -> MotionSample {
        MotionSample(
            timestamp: Timestamp(nanoseconds: 0), acceleration: attitude.unrotate(Vector3(0, 0, standardGravity)),
            rotationRate: rate)
    }

    /// Feeds a filter with a board that lies in `pose` while its gyroscope reads `rate`.
    private func rest(_ filter: inout AttitudeFilter, in pose: Quaternion, seconds: Double, rate: Vector3 = .zero) {
        for _ in 0..<Int(seconds / interval) { filter.update(sample(pose, rate: rate), interval: interval) }
    }

    @Test func firstSampleSetsInclination() {
        var filter = AttitudeFilter()
        let pose = Quaternion(roll: 0.6, pitch: -0.4, yaw: 0)
        filter.update(sample(pose), interval: 0)
        #expect(filter.attitude.inclination(to: pose) < 1e-9)
    }

    /// The gyroscope's first samples may come later than those of the accelerometer.
    @Test func beginsWithTheFirstRate() {
        var filter = AttitudeFilter()
        let pose = Quaternion(roll: 0.6, pitch: -0.4, yaw: 0)
        var withoutRate = sample(pose)
        withoutRate.flags.remove(.rotationRate)
        for index in 0..<300 { filter.update(withoutRate, interval: index == 0 ? 0 : interval) }
        let isKnown = filter.isVerticalKnown
        rest(&filter, in: pose, seconds: 2)
        let (isSound, isStillKnown) = (filter.hasSoundVariances, filter.isVerticalKnown)
        #expect(isKnown && isSound && isStillKnown)
        #expect(filter.attitude.inclination(to: pose) < 0.1 * radiansPerDegree)
    }

    @Test func recoversFromBlowInFirstSample() {
        var filter = AttitudeFilter()
        var blow = sample(.identity)
        blow.acceleration = Vector3(3, -20, -30)
        filter.update(blow, interval: 0)
        #expect(filter.attitude.inclination(to: .identity) > 2)
        rest(&filter, in: .identity, seconds: 0.2)
        #expect(filter.attitude.inclination(to: .identity) < 4 * radiansPerDegree)
        rest(&filter, in: .identity, seconds: 1)
        #expect(filter.attitude.inclination(to: .identity) < radiansPerDegree)
    }

    @Test func followsTurn() {
        var filter = AttitudeFilter()
        var truth = Quaternion(roll: 0.2, pitch: 0.1, yaw: 0)
        rest(&filter, in: truth, seconds: 2)
        let start = filter.attitude
        let startTruth = truth
        // To and fro about a slanted axis by 40°, as a hand does.
        for index in 0..<2000 {
            let phase = 2 * Double.pi * 0.7 * Double(index) * interval
            let swing = Quaternion(angle: 2 * phase, axis: Vector3(1, 0, 0)).w
            let rate = Vector3(0.9, -1.3, 2.1) * swing
            truth = truth * Quaternion(rotationVector: rate * interval)
            filter.update(sample(truth, rate: rate), interval: interval)
        }
        let turned = start.conjugate * filter.attitude
        let turnedTruth = startTruth.conjugate * truth
        #expect(turned.angle(to: turnedTruth) < 0.3 * radiansPerDegree)
    }

    @Test(arguments: [Vector3(5, -4, 3), Vector3(-18, 12, 19)])
    func estimatesMPU6050BiasAtRest(degrees: Vector3) {
        var filter = AttitudeFilter()
        let bias = degrees * radiansPerDegree
        let pose = Quaternion(roll: -1, pitch: 0.5, yaw: 0)
        rest(&filter, in: pose, seconds: 10, rate: bias)
        #expect((filter.gyroscopeBias - bias).length < 0.05 * radiansPerDegree)
        #expect((filter.isAtRest, filter.isMoving) == (true, false))
        rest(&filter, in: pose, seconds: 20, rate: bias)
        let before = filter.attitude
        rest(&filter, in: pose, seconds: 10, rate: bias)
        #expect(filter.attitude.angle(to: before) < 0.05 * radiansPerDegree)
        #expect(filter.attitude.inclination(to: pose) < 0.1 * radiansPerDegree)
    }

    @Test func doesNotTakeTurntableForRest() {
        var filter = AttitudeFilter()
        rest(&filter, in: .identity, seconds: 10, rate: Vector3(0, 0, 60 * radiansPerDegree))
        #expect((filter.isAtRest, filter.isMoving) == (false, true))
        #expect(filter.gyroscopeBias.length < 0.5 * radiansPerDegree)
    }

    @Test func recoversFromBiasEstimatedOnSlowTurntable() {
        var filter = AttitudeFilter()
        rest(&filter, in: .identity, seconds: 20, rate: Vector3(0, 0, 5 * radiansPerDegree))
        #expect(filter.gyroscopeBias.z > 4 * radiansPerDegree)
        rest(&filter, in: .identity, seconds: 40)
        #expect(filter.gyroscopeBias.length < 0.1 * radiansPerDegree)
    }

    @Test func bridgesSamplesThatAreNotFinite() {
        var filter = AttitudeFilter()
        rest(&filter, in: .identity, seconds: 2)
        let start = filter.attitude
        for index in 1...100 {
            var next = sample(.identity, rate: Vector3(0, 0, 1))
            if index % 10 == 5 { next.rotationRate = .unknown }
            filter.update(next, interval: 0.005)
        }
        #expect(abs((start.conjugate * filter.attitude).rotationVector.z - 0.5) < 0.003)
        #expect(filter.attitude.inclination(to: .identity) < 1e-3)
    }

    @Test(arguments: [0.3, 0.5, 1.0, 2.0, 30])
    func findsVerticalAndKeepsBiasAfterGap(gap: Double) {
        var filter = AttitudeFilter()
        let bias = Vector3(2, 1, -3) * radiansPerDegree
        rest(&filter, in: .identity, seconds: 5, rate: bias)
        let learnt = filter.gyroscopeBias
        let tipped = Quaternion(roll: 1.2, pitch: 0, yaw: 0)
        filter.update(sample(tipped, rate: bias), interval: gap)
        rest(&filter, in: tipped, seconds: 3, rate: bias)
        #expect(filter.attitude.inclination(to: tipped) < radiansPerDegree)
        #expect((filter.gyroscopeBias - learnt).length < 0.2 * radiansPerDegree)
    }

    /// Shorter gaps do not restart the filter: the tilt of the board meanwhile is corrected once the filter is free to.
    @Test(arguments: [(0.2, 3.0), (0.4, 4), (0.9, 8)])
    func correctsTiltMissedInGap(gap: Double, degrees: Double) {
        var filter = AttitudeFilter()
        rest(&filter, in: .identity, seconds: 5)
        let tipped = Quaternion(angle: degrees * radiansPerDegree, axis: Vector3(0.6, -0.8, 0))
        filter.update(sample(tipped), interval: gap)
        rest(&filter, in: tipped, seconds: 2)
        #expect(filter.attitude.inclination(to: tipped) < 0.5 * radiansPerDegree)
    }

    /// After a long gap the filter starts again, so that the vertical is right at once.
    @Test(arguments: [(1.5, 3.0), (3, 15), (3, 100)])
    func findsVerticalAtOnceAfterLongGap(gap: Double, degrees: Double) {
        var filter = AttitudeFilter()
        rest(&filter, in: .identity, seconds: 5)
        let tipped = Quaternion(angle: degrees * radiansPerDegree, axis: Vector3(0.6, -0.8, 0))
        filter.update(sample(tipped), interval: gap)
        rest(&filter, in: tipped, seconds: 0.3)
        #expect(filter.attitude.inclination(to: tipped) < 0.1 * radiansPerDegree)
    }

    /// Vibration is no movement.
    @Test(arguments: [(0.45, true), (1.0, false)])
    func boardOnIdlingEngineIsAtRest(rms: Double, isAtRest: Bool) {
        var filter = AttitudeFilter()
        let amplitude = rms * 2.0.squareRoot()
        let peak = Vector3(0.6, 0.48, -0.64) * amplitude
        for index in 0..<1000 {
            var next = sample(.identity)
            next.acceleration += peak * sin(2 * .pi * 27 * Double(index) * interval)
            filter.update(next, interval: interval)
        }
        #expect(filter.isAtRest == isAtRest)
    }

    @Test(arguments: [25.0, 50, 95, 286, 1000])
    func estimatesSameBiasAtEverySampleRate(rate: Double) {
        var filter = AttitudeFilter()
        let bias = Vector3(-1.5, 2.5, 0.7) * radiansPerDegree
        for _ in 0..<Int(8 * rate) { filter.update(sample(.identity, rate: bias), interval: 1 / rate) }
        #expect((filter.gyroscopeBias - bias).length < 0.05 * radiansPerDegree)
        #expect(filter.attitude.inclination(to: .identity) < 0.1 * radiansPerDegree)
    }

    @Test func toleratesIrregularSamplePeriods() {
        var filter = AttitudeFilter()
        rest(&filter, in: .identity, seconds: 2)
        let start = filter.attitude
        var truth = Quaternion.identity
        var state: UInt64 = 7
        for _ in 0..<400 {
            state = state &* 6_364_136_223_846_793_005 &+ 1
            let step = 0.002 + 0.012 * Double(state >> 40) / Double(1 << 24)
            let rate = Vector3(0.3, 0, 0.8)
            truth = truth * Quaternion(rotationVector: rate * step)
            filter.update(sample(truth, rate: rate), interval: step)
        }
        #expect((start.conjugate * filter.attitude).angle(to: truth) < 0.5 * radiansPerDegree)
    }

    @Test func clippedRatesAffectTiltButNotCalibration() {
        var filter = AttitudeFilter()
        rest(&filter, in: .identity, seconds: 5)
        let bias = filter.gyroscopeBias
        let scale = filter.gyroscopeScale
        // A turn by 90° about x in 0.1 s, of which the gyroscope shows a quarter.
        for index in 1...20 {
            var next = sample(
                Quaternion(angle: .pi / 2 * Double(index) / 20, axis: Vector3(1, 0, 0)),
                rate: Vector3(250 * radiansPerDegree, 0, 0))
            next.flags.insert(.rotationRateClipped(axis: 0))
            filter.update(next, interval: interval)
        }
        let tipped = Quaternion(angle: .pi / 2, axis: Vector3(1, 0, 0))
        rest(&filter, in: tipped, seconds: 4)
        #expect(filter.attitude.inclination(to: tipped) < 1.5 * radiansPerDegree)
        #expect((filter.gyroscopeBias - bias).length < 0.3 * radiansPerDegree)
        #expect((filter.gyroscopeScale * Vector3(1, 0, 0) - scale * Vector3(1, 0, 0)).length < 0.003)
    }

    @Test func reportsUncertaintyOfEstimates() {
        var filter = AttitudeFilter()
        filter.update(sample(.identity), interval: 0)
        #expect(abs(filter.gyroscopeBiasDeviation - radiansPerDegree) < 1e-6)
        #expect(abs(filter.scaleEstimate.deviation.largestElement - 0.002) < 1e-9)
        rest(&filter, in: .identity, seconds: 20)
        #expect(filter.gyroscopeBiasDeviation < 0.06 * radiansPerDegree)
        #expect(filter.tiltDeviation < radiansPerDegree)
    }

    @Test func headingIsZeroWithoutGyroscope() {
        var filter = AttitudeFilter()
        let pose = Quaternion(roll: 0.5, pitch: -0.7, yaw: 1.4)
        for _ in 0..<600 {
            var next = sample(pose)
            next.flags = []
            filter.update(next, interval: interval)
        }
        #expect(filter.attitude.inclination(to: pose) < 0.01 * radiansPerDegree)
        #expect(abs(filter.attitude.eulerAngles.yaw) < 1e-9)
        #expect(filter.isAtRest == true)
    }
}
