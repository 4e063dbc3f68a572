internal import MotionCore

/// The LSM9DS1's register values for the settings.
///
/// Each value is the chip's nearest that is not smaller than requested, up to the chip's limits. The tables are those of its
/// datasheet, DocID025715 Rev 2.
struct LSM9DS1Configuration: Equatable, Sendable, BitwiseCopyable {
    /// CTRL_REG1_G and CTRL_REG6_XL.
    let gyroscope: RegisterValue
    let accelerometer: RegisterValue

    /// Samples of the gyroscope to discard after its start (table 12, only the first low-pass). The accelerometer needs
    /// fewer (table 11).
    let settlingSamples: Double

    /// The effective figures.
    let figures: ChipFigures

    init(_ settings: IMUSettings) {
        // Settings converted from other units may exceed a step by a rounding error.
        let rounding = 1 - 1e-6
        var code: UInt8 = 1
        while code < 6 && Self.rate(code: code) < settings.rate * rounding { code += 1 }
        let force = Self.accelerometer(for: settings.accelerometerRange / standardGravity * rounding)
        let rotation = Self.gyroscope(for: settings.gyroscopeRange * degreesPerRadian * rounding)
        gyroscope = RegisterValue(code << 5 | rotation.code << 3)
        accelerometer = RegisterValue(code << 5 | force.code << 3 | 0x04 | Self.accelerometerBandwidth(code: code))
        settlingSamples = Self.settlingSamples(code: code)
        // Unsourced: the delays, assumed to be those of a second-order Butterworth low-pass.
        figures = ChipFigures(
            rate: Self.rate(code: code), bandwidth: Self.bandwidth(code: code),
            accelerometerRange: force.end * standardGravity, gyroscopeRange: rotation.end * radiansPerDegree,
            accelerometerScale: force.size * 1e-3 * standardGravity,
            gyroscopeScale: rotation.size * 1e-3 * radiansPerDegree)
    }

    /// ODR_G, which is the rate of both sensors (table 46).
    static func rate(code: UInt8) -> Double {
        switch code {
        case 1: 14.9
        case 2: 59.5
        case 3: 119
        case 4: 238
        case 5: 476
        default: 952
        }
    }

    /// The gyroscope's bandwidth after its first low-pass, Hz (table 46).
    private static func bandwidth(code: UInt8) -> Double {
        switch code {
        case 1: 5
        case 2: 19
        case 3: 38
        case 4: 76
        default: 100
        }
    }

    /// BW_XL: the widest of 408, 211, 105 and 50 Hz below half of the rate, or else the narrowest (table 67).
    private static func accelerometerBandwidth(code: UInt8) -> UInt8 {
        switch code {
        case 6: 0
        case 5: 1
        case 4: 2
        default: 3
        }
    }

    private static func settlingSamples(code: UInt8) -> Double {
        switch code {
        case 1: 2
        case 2, 3: 3
        case 4: 4
        case 5: 5
        default: 8
        }
    }

    /// A full scale: its code, its limit in g or °/s, and the size of one count in mg or m°/s.
    private struct Range {
        let code: UInt8
        let end: Double
        let size: Double
    }

    /// FS_XL (tables 3 and 67). At ±16 g, a count is three times that of ±8 g.
    private static func accelerometer(for wanted: Double) -> Range {
        if wanted <= 2 { return Range(code: 0, end: 2, size: 0.061) }
        if wanted <= 4 { return Range(code: 2, end: 4, size: 0.122) }
        if wanted <= 8 { return Range(code: 3, end: 8, size: 0.244) }
        return Range(code: 1, end: 16, size: 0.732)
    }

    /// FS_G (tables 3 and 45).
    private static func gyroscope(for wanted: Double) -> Range {
        if wanted <= 245 { return Range(code: 0, end: 245, size: 8.75) }
        if wanted <= 500 { return Range(code: 1, end: 500, size: 17.5) }
        return Range(code: 3, end: 2000, size: 70)
    }
}
