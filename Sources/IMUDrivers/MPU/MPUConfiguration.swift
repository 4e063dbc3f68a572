internal import MotionCore

/// The register values for the settings, and the resulting figures.
///
/// Each value is the chip's nearest that is not smaller than requested, up to the chip's limits.
struct MPUConfiguration: Equatable, Sendable, BitwiseCopyable {
    /// SMPLRT_DIV, CONFIG, GYRO_CONFIG, ACCEL_CONFIG.
    let sampleRateDivider: RegisterValue
    let lowPass: RegisterValue
    let gyroscopeRangeBits: RegisterValue
    let accelerometerRangeBits: RegisterValue

    /// INT_ENABLE.
    let interrupts: RegisterValue

    /// Whether a part with a magnetometer connects it with the bus.
    let connectsMagnetometer: Bool

    /// The effective figures. The accelerometer is delayed by at most 0.4 ms more than the gyroscope; from the MPU-6500
    /// on, by 1 ms less.
    let figures: ChipFigures

    /// Chooses the register values for `settings` on a chip with these low-passes.
    init(_ settings: IMUSettings, lowPass table: MPULowPassTable = .mpu6050) {
        let divisor = Self.divisor(for: settings.rate)
        sampleRateDivider = RegisterValue(UInt8(divisor - 1))
        let rate = Self.baseRate / Double(divisor)
        connectsMagnetometer = settings.connectsMagnetometer
        interrupts = settings.signalsDataReady ? MPU6050Value.dataReady : .none
        let filter = table.row(forRate: rate)
        lowPass = RegisterValue(filter.setting)
        let accelerometer = Self.accelerometer(for: settings.accelerometerRange)
        accelerometerRangeBits = accelerometer.bits
        let gyroscope = Self.gyroscope(for: settings.gyroscopeRange)
        gyroscopeRangeBits = gyroscope.bits
        figures = ChipFigures(
            rate: rate, bandwidth: filter.bandwidth, delay: filter.delay, accelerometerRange: accelerometer.range,
            gyroscopeRange: gyroscope.range, accelerometerScale: accelerometer.scale, gyroscopeScale: gyroscope.scale)
    }

    /// The sample rate before division while a low-pass is on, Hz (RM p. 11, 13).
    static var baseRate: Double { 1000 }

    /// SMPLRT_DIV has eight bits. A divisor of 250 gives 4 Hz.
    static var largestDivisor: Double { 250 }

    /// The largest divisor of the base rate that still gives `rate` Hz. NaN counts as the lowest rate.
    static func divisor(for rate: Double) -> Int {
        // A rate such as 1000/3, which binary cannot represent exactly, must not fall to the next divisor.
        let wanted = baseRate / rate * (1 + 1e-9)
        return wanted >= 1 ? Int(min(wanted, largestDivisor)) : rate > 0 ? 1 : Int(largestDivisor)
    }

    /// A full scale: its register bits, its limit, and the size of one count.
    struct Range {
        let bits: RegisterValue
        let range: Double
        let scale: Double
    }

    /// Settings converted from other units may exceed a range by a rounding error.
    static var rounding: Double { 1 - 1e-6 }

    /// The smallest range of ±2, 4, 8, 16 g not less than `range` m/s² (RM p. 15; counts per g: PS 6.2).
    static func accelerometer(for range: Double) -> Range {
        let wanted = range / standardGravity * rounding
        if wanted <= 2 {
            return Range(bits: RegisterValue(0 << 3), range: 2 * standardGravity, scale: standardGravity / 16384)
        }
        if wanted <= 4 {
            return Range(bits: RegisterValue(1 << 3), range: 4 * standardGravity, scale: standardGravity / 8192)
        }
        if wanted <= 8 {
            return Range(bits: RegisterValue(2 << 3), range: 8 * standardGravity, scale: standardGravity / 4096)
        }
        return Range(bits: RegisterValue(3 << 3), range: 16 * standardGravity, scale: standardGravity / 2048)
    }

    /// The smallest range of ±250, 500, 1000, 2000 °/s not less than `range` rad/s (RM p. 14; counts per °/s: PS 6.1).
    static func gyroscope(for range: Double) -> Range {
        let wanted = range * degreesPerRadian * rounding
        if wanted <= 250 {
            return Range(bits: RegisterValue(0 << 3), range: 250 * radiansPerDegree, scale: radiansPerDegree / 131)
        }
        if wanted <= 500 {
            return Range(bits: RegisterValue(1 << 3), range: 500 * radiansPerDegree, scale: radiansPerDegree / 65.5)
        }
        if wanted <= 1000 {
            return Range(bits: RegisterValue(2 << 3), range: 1000 * radiansPerDegree, scale: radiansPerDegree / 32.8)
        }
        return Range(bits: RegisterValue(3 << 3), range: 2000 * radiansPerDegree, scale: radiansPerDegree / 16.4)
    }
}
