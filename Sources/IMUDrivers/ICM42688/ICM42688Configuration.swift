internal import MotionCore

/// The family's register values for the settings, and the resulting figures.
///
/// Each value is the chip's nearest that is not smaller than requested, up to the chip's limits.
struct ICM42688Configuration: Equatable, Sendable, BitwiseCopyable {
    let gyroscopeBits: RegisterValue
    let accelerometerBits: RegisterValue
    let lowPass: RegisterValue
    /// Whether INT1 pulses with every sample.
    let signalsDataReady: Bool
    /// The effective figures; the low-passes are of second order.
    let figures: ChipFigures

    init(_ settings: IMUSettings, variant: ICM42688Variant) {
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
            rate: row.rate, bandwidth: filter.bandwidth, delay: filter.delay + variant.antiAliasDelay,
            accelerometerRange: forceRange * standardGravity, gyroscopeRange: turnRange * radiansPerDegree)
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

    /// The widest low-pass that passes nothing above half of `rate`, or the narrowest if none qualifies: its code in
    /// ACCEL_UI_FILT_BW and GYRO_UI_FILT_BW, -3 dB bandwidth in Hz and group delay in seconds.
    ///
    /// The figures are those of DS-000347 r1.8, 5.5, for filters of second order. The delay is rounded to 0.1 ms there.
    /// Unsourced: those of the ICM-42605. The same are assumed, because its codes are the same (Linux
    /// `inv_icm42600_filter`).
    static func lowPass(for rate: Double) -> (code: UInt8, bandwidth: Double, delay: Double) {
        switch rate {
        case 1000...: (1, 230.7, 0.0021)
        case 500...: (1, 115.3, 0.0041)
        case 200...: (1, 92.3, 0.0051)
        case 100...: (3, 47.0, 0.0080)
        case 50...: (5, 23.8, 0.0129)
        default: (7, 8.5, 0.0300)
        }
    }
}
