// The magnetometer's part of the pipeline: readings meet the samples of their time, and turn the attitude to north.
extension MotionPipeline {
    /// Takes a reading of the magnetometer, along the sensor's axes, not calibrated. It is used with the first sample that is
    /// not earlier.
    ///
    /// From the first reading on, the attitude points to magnetic north: its x axis at yaw 0. Without readings, heading is
    /// zero at the start and drifts with the gyroscope.
    package mutating func process(_ reading: MagneticSample) {
        guard reading.field.isFinite else { return }
        magneticReadings.append(reading)
    }

    /// Turns the six-axis attitude to north, if there is a magnetometer.
    mutating func turnToNorth(_ attitude: Quaternion, with sample: MotionSample, interval: Double) -> Quaternion {
        guard magneticReadings.count > 0 || state.heading != nil, sample.flags.contains(.rotationRate) else {
            return attitude
        }
        let rate = filter.rotationRate
        heading.follow(correction: filter.headingCorrection)
        heading.turn(rate: rate.length, interval: interval, lostAngle: lostAngle(sample, rate, interval))
        while let reading = magneticReadings.first, reading.timestamp <= sample.timestamp {
            magneticReadings.removeFirst()
            take(reading, attitude: attitude, rate: rate, at: sample.timestamp)
        }
        guard let found = heading.state else { return attitude }
        // The first one turns the attitude at once.
        if state.heading == nil { attitudeLowPass.reset() }
        state.heading = found
        return Quaternion(angle: heading.offset, axis: Vector3(0, 0, 1)) * attitude
    }

    private mutating func take(_ reading: MagneticSample, attitude: Quaternion, rate: Vector3, at time: Timestamp) {
        let since = lastReading.map { reading.timestamp.seconds(since: $0) } ?? 0
        guard since > 0 || lastReading == nil else { return }
        lastReading = reading.timestamp
        // As long as the vertical is not known, neither is the horizontal direction of the field.
        guard filter.isVerticalKnown else { return }
        let field = calibration.mount * magneticCalibration.apply(reading.field)
        // One from a gap shows a heading that the board has left.
        let earlier = time.seconds(since: reading.timestamp)
        guard earlier <= filter.longestInterpolation else { return }
        heading.take(
            field, attitude: attitude * Quaternion(rotationVector: -earlier * rate), rate: rate, interval: since,
            drift: filter.gyroscopeBiasDeviation)
    }

    /// By how much the gyroscope may have missed the heading since the sample before, rad.
    private mutating func lostAngle(_ sample: MotionSample, _ rate: Vector3, _ interval: Double) -> Double {
        if interval > filter.longestInterpolation { return min(.pi, filter.deviationInGap(rate.length) * interval) }
        return sample.flags.isDisjoint(with: .rotationRateClipped) ? 0 : Self.clippedRate * interval
    }

    /// How much faster than its range a gyroscope that is clipped may turn, rad/s.
    private static var clippedRate: Double { 3 }
}
