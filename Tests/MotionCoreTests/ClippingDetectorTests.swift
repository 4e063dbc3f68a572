import Testing

@testable import MotionCore

/// The end of a range that nobody told is found in what the sensor shows.
@Suite struct ClippingDetectorTests {
    @Test func theSameValueTwiceAtAUsualFullScaleIsTheEnd() {
        var detector = ClippingDetector.gyroscope
        let end = 500 * radiansPerDegree * 0.999
        #expect(detector.clippedAxes(Vector3(0, end, 0)) == 0)
        #expect(detector.clippedAxes(Vector3(0.1, end, 0)) == 0b010)
        #expect(detector.clippedAxes(Vector3(0.2, -end, end)) == 0b110)
        #expect(detector.clippedAxes(Vector3(0, 0.9 * end, 0)) == 0)
    }

    @Test func aValueBeyondSaysThatItWasNot() {
        var detector = ClippingDetector.accelerometer
        let seeming = 2 * standardGravity
        _ = detector.clippedAxes(Vector3(seeming, 0, 0))
        #expect(detector.clippedAxes(Vector3(seeming, 0, 0)) == 0b001)
        #expect(detector.clippedAxes(Vector3(1.5 * seeming, 0, 0)) == 0)
        #expect(detector.limit == nil)
    }

    @Test func noiseAndOtherValuesAreNotTakenForIt() {
        var detector = ClippingDetector.accelerometer
        // Twice the same, but at no usual full scale.
        for _ in 0..<3 { #expect(detector.clippedAxes(Vector3(0, 0, 2.6 * standardGravity)) == 0) }
        // Near one, but never the same.
        for index in 0..<9 {
            let size = 4 * standardGravity * (1 - 0.001 * Double(9 - index))
            #expect(detector.clippedAxes(Vector3(size, 0, 0)) == 0)
        }
    }

    @Test func aPipelineMarksThemOnlyWhereRangesAreUntold() {
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
