import Foundation
import MotionCore
import Testing

/// A steady turn about the vertical is neither a rest nor a tilt, and a rest is not a turn. Without the rule in question,
/// each limit is exceeded.
@Suite struct AttitudeFilterTurnTests {
    private static let degree = radiansPerDegree

    /// A vehicle: a board that turns about the vertical and is accelerated along its own axes.
    private struct Vehicle {
        /// The rate about the vertical, rad/s, and the acceleration in body axes, m/s², by the time, s.
        var rate: (Double) -> Double
        var acceleration: (Double) -> Vector3
        /// RMS of the vibration on each axis, m/s², after `standing` seconds; the gyroscope's is 2 °/s for each m/s².
        var vibration = 0.0
        var standing = 5.0
        var bias = Vector3(0.3, -0.3, 0.3) * radiansPerDegree

        /// Errors at the end of a drive: of the heading, and RMS and largest of the inclination, rad.
        func drive(seconds: Double) -> (heading: Double, rms: Double, largest: Double) {
            var filter = AttitudeFilter()
            var random: UInt64 = 5
            func deviate() -> Double {
                random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return (Double(random >> 11) / Double(UInt64(1) << 53) - 0.5) * 12.0.squareRoot()
            }
            func noise(_ rms: Double) -> Vector3 { Vector3(deviate(), deviate(), deviate()) * rms }
            var (turned, turnedBefore, squares, largest) = (0.0, 0.0, 0.0, 0.0)
            var unwrapped = 0.0
            let count = Int(seconds * 100)
            for index in 0..<count {
                let time = 0.01 * Double(index)
                let shaking = time > standing ? vibration : 0
                let turn = rate(time)
                turned += turn * 0.01
                let force = acceleration(time) + Vector3(0, 0, standardGravity)
                let sample = MotionSample(
                    timestamp: Timestamp(seconds: 1 + time), acceleration: force + noise(0.03 + shaking),
                    rotationRate: Vector3(0, 0, turn) + bias
                        + noise((0.05 + 2 * shaking) * radiansPerDegree))
                filter.update(sample, interval: index == 0 ? 0 : 0.01)
                // The difference from sample to sample is small, however often the board has turned round.
                let yaw = filter.attitude.eulerAngles.yaw
                unwrapped += (yaw - turnedBefore).remainder(dividingBy: 2 * .pi)
                turnedBefore = yaw
                let inclination = filter.attitude.inclination(to: .identity)
                squares += inclination * inclination
                largest = max(largest, inclination)
            }
            return (abs(unwrapped - turned), (squares / Double(count)).squareRoot(), largest)
        }
    }

    /// Rises from 0 to 1 in a second, and falls again after `seconds`.
    private static func bend(_ time: Double, seconds: Double) -> Double {
        min(1, max(0, time - 10)) - min(1, max(0, time - 10 - seconds))
    }

    /// Five seconds of rest, a bend, and straight on.
    @Test(arguments: [
        (2.0, 0.5, 300.0), (2, 3, 300), (5, 1, 120), (8, 2, 300), (17, 3, 120), (17, 0.5, 300), (25, 5, 60),
        (-12, 1, 200),
    ])
    func steadyBendIsNeitherBiasNorTilt(degrees: Double, sideways: Double, seconds: Double) {
        for vibration in [0, 0.3] {
            let result = Vehicle(
                rate: { degrees * Self.degree * Self.bend($0, seconds: seconds) },
                acceleration: { Vector3(0, sideways * Self.bend($0, seconds: seconds), 0) }, vibration: vibration
            ).drive(seconds: seconds + 50)
            let limit = 5 + 0.005 * abs(degrees) * seconds
            #expect(result.heading < limit * Self.degree, "vibration \(vibration)")
            #expect(result.rms < 2.5 * Self.degree, "vibration \(vibration)")
        }
    }

    /// The velocity from before a short turn stops the vehicle after it.
    @Test func velocityIsKeptThroughShortTurn() {
        let result = Vehicle(
            rate: { $0 > 12 && $0 < 15 ? 15 * Self.degree : 0 },
            acceleration: { time in
                if time > 7, time < 11 { return Vector3(1, 0, 0) }
                return time > 16 && time < 20 ? Vector3(-1, 0, 0) : .zero
            }
        ).drive(seconds: 25)
        #expect(result.largest < 2.2 * Self.degree)
    }

    /// A board that would turn about a horizontal axis would see gravity turn.
    @Test func steadyRateAboutHorizontalAxisIsBias() {
        var filter = AttitudeFilter()
        for index in 0..<4500 {
            let rate = index < 1000 ? Vector3(0.2, 0, 0) : Vector3(2.2, 0, 1)
            let sample = MotionSample(
                timestamp: Timestamp(nanoseconds: 0), acceleration: Vector3(0, 0, standardGravity),
                rotationRate: rate * Self.degree)
            filter.update(sample, interval: 0.01)
        }
        #expect((filter.gyroscopeBias - Vector3(2.2, 0, 1) * Self.degree).length < 0.1 * Self.degree)
        #expect(filter.attitude.inclination(to: .identity) < 0.5 * Self.degree)
    }

    /// A board that begins to turn on the spot has not got another bias.
    @Test func turntableThatStartsIsNotBias() {
        let result = Vehicle(
            rate: { $0 > 10 && $0 < 130 ? 12 * Self.degree : 0 }, acceleration: { _ in .zero }
        ).drive(seconds: 170)
        #expect(result.heading < 5 * Self.degree)
    }
}
