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
    /// Whether the magnetometer is connected with the bus.
    let connectsMagnetometer: Bool
    /// The effective figures.
    let figures: ChipFigures

    init(_ settings: IMUSettings) {
        let divisor = Self.divisor(for: settings.rate)
        divider = RegisterValue(UInt8(divisor - 1))
        let rate = Self.baseRate / Double(divisor)
        signalsDataReady = settings.signalsDataReady
        connectsMagnetometer = settings.connectsMagnetometer
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
    /// Bandwidths: DS-000189 r1.3, table 16, as SparkFun's ICM_20948_ENUMERATIONS.h has it. Unsourced: the delays. They
    /// are derived from the MPU-9250 (RM-MPU-9250A-00 r1.6, register 26), whose accelerometer's bandwidths are those of
    /// this chip divided by 1.125, which is the ratio of the base rates:
    /// - The bandwidths of the codes 3 to 6 are, to within 2 %, those of a first-order low-pass with weights of 1/4, 1/8, 1/16
    ///   and 1/32 at 1125 Hz; the noise bandwidths are up to 9 % less, as behind a wider filter. The delays of the MPU-9250's
    ///   codes 3 to 6 are those of the same low-passes, 1/weight - 1 samples, after the 2.9 samples of its code 1. So they are
    ///   taken, in proportion to the base rates.
    /// - Code 0 is what precedes these low-passes: 2.9 samples. The weights of the codes 1 and 2, 0.74 and 0.58, follow from
    ///   their bandwidths.
    /// - Code 7 lacks what narrows code 0, half a sample, as in the MPU-9250's accelerometer.
    static func gyroscopeLowPass(for rate: Double) -> (code: UInt8, bandwidth: Double, delay: Double) {
        switch 0.55 * rate {
        case 361.4...: (7, 361.4, 0.00213)
        case 196.6...: (0, 196.6, 0.00258)
        case 151.8...: (1, 151.8, 0.00289)
        case 119.5...: (2, 119.5, 0.00322)
        case 51.2...: (3, 51.2, 0.00524)
        case 23.9...: (4, 23.9, 0.0088)
        case 11.6...: (5, 11.6, 0.01587)
        default: (6, 5.7, 0.02976)
        }
    }

    /// The code of the accelerometer's low-pass chosen likewise: 473, 246, 111.4, 50.4, 23.9, 11.5 or 5.7 Hz (DS-000189 r1.3,
    /// table 18, likewise). Its delay is 0.9 ms less than the gyroscope's if it is derived in the same way.
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
