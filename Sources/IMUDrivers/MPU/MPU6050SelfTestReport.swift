package import MotionCore

/// The result of a self-test.
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

        /// Axis 0 (x), 1 (y) or 2 (z).
        package subscript(axis: Int) -> Axis { axis == 0 ? x : axis == 1 ? y : z }
    }

    /// One axis, in rad/s or m/s².
    package struct Axis: Equatable, Sendable, BitwiseCopyable {
        /// The change of the output caused by the self-test.
        package let response: Double
        /// The response recorded at the factory; zero if none was recorded.
        package let factoryTrim: Double

        /// The response's relative deviation from the factory's; `nil` if none was recorded.
        package var deviation: Double? { factoryTrim == 0 ? nil : response / factoryTrim - 1 }

        /// The verdict (limit: ±14 %, PS-MPU-6000A-00 r3.4, p. 12, 13).
        package var verdict: Verdict {
            guard let deviation else { return .noTrim }
            return abs(deviation) <= 0.14 ? .passed : .failed
        }
    }

    /// The verdict for an axis, or for the chip.
    package enum Verdict: Equatable, Sendable, BitwiseCopyable {
        case passed
        case failed
        /// The factory recorded no response, as in clones of the chip.
        case noTrim
        /// The board was not at rest, so there is no verdict. For the whole chip only.
        case disturbed
    }

    /// A movement of the board during the test: the axis on which it was worst.
    package struct Disturbance: Equatable, Sendable, BitwiseCopyable {
        package enum Kind: Equatable, Sendable, BitwiseCopyable {
            /// The readings varied too much while they should have been steady: their standard deviation.
            case spread
            /// The readings before and after the test differ: their difference.
            case shift
        }

        package let sensor: MeasurementFault.Sensor
        /// 0 (x), 1 (y) or 2 (z).
        package let axis: Int
        package let kind: Kind
        /// The size, rad/s or m/s².
        package let amount: Double
    }

    package let gyroscope: Axes
    package let accelerometer: Axes

    /// The movement of the board during the test; `nil` if it was at rest.
    package let disturbance: Disturbance?

    /// The overall verdict. A failed axis takes precedence over one without a factory response.
    package var verdict: Verdict {
        if disturbance != nil { return .disturbed }
        var verdict = Verdict.passed
        for axis in 0..<3 {
            if gyroscope[axis].verdict == .failed || accelerometer[axis].verdict == .failed { return .failed }
            if gyroscope[axis].verdict == .noTrim || accelerometer[axis].verdict == .noTrim { verdict = .noTrim }
        }
        return verdict
    }

    /// Compares the measurements before, during and after the response with the factory's values.
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
    /// Limits that a board at rest stays below: spread and shift of the rotation rate, rad/s, and of the acceleration,
    /// m/s².
    ///
    /// The chip's own noise is a tenth of them (PS-MPU-6000A-00 r3.4: 0.05 °/s, and 400 µg/√Hz over 94 Hz). At the
    /// limit, the smallest response that the factory can record, 25 °/s or 0.34 g, is in error by 3 %, well below the
    /// 14 % in question.
    private static var largestRateSpread: Double { 0.5 * radiansPerDegree }
    private static var largestForceSpread: Double { 0.015 * standardGravity }
    private static var largestRateShift: Double { 1 * radiansPerDegree }
    private static var largestForceShift: Double { 0.02 * standardGravity }

    /// The quantity that exceeds its limit the most; `nil` if none does.
    static func worst(_ before: RestStatistics, _ response: RestStatistics, _ after: RestStatistics) -> Self? {
        var worst: Self?
        var excess = 1.0
        func check(_ sensor: MeasurementFault.Sensor, _ kind: Kind, _ amounts: Vector3, limit: Double) {
            for axis in 0..<3 where abs(amounts[axis]) > limit * excess {
                excess = abs(amounts[axis]) / limit
                worst = Self(sensor: sensor, axis: axis, kind: kind, amount: abs(amounts[axis]))
            }
        }
        func check(_ phase: RestStatistics) {
            check(.gyroscope, .spread, phase.rotationRate.deviation, limit: largestRateSpread)
            check(.accelerometer, .spread, phase.acceleration.deviation, limit: largestForceSpread)
        }
        check(before)
        check(response)
        check(after)
        check(.gyroscope, .shift, after.rotationRate.mean - before.rotationRate.mean, limit: largestRateShift)
        check(.accelerometer, .shift, after.acceleration.mean - before.acceleration.mean, limit: largestForceShift)
        return worst
    }
}

/// The factory's responses, decoded from SELF_TEST_X, _Y, _Z and _A by the formulas of RM-MPU-6000A-00 r4.2, p. 10, 11.
struct MPU6050FactoryTrim: Equatable, Sendable, BitwiseCopyable {
    /// The gyroscope's, rad/s; zero on an axis without a code.
    let gyroscope: Vector3
    /// The accelerometer's, m/s²; zero on an axis without a code.
    let accelerometer: Vector3

    /// Decodes the four registers. Codes have five bits; the lowest two bits of the accelerometer's codes are in the
    /// last register.
    init(x: UInt8, y: UInt8, z: UInt8, a: UInt8) {
        // The gyroscope's y axis responds in the opposite direction (RM p. 10).
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

/// Mean and spread of the readings of a board at rest.
struct RestStatistics: Equatable, Sendable, BitwiseCopyable {
    /// Mean and spread of a vector's components by Welford's recurrence, which keeps small spreads accurate beside
    /// large means.
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

    /// Whether no reading ever changed. In a working chip, noise alone changes some bit.
    var isFrozen: Bool { acceleration.deviation == .zero && rotationRate.deviation == .zero }

    mutating func add(_ sample: MotionSample) {
        acceleration.add(sample.acceleration)
        rotationRate.add(sample.rotationRate)
    }
}
