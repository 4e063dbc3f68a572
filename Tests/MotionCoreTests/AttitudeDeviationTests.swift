import Foundation
import MotionCore
import Testing

/// Fast movement without a pause at several sample rates, blows, and how far the filter says that it may be off.
@Suite struct AttitudeDeviationTests {
    private static let degree = radiansPerDegree

    /// A board that turns fast about all axes and is thrown to and fro; each sample shows one instant.
    private struct FastHand {
        /// Samples per second: a divisor of 500.
        var rate = 250
        var turning = 4.0
        var acceleration = 12.0
        var seconds = 30
        /// K of the gyroscope.
        var scale = 0.003
        /// Force in addition to that of the movement, body axes, m/s², and rate, rad/s, by the number of the sample.
        var blow: (Int) -> Vector3 = { _ in .zero }
        var jolt: (Int) -> Vector3 = { _ in .zero }

        struct Result {
            /// RMS and largest error of the inclination, rad.
            var inclination = 0.0
            var largest = 0.0
            /// RMS of the change of the heading since the movement began, rad.
            var heading = 0.0
            /// The shares of samples in which tilt and heading were off by at most two deviations.
            var tiltShare = 0.0
            var headingShare = 0.0
            /// At the end, rad.
            var deviation = AttitudeDeviation(tilt: 0, heading: 0)
            private var start: Double?
            private var count = 0.0

            mutating func add(
                _ estimate: Quaternion, _ deviation: AttitudeDeviation?, _ truth: Quaternion, time: Double
            ) {
                guard time > 4, let deviation else { return }
                let turn = (estimate * truth.conjugate).rotationVector.z
                let change = abs(turn - (start ?? turn))
                if start == nil { start = turn }
                let tilt = estimate.inclination(to: truth)
                inclination += tilt * tilt
                largest = max(largest, tilt)
                heading += change * change
                if tilt <= 2 * deviation.tilt { tiltShare += 1 }
                if change <= 2 * deviation.heading { headingShare += 1 }
                self.deviation = deviation
                count += 1
            }

            mutating func finish() {
                inclination = (inclination / count).squareRoot()
                heading = (heading / count).squareRoot()
                tiltShare /= count
                headingShare /= count
            }
        }

        func run() -> Result {
            var filter = AttitudeFilter()
            var attitude = Quaternion.identity
            var result = Result()
            for step in 1...(1000 * seconds) {
                let time = 0.001 * Double(step)
                let envelope = min(1, max(0, (time - 2) / 2))
                func sine(_ frequency: Double, _ phase: Double) -> Double { sin(2 * .pi * frequency * time + phase) }
                let turning = envelope * self.turning
                let turn =
                    turning
                    * Vector3(
                        sine(0.7, 0) + 0.6 * sine(1.9, 1), sine(0.83, 2) + 0.6 * sine(2.3, 3),
                        sine(0.61, 4) + 0.6 * sine(1.7, 5))
                attitude = (attitude * Quaternion(rotationVector: turn * 0.001)).normalized
                // The attitude of the filter is that of half a sample after the latest one.
                if step % (1000 / rate) == 500 / rate, step > 1000 / rate {
                    result.add(filter.attitude, filter.deviation, attitude, time: time)
                }
                guard step % (1000 / rate) == 0 else { continue }
                let pushing = envelope * acceleration
                let push =
                    pushing
                    * Vector3(
                        sine(1.1, 1) + 0.7 * sine(1.6, 2), sine(1.3, 3) - 0.7 * sine(1.9, 4), sine(1.5, 5))
                let index = step * rate / 1000
                let force = attitude.unrotate(push + Vector3(0, 0, standardGravity)) + blow(index)
                let measured = turn + Vector3(-turn.y, turn.x, turn.z) * scale + Vector3(0.005, -0.004, 0.003)
                let sample = MotionSample(
                    timestamp: Timestamp(seconds: time), acceleration: force, rotationRate: measured + jolt(index))
                filter.update(sample, interval: index == 1 ? 0 : 1 / Double(rate))
            }
            result.finish()
            return result
        }
    }

