internal import MotionCore

/// The BMI160's register values for the settings, and the resulting figures.
///
/// Each value is the chip's nearest that is not smaller than requested, up to the chip's limits.
struct BMI160Configuration: Equatable, Sendable, BitwiseCopyable {
    /// acc_odr and gyr_odr. Both sensors need the same rate, because frames without headers contain both.
    let rateCode: RegisterValue
    /// The effective figures. The accelerometer's bandwidth is 5 % less to 31 % more than the gyroscope's. Unsourced: the
    /// delay, assumed to be that of a second-order Butterworth low-pass with the gyroscope's bandwidth.
    let figures: ChipFigures

    /// Whether INT1 pulses with every sample.
    let signalsDataReady: Bool

    let accelerometerRangeBits: RegisterValue
    let gyroscopeRangeBits: RegisterValue

    init(_ settings: IMUSettings) {
        let row = Self.rate(for: settings.rate)
        rateCode = RegisterValue(row.code)
        signalsDataReady = settings.signalsDataReady
        let accelerometer = Self.accelerometer(for: settings.accelerometerRange)
        accelerometerRangeBits = RegisterValue(accelerometer.bits)
        let gyroscope = Self.gyroscope(for: settings.gyroscopeRange)
        gyroscopeRangeBits = RegisterValue(gyroscope.bits)
        figures = ChipFigures(
            rate: row.rate, bandwidth: row.bandwidth, accelerometerRange: accelerometer.full * standardGravity,
            gyroscopeRange: gyroscope.full * radiansPerDegree,
            gyroscopeScale: radiansPerDegree / gyroscope.countsPerDegree)
    }

    /// Settings converted from other units may exceed a step by a rounding error.
    private static var rounding: Double { 1 - 1e-6 }

    /// The lowest rate that both sensors support and that is not below `rate` Hz.
    ///
    /// A rate is 100 Hz · 2^(code - 8). The gyroscope has none below 25 Hz, the accelerometer none above 1600 Hz (Linux
    /// `bmi160_accel_odr`, `bmi160_gyro_odr`). Bandwidths: section 2.4 of the datasheet, as Intel's driver has them
    /// (hanyazou/BMI160-Arduino, BMI160.cpp, getGyroDLPFMode and getAccelDLPFMode).
    static func rate(for rate: Double) -> (code: UInt8, rate: Double, bandwidth: Double) {
        let wanted = rate * rounding
        if !(wanted > 25) { return (6, 25, 10.7) }
        if wanted <= 50 { return (7, 50, 20.8) }
        if wanted <= 100 { return (8, 100, 39.9) }
        if wanted <= 200 { return (9, 200, 74.6) }
        if wanted <= 400 { return (10, 400, 136.6) }
        if wanted <= 800 { return (11, 800, 254.6) }
        return (12, 1600, 523.9)
    }

    /// The smallest range of ±2, 4, 8, 16 g not less than `range` m/s² (Linux `bmi160_accel_scale`: 598 µm/s² per
    /// count, which is 16384 counts per g).
    static func accelerometer(for range: Double) -> (bits: UInt8, full: Double) {
        let wanted = range / standardGravity * rounding
        if wanted <= 2 { return (0x3, 2) }
        if wanted <= 4 { return (0x5, 4) }
        if wanted <= 8 { return (0x8, 8) }
        return (0xC, 16)
    }

    /// The smallest range of ±125 … 2000 °/s not less than `range` rad/s (Linux `bmi160_gyro_scale`: 1065 µrad/s per
    /// count, which is 16.4 counts per °/s).
    static func gyroscope(for range: Double) -> (bits: UInt8, full: Double, countsPerDegree: Double) {
        let wanted = range * degreesPerRadian * rounding
        if wanted <= 125 { return (4, 125, 262.4) }
        if wanted <= 250 { return (3, 250, 131.2) }
        if wanted <= 500 { return (2, 500, 65.6) }
        if wanted <= 1000 { return (1, 1000, 32.8) }
        return (0, 2000, 16.4)
    }
}
