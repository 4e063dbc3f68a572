import Testing

@testable import MotionCore

/// The end of an unknown range is found from the sensor's readings.
@Suite struct ClippingDetectorTests {
    @Test func repeatedValueAtUsualFullScaleIsEndOfRange() {
        var detector = ClippingDetector.gyroscope
        let end = 500 * radiansPerDegree * 0.999
        #expect(detector.clippedAxes(Vector3(0, end, 0)) == 0)
        #expect(detector.clippedAxes(Vector3(0.1, end, 0)) == 0b010)
        #expect(detector.clippedAxes(Vector3(0.2, -end, end)) == 0b110)
        #expect(detector.clippedAxes(Vector3(0, 0.9 * end, 0)) == 0)
    }

    @Test func largerValueRevokesEndOfRange() {
        var detector = ClippingDetector.accelerometer
        let seeming = 2 * standardGravity
        _ = detector.clippedAxes(Vector3(seeming, 0, 0))
        #expect(detector.clippedAxes(Vector3(seeming, 0, 0)) == 0b001)
        #expect(detector.clippedAxes(Vector3(1.5 * seeming, 0, 0)) == 0)
        #expect(detector.limit == nil)
    }

    @Test func ignoresNoiseAndOtherRepeatedValues() {
        var detector = ClippingDetector.accelerometer
        // Repeated, but not at a usual full scale.
        for _ in 0..<3 { #expect(detector.clippedAxes(Vector3(0, 0, 2.6 * standardGravity)) == 0) }
        // Close to a usual full scale, but never repeated.
        for index in 0..<9 {
            let size = 4 * standardGravity * (1 - 0.001 * Double(9 - index))
            #expect(detector.clippedAxes(Vector3(size, 0, 0)) == 0)
        }
    }

    @Test func clippedAxesBecomeFlags() {
        let end = MotionSample(
            timestamp: Timestamp(seconds: 1), acceleration: Vector3(0, 0, standardGravity),
            rotationRate: Vector3(250 * radiansPerDegree, 0, 0))
        var detector = ClippingDetector.gyroscope
        _ = detector.clippedAxes(end.rotationRate)
        #expect(
            MotionSample.Flags(clippedAxes: detector.clippedAxes(end.rotationRate) << 3)
                == .rotationRateClipped(axis: 0))
    }
}
