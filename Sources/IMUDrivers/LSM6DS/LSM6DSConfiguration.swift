internal import MotionCore

/// The register values for the settings, and the resulting figures.
///
/// Each value is the chip's nearest that is not smaller than requested, up to the chip's limits.
struct LSM6DSConfiguration: Equatable, Sendable, BitwiseCopyable {
    /// The rate code, for both sensors and for the FIFO.
    let rateCode: UInt8

    /// INT1_CTRL, and the register that makes data-ready a pulse.
    let interrupts: RegisterValue
    let pulses: RegisterValue

    /// FS_XL and FS_G, already shifted to bits 3…2.
    let accelerometerRangeBits: RegisterValue
    let gyroscopeRangeBits: RegisterValue

    /// The effective figures.
    let figures: ChipFigures

    /// Chooses the register values for `settings`.
    init(_ settings: IMUSettings, variant: LSM6DSVariant) {
        rateCode = Self.rateCode(for: settings.rate)
        let signals = settings.signalsDataReady && variant.pulsesDataReady
        interrupts = signals ? LSM6DSValue.gyroscopeReady : .none
        pulses = signals ? LSM6DSValue.pulse : .none
        let filter = Self.lowPass(code: rateCode, variant: variant)
        let accelerometer = Self.accelerometer(for: settings.accelerometerRange, factor: variant.rangeFactor)
        accelerometerRangeBits = accelerometer.bits
        let gyroscope = Self.gyroscope(for: settings.gyroscopeRange)
        gyroscopeRangeBits = gyroscope.bits
        figures = ChipFigures(
            rate: Self.rate(code: rateCode), bandwidth: filter.bandwidth, delay: filter.delay,
            accelerometerRange: accelerometer.range, gyroscopeRange: gyroscope.range,
            accelerometerScale: accelerometer.scale, gyroscopeScale: gyroscope.scale)
    }

    /// Settings converted from other units may exceed a value by a rounding error.
    private static var rounding: Double { 1 - 1e-6 }

    /// ODR_XL, ODR_G, ODR_FIFO and BDR: 12.5 Hz to 1.66 kHz (reg.h, Linux `odr_table`; LSM6DSO32's datasheet, DocID032891
    /// Rev 1, tables 44 and 48). Two faster rates are left out, because no I2C bus can carry them.
    static func rate(code: UInt8) -> Double {
        switch code {
        case 1: 12.5
        case 2: 26
        case 3: 52
        case 4: 104
        case 5: 208
        case 6: 416
        case 7: 833
        default: 1660
        }
    }

    /// The code of the lowest rate not less than `rate` Hz. NaN counts as the lowest rate.
    static func rateCode(for rate: Double) -> UInt8 {
        var code: UInt8 = 1
        while code < 8 && Self.rate(code: code) < rate * rounding { code += 1 }
        return code
    }

    /// The gyroscope's bandwidth and delay at a rate, Hz and seconds.
    ///
    /// Every chip has a low-pass at about a third of the rate, LPF2. Some also have an earlier one, LPF1, which the driver
    /// switches on with FTYPE 0 so that nothing beyond half of the highest rate passes.
    ///
    /// LSM6DS3TR-C and LSM6DSL: the bandwidths and phase delays at 20 Hz of AN5130 Rev 1 and AN5040 rev. 3, both table
    /// 11, p. 17, and equal. The phase is rounded to a degree, 0.14 ms. Unsourced: the delays at 12.5 and 26 Hz. From 52
    /// to 833 Hz the delays are one period to within 6 % plus 0.67 ms, the delay of LPF1; that is assumed for these two
    /// rates.
    ///
    /// LSM6DSO32: the bandwidths of its datasheet, DocID032891 Rev 1, table 60, p. 72. LSM6DSO, LSM6DSOX: the same
    /// figures in the table `LPF1_G_bits` of Arduino_LSM6DSOX. Unsourced: their delays. Those of the LSM6DS3TR-C are
    /// assumed, whose bandwidths are within 5 %.
    ///
    /// ISM330DHCX, LSM6DSR: bandwidths of FTYPE 0 from DS13012 rev. 7, table 58, as in ISM330DHCX.h of i2cdevlib; those
    /// of the ASM330LHH, table 53 of its datasheet, are the same. Unsourced: the delays. Those of the LSM6DS3TR-C are
    /// assumed.
    ///
    /// LSM6DS3, which has only LPF2. Unsourced: its bandwidths and delays. Assumed are the bandwidths of the LSM6DS3TR-C
    /// with LPF1 off (AN5130, table 11), and its delays less that of LPF1.
    static func lowPass(code: UInt8, variant: LSM6DSVariant) -> (bandwidth: Double, delay: Double) {
        let delay: Double =
            switch code {
            case 1: 0.08067
            case 2: 0.03913
            case 3: 0.0200
            case 4: 0.01042
            case 5: 0.00556
            case 6: 0.00319
            case 7: 0.00194
            default: 0.00139
            }
        return (bandwidth(code: code, variant: variant), variant == .lsm6ds3 ? delay - 0.00067 : delay)
    }

