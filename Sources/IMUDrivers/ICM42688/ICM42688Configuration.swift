internal import MotionCore

/// The ICM-42688-P's register values for the settings, and the resulting figures.
///
/// Each value is the chip's nearest that is not smaller than requested, up to the chip's limits.
struct ICM42688Configuration: Equatable, Sendable, BitwiseCopyable {
    let gyroscopeBits: RegisterValue
    let accelerometerBits: RegisterValue
    let lowPass: RegisterValue
    /// Whether INT1 pulses with every sample.
    let signalsDataReady: Bool
    /// The effective figures. The low-passes are set to second order. DS-000347 has a table of their delays, which was
    /// not available.
    let figures: ChipFigures

    init(_ settings: IMUSettings) {
        // Settings converted from other units may exceed a step by a rounding error.
        let rounding = 1 - 1e-6
        let row = Self.rate(for: settings.rate * rounding)
        let filter = Self.lowPass(for: row.rate)
        lowPass = RegisterValue(filter.code << 4 | filter.code)
        signalsDataReady = settings.signalsDataReady
        // FS_SEL counts down from the widest range: ±16 g to ±2 g, ±2000 °/s to ±15.625 °/s.
        var force: UInt8 = 3
        var forceRange = 2.0
        while forceRange < settings.accelerometerRange / standardGravity * rounding && force > 0 {
            forceRange *= 2
            force -= 1
        }
        var turn: UInt8 = 7
        var turnRange = 15.625
        while turnRange < settings.gyroscopeRange * degreesPerRadian * rounding && turn > 0 {
            turnRange *= 2
            turn -= 1
        }
        figures = ChipFigures(
            rate: row.rate, bandwidth: filter.bandwidth, accelerometerRange: forceRange * standardGravity,
            gyroscopeRange: turnRange * radiansPerDegree)
        accelerometerBits = RegisterValue(force << 5 | row.code)
        gyroscopeBits = RegisterValue(turn << 5 | row.code)
    }

    /// The lowest rate of both sensors that is not below `rate` Hz (GYRO_ODR, ACCEL_ODR). No I2C bus can carry the
    /// faster ones.
    static func rate(for rate: Double) -> (code: UInt8, rate: Double) {
        if !(rate > 12.5) { return (11, 12.5) }
        if rate <= 25 { return (10, 25) }
        if rate <= 50 { return (9, 50) }
        if rate <= 100 { return (8, 100) }
        if rate <= 200 { return (7, 200) }
        if rate <= 500 { return (15, 500) }
        return (6, 1000)
    }

    /// The widest low-pass that passes nothing above half of `rate`, or the narrowest if none qualifies. Its bandwidth
    /// is the ODR, but at least 400 Hz, divided by a divisor (ACCEL_UI_FILT_BW, GYRO_UI_FILT_BW).
    static func lowPass(for rate: Double) -> (code: UInt8, bandwidth: Double) {
        let base = max(400, rate)
        let divisors: (Double, Double, Double, Double, Double, Double) = (4, 5, 8, 10, 16, 20)
        if base / divisors.0 <= rate / 2 { return (1, base / divisors.0) }
        if base / divisors.1 <= rate / 2 { return (2, base / divisors.1) }
        if base / divisors.2 <= rate / 2 { return (3, base / divisors.2) }
        if base / divisors.3 <= rate / 2 { return (4, base / divisors.3) }
        if base / divisors.4 <= rate / 2 { return (5, base / divisors.4) }
        if base / divisors.5 <= rate / 2 { return (6, base / divisors.5) }
        return (7, base / 40)
    }
}
