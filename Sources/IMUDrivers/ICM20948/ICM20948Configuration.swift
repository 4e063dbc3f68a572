internal import MotionCore

/// The ICM-20948's register values for the settings, and the resulting figures.
///
/// Each value is the chip's nearest that is not smaller than requested, up to the chip's limits.
struct ICM20948Configuration: Equatable, Sendable, BitwiseCopyable {
    /// GYRO_SMPLRT_DIV, and the low byte of ACCEL_SMPLRT_DIV.
    let divider: RegisterValue
    /// GYRO_CONFIG_1 and ACCEL_CONFIG.
    let gyroscopeBits: RegisterValue
    let accelerometerBits: RegisterValue
    /// Whether INT1 pulses with every sample.
    let signalsDataReady: Bool
    /// The effective figures.
    let figures: ChipFigures

    init(_ settings: IMUSettings) {
        let divisor = Self.divisor(for: settings.rate)
        divider = RegisterValue(UInt8(divisor - 1))
        let rate = Self.baseRate / Double(divisor)
        signalsDataReady = settings.signalsDataReady
        // Settings converted from other units may exceed a step by a rounding error.
        let rounding = 1 - 1e-6
        var force: UInt8 = 0
        var forceRange = 2.0
        while forceRange < settings.accelerometerRange / standardGravity * rounding && force < 3 {
            forceRange *= 2
            force += 1
        }
        var turn: UInt8 = 0
        var turnRange = 250.0
        while turnRange < settings.gyroscopeRange * degreesPerRadian * rounding && turn < 3 {
            turnRange *= 2
            turn += 1
        }
        let filter = Self.gyroscopeLowPass(for: rate)
        // FCHOICE in bit 0 switches the low-pass on.
        gyroscopeBits = RegisterValue(filter.code << 3 | turn << 1 | 1)
        accelerometerBits = RegisterValue(Self.accelerometerLowPass(for: rate) << 3 | force << 1 | 1)
        figures = ChipFigures(
            rate: rate, bandwidth: filter.bandwidth, delay: filter.delay,
            accelerometerRange: forceRange * standardGravity, gyroscopeRange: turnRange * radiansPerDegree,
            gyroscopeScale: turnRange / 250 / 131 * radiansPerDegree)
    }

    /// The sample rate of both sensors before division while a low-pass is on, Hz (DS-000189 p. 12).
    static var baseRate: Double { 1125 }

    /// The largest divisor that still gives `rate` Hz, at most 256. NaN counts as the lowest rate.
    static func divisor(for rate: Double) -> Int {
        // A rate such as 1125/7, which binary cannot represent exactly, must not fall to the next divisor.
        let wanted = baseRate / rate * (1 + 1e-9)
        return wanted >= 1 ? Int(min(wanted, 256)) : rate > 0 ? 1 : 256
    }

    /// The widest low-pass of the gyroscope up to 55 % of `rate`, or the narrowest: code, -3 dB bandwidth in Hz and delay in
    /// seconds.
    ///
    /// Bandwidths: SparkFun's ICM_20948_ENUMERATIONS.h, after the datasheet. No source at hand has the delays. The noise
    /// bandwidths there, up to 1.56 times as wide, are those of a first-order low-pass after a wider filter, as in the
    /// MPU-9250. Its delays are assumed: that of the first order, 1/(2π·bandwidth), and of the rest what the row with the
    /// next smaller bandwidth in RM-MPU-9250A-00 has, in proportion to the base rates.
    static func gyroscopeLowPass(for rate: Double) -> (code: UInt8, bandwidth: Double, delay: Double) {
        switch 0.55 * rate {
        case 361.4...: (7, 361.4, 0.00074)
        case 196.6...: (0, 196.6, 0.00262)
        case 151.8...: (1, 151.8, 0.00298)
        case 119.5...: (2, 119.5, 0.00326)
        case 51.2...: (3, 51.2, 0.0049)
        case 23.9...: (4, 23.9, 0.00839)
        case 11.6...: (5, 11.6, 0.01544)
        default: (6, 5.7, 0.02939)
        }
    }

    /// The code of the accelerometer's low-pass chosen likewise: 473, 246, 111.4, 50.4, 23.9, 11.5 or 5.7 Hz.
    static func accelerometerLowPass(for rate: Double) -> UInt8 {
        switch 0.55 * rate {
        case 473...: 7
        case 246...: 0
        case 111.4...: 2
        case 50.4...: 3
        case 23.9...: 4
        case 11.5...: 5
        default: 6
        }
    }
}
