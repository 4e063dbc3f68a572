internal import MotionCore

/// What came of a self-test.
package struct MPU6050SelfTestReport: Equatable, Sendable, BitwiseCopyable {
    /// The three axes of a sensor.
    package struct Axes: Equatable, Sendable, BitwiseCopyable {
        package let x: Axis
        package let y: Axis
        package let z: Axis

        init(response: Vector3, factoryTrim: Vector3) {
            x = Axis(response: response.x, factoryTrim: factoryTrim.x)
            y = Axis(response: response.y, factoryTrim: factoryTrim.y)
            z = Axis(response: response.z, factoryTrim: factoryTrim.z)
        }

        /// The axis 0 (x), 1 (y) or 2 (z).
        package subscript(axis: Int) -> Axis { axis == 0 ? x : axis == 1 ? y : z }
    }

    /// One axis: rad/s or m/s².
    package struct Axis: Equatable, Sendable, BitwiseCopyable {
        /// What the self-test added to the output.
        package let response: Double
        /// What it added at the factory; zero where the factory noted nothing.
        package let factoryTrim: Double

        /// By how much the response exceeds the factory's, as a part of it; `nil` where the factory noted nothing.
        package var deviation: Double? { factoryTrim == 0 ? nil : response / factoryTrim - 1 }

        /// What that means (PS-MPU-6000A-00 r3.4, p. 12, 13: ±14 %).
        package var verdict: Verdict {
            guard let deviation else { return .noTrim }
            return abs(deviation) <= 0.14 ? .passed : .failed
        }
    }

    /// What a self-test means for an axis, and for the chip.
    package enum Verdict: Equatable, Sendable, BitwiseCopyable {
        case passed
        case failed
        /// The factory noted no response to compare with, as in copies of the chip.
        case noTrim
        /// The board did not rest: nothing can be said. Only of the chip as a whole.
        case disturbed
    }

    /// How the board moved during the test: the axis on which it was worst.
    package struct Disturbance: Equatable, Sendable, BitwiseCopyable {
        package enum Sensor: Equatable, Sendable, BitwiseCopyable {
            case accelerometer
            case gyroscope
        }

        package enum Kind: Equatable, Sendable, BitwiseCopyable {
            /// The readings spread too far while they should have been steady: their standard deviation.
            case spread
            /// The readings were not the same before and after the test: their difference.
            case shift
        }

        package let sensor: Sensor
        /// 0 (x), 1 (y) or 2 (z).
        package let axis: Int
        package let kind: Kind
        /// By how much, rad/s or m/s².
        package let amount: Double
    }

    package let gyroscope: Axes
    package let accelerometer: Axes

    /// How the board moved meanwhile; `nil` where it rested.
    package let disturbance: Disturbance?

    /// What it all means: a failed axis weighs more than one that cannot be judged.
    package var verdict: Verdict {
        if disturbance != nil { return .disturbed }
        var verdict = Verdict.passed
        for axis in 0..<3 {
            if gyroscope[axis].verdict == .failed || accelerometer[axis].verdict == .failed { return .failed }
            if gyroscope[axis].verdict == .noTrim || accelerometer[axis].verdict == .noTrim { verdict = .noTrim }
        }
        return verdict
    }

    /// Compares what was measured before, during and after with the factory's figures.
    init(before: RestStatistics, response: RestStatistics, after: RestStatistics, trim: MPU6050FactoryTrim) {
        gyroscope = Axes(
            response: response.rotationRate.mean - 0.5 * (before.rotationRate.mean + after.rotationRate.mean),
            factoryTrim: trim.gyroscope)
        accelerometer = Axes(
            response: response.acceleration.mean - 0.5 * (before.acceleration.mean + after.acceleration.mean),
            factoryTrim: trim.accelerometer)
        disturbance = Disturbance.worst(before, response, after)
    }
}

extension MPU6050SelfTestReport.Disturbance {
    /// What a resting board keeps below: spread and shift of the rate, rad/s, and of the force, m/s².
    ///
    /// The chip's own noise is a tenth of them (PS-MPU-6000A-00 r3.4: 0.05 °/s, and 400 µg/√Hz in 94 Hz); at the limit the
    /// smallest response that the factory can note, 25 °/s or 0.34 g, is in error by 3 %, well below the 14 % in question.
    private static var largestRateSpread: Double { 0.5 * radiansPerDegree }
    private static var largestForceSpread: Double { 0.015 * standardGravity }
    private static var largestRateShift: Double { 1 * radiansPerDegree }
    private static var largestForceShift: Double { 0.02 * standardGravity }