    private static let full = FastHand(turning: 6, acceleration: 20, scale: 0.006).run()

    @Test(arguments: [125, 100])
    func fastMovementIsAsExactAtLowerRates(rate: Int) {
        let full = Self.full
        let lower = FastHand(rate: rate, turning: 6, acceleration: 20, scale: 0.006).run()
        #expect(lower.inclination < 1.1 * full.inclination, "\(lower), at 250 Hz \(full)")
        #expect(lower.heading < 1.1 * full.heading + 0.1 * Self.degree, "\(lower), at 250 Hz \(full)")
    }

    /// One sample is huge: a blow whose peak lies between the others, or a fault of the bus.
    @Test func hugeSampleHardlyMovesTilt() {
        let result = FastHand(
            rate: 100, turning: 0.3, acceleration: 0.4, seconds: 20,
            blow: { $0 == 1000 ? Vector3(93, -78, 96) : .zero }
        ).run()
        #expect(result.largest < 0.7 * Self.degree, "\(result)")
    }

    /// Blows turn the board to and fro faster than the samples show.
    @Test func joltsBetweenSamplesAreNoMovement() {
        let result = FastHand(
            rate: 125, turning: 0.3, acceleration: 0.4, seconds: 20,
            jolt: { $0 % 75 == 0 ? Vector3(6, -7, 5) * ($0 % 150 == 0 ? 1 : -1) : .zero }
        ).run()
        #expect(result.heading < 6 * Self.degree && result.tiltShare > 0.9, "\(result)")
    }

    @Test(arguments: [(250, 4.0, 12.0), (50, 4, 12), (250, 0.5, 2), (250, 1, 20)])
    func deviationsHold(rate: Int, turning: Double, acceleration: Double) {
        let result = FastHand(rate: rate, turning: turning, acceleration: acceleration).run()
        #expect(result.tiltShare > 0.9 && result.headingShare > 0.9, "\(result)")
        #expect(result.deviation.tilt < 5 * Self.degree && result.deviation.heading < 8 * Self.degree, "\(result)")
    }

    @Test func deviationIsUnknownUntilVerticalIsAndWithoutGyroscope() {
        var filter = AttitudeFilter()
        var withoutRate = AttitudeFilter()
        for index in 0..<400 {
            let sample = MotionSample(
                timestamp: Timestamp(seconds: 0.005 * Double(index)), acceleration: Vector3(0, 0, standardGravity),
                rotationRate: .zero)
            filter.update(sample, interval: index == 0 ? 0 : 0.005)
            var other = sample
            other.flags.remove(.rotationRate)
            withoutRate.update(other, interval: index == 0 ? 0 : 0.005)
            if index == 80 { #expect(filter.deviation == nil) }
        }
        #expect(withoutRate.deviation == nil)
        let tilt = filter.deviation?.tilt ?? .nan
        #expect(tilt > 0.2 * Self.degree && tilt < Self.degree)
    }

    /// What a board does during a gap, nobody knows.
    @Test func gapMakesHeadingDoubtful() {
        var filter = AttitudeFilter()
        var before = AttitudeDeviation(tilt: .nan, heading: .nan)
        for index in 0..<800 {
            let sample = MotionSample(
                timestamp: Timestamp(seconds: 0.005 * Double(index)), acceleration: Vector3(0, 0, standardGravity),
                rotationRate: .zero)
            filter.update(sample, interval: index == 0 ? 0 : index == 400 ? 3 : 0.005)
            if index == 399 { before = filter.deviation ?? before }
        }
        let heading = filter.deviation?.heading ?? .nan
        #expect(before.heading < Self.degree && heading > 10 * Self.degree && heading < 110 * Self.degree)
    }
}