    private static func bandwidth(code: UInt8, variant: LSM6DSVariant) -> Double {
        switch (code, variant) {
        case (4, _): 33
        case (5, _): 67
        case (1, .lsm6ds3), (1, .lsm6ds3trc): 4
        case (2, .lsm6ds3), (2, .lsm6ds3trc): 8
        case (3, .lsm6ds3), (3, .lsm6ds3trc): 17
        case (6, .lsm6ds3trc): 138
        case (7, .lsm6ds3trc): 245
        case (_, .lsm6ds3trc): 315
        case (1, .ism330dhcx): 4.3
        case (1, _): 4.2
        case (2, _): 8.3
        case (3, .ism330dhcx): 16.7
        case (3, _): 16.6
        case (6, .lsm6ds3): 137
        case (7, .lsm6ds3): 312
        case (_, .lsm6ds3): 988
        case (6, .ism330dhcx): 133
        case (7, .ism330dhcx): 222
        case (_, .ism330dhcx): 274
        case (6, _): 136.6
        case (7, _): 239.2
        default: 304.2
        }
    }

    /// Samples of the gyroscope that its filters need at a rate after the turn-on time (LSM6DS3TR-C: AN5130 Rev 1, p. 19 to
    /// 22; LSM6DSL: AN5040 rev. 3; both table 16 with FTYPE 0, which are at least those of table 15 without LPF1; the
    /// accelerometer needs at most two, table 13).
    ///
    /// Unsourced: those of the other chips. The same are assumed. For the LSM6DSO32, public code quotes 70 ms and three
    /// samples at 833 Hz from AN5473, as in table 15.
    static func settlingSamples(code: UInt8) -> Double {
        switch code {
        case 1: 2
        case 2, 3: 3
        case 4, 5: 4
        case 6: 5
        case 7: 7
        default: 135
        }
    }

    /// A full scale: its register bits, its limit, and the size of one count.
    struct Range {
        let bits: RegisterValue
        let range: Double
        let scale: Double
    }

    /// The smallest range of ±2, 4, 8, 16 g, times `factor`, not less than `range` m/s²: 61 µg to 488 µg per count, times
    /// `factor` (Linux `fs_table`; LSM6DSO32's datasheet, table 45).
    static func accelerometer(for range: Double, factor: Double) -> Range {
        let wanted = range / standardGravity * rounding / factor
        func row(_ code: UInt8, _ end: Double, _ micrograms: Double) -> Range {
            Range(
                bits: RegisterValue(code << 2), range: factor * end * standardGravity,
                scale: factor * micrograms * 1e-6 * standardGravity)
        }
        if wanted <= 2 { return row(0, 2, 61) }
        if wanted <= 4 { return row(2, 4, 122) }
        if wanted <= 8 { return row(3, 8, 244) }
        return row(1, 16, 488)
    }

    /// The smallest range of ±250, 500, 1000, 2000 °/s not less than `range` rad/s, 8.75 to 70 m°/s per count (Linux
    /// `fs_table`; AN5130 Rev 1, table 18). A count exceeds range/2¹⁵, so the output continues beyond the range.
    static func gyroscope(for range: Double) -> Range {
        let wanted = range * degreesPerRadian * rounding
        func row(_ code: UInt8, _ end: Double, _ millidegrees: Double) -> Range {
            Range(
                bits: RegisterValue(code << 2), range: end * radiansPerDegree,
                scale: millidegrees * 1e-3 * radiansPerDegree)
        }
        if wanted <= 250 { return row(0, 250, 8.75) }
        if wanted <= 500 { return row(1, 500, 17.5) }
        if wanted <= 1000 { return row(2, 1000, 35) }
        return row(3, 2000, 70)
    }
}