    /// What exceeds its limit by most, if anything does.
    static func worst(_ before: RestStatistics, _ response: RestStatistics, _ after: RestStatistics) -> Self? {
        var worst: Self?
        var excess = 1.0
        func look(_ sensor: Sensor, _ kind: Kind, _ amounts: Vector3, limit: Double) {
            for axis in 0..<3 where abs(amounts[axis]) > limit * excess {
                excess = abs(amounts[axis]) / limit
                worst = Self(sensor: sensor, axis: axis, kind: kind, amount: abs(amounts[axis]))
            }
        }
        func look(_ phase: RestStatistics) {
            look(.gyroscope, .spread, phase.rotationRate.deviation, limit: largestRateSpread)
            look(.accelerometer, .spread, phase.acceleration.deviation, limit: largestForceSpread)
        }
        look(before)
        look(response)
        look(after)
        look(.gyroscope, .shift, after.rotationRate.mean - before.rotationRate.mean, limit: largestRateShift)
        look(.accelerometer, .shift, after.acceleration.mean - before.acceleration.mean, limit: largestForceShift)
        return worst
    }
}

/// The responses that the factory noted in SELF_TEST_X, _Y, _Z and _A, by the formulas of RM-MPU-6000A-00 r4.2, p. 10, 11.
struct MPU6050FactoryTrim: Equatable, Sendable, BitwiseCopyable {
    /// Of the gyroscope, rad/s; zero on an axis without a code.
    let gyroscope: Vector3
    /// Of the accelerometer, m/s²; likewise.
    let accelerometer: Vector3

    /// Decodes the four registers: five bits a code, of which the accelerometer's lowest two are in the last register.
    init(x: UInt8, y: UInt8, z: UInt8, a: UInt8) {
        // The gyroscope's y axis answers the other way (RM p. 10).
        gyroscope = Vector3(Self.rate(x & 0x1F), -Self.rate(y & 0x1F), Self.rate(z & 0x1F))
        accelerometer = Vector3(
            Self.force((x >> 5) << 2 | (a >> 4) & 0x03), Self.force((y >> 5) << 2 | (a >> 2) & 0x03),
            Self.force((z >> 5) << 2 | a & 0x03))
    }

    /// 25·131·1.046^(code - 1) counts at ±250 °/s, where 131 counts are 1 °/s.
    private static func rate(_ code: UInt8) -> Double {
        code == 0 ? 0 : 25 * radiansPerDegree * power(1.046, code - 1)
    }

    /// 4096·0.34·(0.92/0.34)^((code - 1)/30) counts at ±8 g, where 4096 counts are 1 g.
    private static func force(_ code: UInt8) -> Double {
        code == 0 ? 0 : 0.34 * standardGravity * power(thirtiethRoot, code - 1)
    }

    /// (0.92/0.34)^(1/30).
    private static var thirtiethRoot: Double { 1.0337375617108926 }

    private static func power(_ base: Double, _ exponent: UInt8) -> Double {
        var result = 1.0
        for _ in 0..<exponent { result *= base }
        return result
    }
}

/// Mean and spread of what a board at rest measures.
struct RestStatistics: Equatable, Sendable, BitwiseCopyable {
    /// Mean and spread of a vector's components, by Welford's recurrence, which does not lose small spreads to large means.
    struct Moments: Equatable, Sendable, BitwiseCopyable {
        private(set) var mean = Vector3.zero
        private var squares = Vector3.zero
        private(set) var count = 0

        /// The standard deviation.
        var deviation: Vector3 {
            guard count > 1 else { return .zero }
            let share = 1 / Double(count - 1)
            return Vector3(
                (squares.x * share).squareRoot(), (squares.y * share).squareRoot(), (squares.z * share).squareRoot())
        }

        mutating func add(_ value: Vector3) {
            count += 1
            let fromOld = value - mean
            mean += fromOld * (1 / Double(count))
            let fromNew = value - mean
            squares += Vector3(fromOld.x * fromNew.x, fromOld.y * fromNew.y, fromOld.z * fromNew.z)
        }
    }

    private(set) var acceleration = Moments()
    private(set) var rotationRate = Moments()

    var count: Int { acceleration.count }

    /// Whether nothing ever changed: noise alone moves some bit of a chip that measures.
    var isFrozen: Bool { acceleration.deviation == .zero && rotationRate.deviation == .zero }

    mutating func add(_ sample: MotionSample) {
        acceleration.add(sample.acceleration)
        rotationRate.add(sample.rotationRate)
    }
}
