internal import MotionCore

/// ST's LSM6DS3, LSM6DS3TR-C, LSM6DSO and their relatives, read through the FIFO.
///
/// The temperature is not put into the FIFO: one kind of FIFO has no room for it, the other batches it at a separate
/// rate, and frames must have a fixed layout. `LSM6DSVariant` holds the differences between the parts.
///
/// Registers are named as in the datasheets. Sources: STMicroelectronics' lsm6ds3_reg.h, lsm6ds3tr-c_reg.h,
/// lsm6dso_reg.h and ism330dhcx_reg.h ("reg.h"), and the tables in Linux drivers/iio/imu/st_lsm6dsx ("Linux"). The
/// untagged FIFO was also checked against AN5130 Rev 1 (LSM6DS3TR-C), the tagged one and CTRL1 to CTRL9 against the
/// LSM6DSO32's datasheet, DocID032891 Rev 1, p. 65 to 84.
package struct LSM6DSPart<Kind: ChipKind>: ChipPart {
    package static var family: IMUFamily { Kind.family }
    private static var isLSM6DSO32: Bool { family == .lsm6dso32 }
    /// SDO/SA0 low and high (datasheets, "I²C operation").
    package static var addresses: [UInt8] { [0x6A, 0x6B] }
    /// WHO_AM_I (reg.h, Linux `wai`).
    package static var identityRegister: RegisterAddress { 0x0F }
    package static var identity: UInt8 { isLSM6DSO32 ? 0x6C : 0x6A }
    package var name: StaticString { variant.words.name }
    package var unsourced: StaticString? { variant.words.unsourced }

    // MARK: Settings

    package let figures: ChipFigures
    private let variant: LSM6DSVariant
    private let readsGyroscope: Bool
    /// The rate code, for the sensors and for the FIFO.
    private let rateCode: UInt8
    /// CTRL1_XL and CTRL2_G.
    private let accelerometerBits: RegisterValue
    private let gyroscopeBits: RegisterValue
    private let signalsDataReady: Bool

    package init?(identity: UInt8, settings: IMUSettings) {
        guard let usual = LSM6DSVariant(identity: identity) else { return nil }
        if Self.isLSM6DSO32, usual != .lsm6dso { return nil }
        variant = Self.isLSM6DSO32 ? .lsm6dso32 : usual
        signalsDataReady = settings.signalsDataReady && variant.pulsesDataReady
        readsGyroscope = settings.readsGyroscope
        // An LSM6DS3's accelerometer passes 400 Hz at most.
        rateCode = Self.rateCode(for: settings.wantedRate, most: readsGyroscope || variant == .lsm6ds3 ? 8 : 9)
        let rate = Self.row(code: rateCode).rate
        let filter: (bandwidth: Double, delay: Double?) =
            readsGyroscope
            ? Self.lowPass(code: rateCode, variant: variant)
            : (Self.accelerometerBandwidth(rate: rate, variant: variant), nil)
        // 61 µg to 488 µg per count, times the factor (Linux `fs_table`; LSM6DSO32's datasheet, table 45).
        let least = 2 * variant.rangeFactor
        let (force, forceRange) = doubled(least, upTo: settings.wantedGravities, most: 3)
        accelerometerBits = RegisterValue(rateCode << 4 | SIMD4<UInt8>(0, 2, 3, 1)[Int(force)] << 2)
        // 8.75 to 70 m°/s per count (Linux `fs_table`; AN5130 Rev 1, table 18). A count exceeds range/2¹⁵, so the output
        // continues beyond the range.
        let (turn, turnRange) = doubled(250, upTo: settings.wantedDegrees, most: 3)
        gyroscopeBits = readsGyroscope ? RegisterValue(rateCode << 4 | turn << 2) : .none
        figures = ChipFigures(
            rate: rate, bandwidth: filter.bandwidth, delay: filter.delay,
            accelerometerRange: forceRange * standardGravity, gyroscopeRange: turnRange * radiansPerDegree,
            accelerometerScale: forceRange / 2 * 61 * 1e-6 * standardGravity,
            gyroscopeScale: turnRange / 250 * 8.75 * 1e-3 * radiansPerDegree)
    }

    /// The code of the lowest rate not less than `wanted` Hz, or `most`. NaN counts as the lowest rate.
    private static func rateCode(for wanted: Double, most: UInt8) -> UInt8 {
        var code: UInt8 = 1
        while code < most && row(code: code).rate < wanted { code += 1 }
        return code
    }

    /// The accelerometer's bandwidth, Hz: half of the rate (reg.h, `LPF1_BW_SEL` and `LPF2_XL_EN` 0), or of an LSM6DS3 that of
    /// its analogue filter (`XL_BW_SCAL_ODR` 0). Unsourced: the delay, assumed to be that of a Butterworth low-pass.
    private static func accelerometerBandwidth(rate: Double, variant: LSM6DSVariant) -> Double {
        variant == .lsm6ds3 ? min(400, max(50, 0.48 * rate)) : 0.5 * rate
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
    private static func lowPass(code: UInt8, variant: LSM6DSVariant) -> (bandwidth: Double, delay: Double) {
        let delay = row(code: code).delay
        return (bandwidths(of: variant)[Int(code) - 1], variant == .lsm6ds3 ? delay - 0.00067 : delay)
    }

    /// The bandwidths by the code of the rate.
    private static func bandwidths(of variant: LSM6DSVariant) -> SIMD8<Double> {
        switch variant {
        case .lsm6ds3: SIMD8(4, 8, 17, 33, 67, 137, 312, 988)
        case .lsm6ds3trc: SIMD8(4, 8, 17, 33, 67, 138, 245, 315)
        case .ism330dhcx: SIMD8(4.3, 8.3, 16.7, 33, 67, 133, 222, 274)
        case .lsm6dso, .lsm6dso32: SIMD8(4.2, 8.3, 16.6, 33, 67, 136.6, 239.2, 304.2)
        }
    }

    /// By the code of the rate, 1 to 9: the rate, the delay of both low-passes, and samples of the gyroscope that its
    /// filters need at a rate after the turn-on time.
    ///
    /// ODR_XL, ODR_G, ODR_FIFO and BDR: 12.5 Hz to 3.33 kHz (reg.h, Linux `odr_table`; LSM6DSO32's datasheet, DocID032891
    /// Rev 1, tables 44 and 48). The last one is for the accelerometer alone, because no I2C bus can carry both sensors; nor
    /// can any carry the one above it.
    ///
    /// Samples: AN5130 Rev 1, p. 19 to 22, of the LSM6DS3TR-C; AN5040 rev. 3 of the LSM6DSL; both table 16 with FTYPE
    /// 0, which are at least those of table 15 without LPF1. The accelerometer needs at most two, table 13. Unsourced:
    /// those of the other chips. The same are assumed. For the LSM6DSO32, public code quotes 70 ms and three samples at
    /// 833 Hz from AN5473, as in table 15.
    private static func row(code: UInt8) -> (rate: Double, delay: Double, settlingSamples: Double) {
        switch code {
        case 1: (12.5, 0.08067, 2)
        case 2: (26, 0.03913, 3)
        case 3: (52, 0.0200, 3)
        case 4: (104, 0.01042, 4)
        case 5: (208, 0.00556, 4)
        case 6: (416, 0.00319, 5)
        case 7: (833, 0.00194, 7)
        case 8: (1660, 0.00139, 135)
        default: (3330, 0, 135)
        }
    }

    package var dataReadyPulse: DataReadyPulse { variant.pulsesDataReady ? .everySample : .never }

    package func celsius(_ raw: Int16) -> Double { 25 + Double(raw) / variant.countsPerKelvin }

    // MARK: Registers and scripts

    /// CTRL1_XL: rate in bits 7…4, full scale in bits 3…2, filter below. CTRL2_G: the same without a filter (reg.h).
    private static var accelerometer: RegisterAddress { 0x10 }
    private static var gyroscope: RegisterAddress { 0x11 }
    /// CTRL3_C: BOOT; BDU in bit 6, so that both bytes of a value belong to the same sample (Linux `bdu`); IF_INC in
    /// bit 2, on from power-up: bursts advance from register to register; SW_RESET in bit 0, which clears itself
    /// (reg.h, Linux `reset`).
    private static var control3: RegisterAddress { 0x12 }
    /// The FIFO's mode in bits 2…0: bypass, 0, is off and empty (Linux `ST_LSM6DSX_FIFO_BYPASS`). FIFO_CTRL5 of the
    /// untagged FIFO has its rate in bits 6…3 (lsm6ds3_reg.h, Linux), FIFO_CTRL4 of the tagged one temperature and
    /// timestamps above (lsm6dso_reg.h).
    private static var fifoMode: RegisterAddress { 0x0A }
    /// FIFO_STATUS1: the number of words and the flags start here (reg.h, Linux `fifo_diff`).
    private static var fifoStatus: RegisterAddress { 0x3A }

    /// The sensors come last, because they start sampling at once.
    package func addRegisters(to table: inout RegisterTable) {
        table.add(Self.control3, 0x44, in: .waking)
        // CTRL4_C: DRDY_MASK in bit 3, which marks samples that have not settled; LPF1_SEL_G in bit 1, the gyroscope's
        // first low-pass, absent on the LSM6DS3 (reg.h, AN5130 3.8).
        table.add(0x13, variant.filtersGyroscope ? 0x0A : 0x08, in: .configuration)
        // FIFO_CTRL1 and 2: threshold, timer or compression (lsm6ds3_reg.h, lsm6dso_reg.h). FIFO_CTRL4 of the untagged
        // FIFO: data sets 3 and 4.
        if variant.isTagged {
            table.add(0x07, 0, in: .observed)
            table.add(0x08, 0, in: .observed)
        } else {
            table.add(0x06, 0, in: .observed)
            table.add(0x07, 0, in: .observed)
            table.add(0x09, 0, in: .observed)
        }
        // CTRL5_C: rounding, self-test. CTRL6_C: power mode of the accelerometer, FTYPE in the lowest bits, absent on the
        // LSM6DS3. CTRL7_G: power mode and high-pass of the gyroscope (reg.h).
        table.add(0x14, 0, in: .configuration)
        table.add(0x15, 0, in: .configuration)
        table.add(0x16, 0, in: .configuration)
        // CTRL8_XL: second filter of the accelerometer; XL_FS_MODE in bit 1, only on the LSM6DSO (reg.h).
        if variant.hasRangeMode {
            table.addRange(0x17, 0, in: .configuration)
        } else {
            table.add(0x17, 0, in: .configuration)
        }
        if variant.isTagged {
            // FIFO_CTRL3: batch rates, accelerometer in bits 3…0 and gyroscope in bits 7…4 (lsm6dso_reg.h, Linux
            // `batch`).
            table.add(
                0x09, RegisterValue((readsGyroscope ? rateCode << 4 : 0) | rateCode), in: .configuration)
        } else {
            // FIFO_CTRL3: decimation, accelerometer in bits 2…0 and gyroscope in bits 5…3: every sample of both sensors
            // (lsm6ds3_reg.h, Linux `st_lsm6dsx_decimator_table`).
            table.add(0x08, readsGyroscope ? 0x09 : 0x01, in: .configuration)
        }
        table.addRange(Self.gyroscope, gyroscopeBits, in: .sensors)
        table.addRange(Self.accelerometer, accelerometerBits, in: .sensors)
        // CTRL9_XL: its default, plus I3C_DISABLE in bit 1 for a plain I2C bus (lsm6dso_reg.h; LSM6DSO32's datasheet,
        // table 67), which is DEVICE_CONF of the ISM330DHCX. Its maker wants that set (ism330dhcx_reg.h).
        if variant.isTagged { table.add(0x18, 0xE2, in: .sensors) }
        // Continuous: the newest words replace the oldest (Linux `ST_LSM6DSX_FIFO_CONT`).
        table.add(Self.fifoMode, RegisterValue((variant.isTagged ? 0 : rateCode << 3) | 6), in: .fifo)
        guard signalsDataReady else { return }
        // DRDY_PULSE_CFG_G of the LSM6DS3TR-C, COUNTER_BDR_REG1 of the tagged kind. In both, bit 7 makes data-ready a
        // pulse (lsm6ds3tr-c_reg.h `drdy_pulsed`, lsm6dso_reg.h `dataready_pulsed`).
        table.add(0x0B, 0x80, in: .dataReady)
        // INT1_CTRL: INT1_DRDY_G in bit 1: the gyroscope has a new value; at the same rate, so has the accelerometer
        // (reg.h). INT1_DRDY_XL in bit 0: the accelerometer has.
        table.add(0x0D, readsGyroscope ? 0x02 : 0x01, in: .dataReady)
    }

    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        // Linux waits 50 ms, and ST's examples spin.
        script.addReset(Self.control3, 0x05, until: RegisterSetting(Self.control3, clear: 0x01))
        script.add(.enter(.waking))
        script.add(.configure(.waking))
        script.add(.enter(.configuring))
        script.add(.configure(.configuration))
        script.add(.configure(.sensors))
        // The gyroscope's turn-on time from power-down, at most (AN5130 and AN5040, table 14; the LSM6DSO32's
        // datasheet, table 4: 35 ms, typical). Unsourced: that of LSM6DS3, LSM6DSO, ISM330DHCX and LSM6DSR. Then its
        // filters settle: with one sample more, because samples come at unknown phases, and with a chip that runs 10 %
        // slow.
        script.add(.settle(0.07 + 1.1 * (Self.row(code: rateCode).settlingSamples + 1) / rate))
        // Time until the sensors deliver data, so that the FIFO starts with both: words of only one would not form
        // frames.
        script.add(.wait(0.04))
        script.add(.configure(.dataReady))
    }

    /// Switches the FIFO off, which empties it, and on again. Reading FIFO_STATUS2 clears a latched overflow.
    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.write(Self.fifoMode, 0))
        if variant.isTagged { script.add(.read(Self.fifoStatus.advanced(by: 1))) }
        script.add(.apply(.fifo))
    }

    /// Switches FIFO, gyroscope and accelerometer off: rate 0 is power-down.
    package func addSleep(to script: inout ChipScript) {
        script.add(.write(Self.fifoMode, 0))
        script.add(.write(Self.gyroscope, 0))
        script.add(.write(Self.accelerometer, 0))
    }

    // MARK: FIFO

    package var longestRepetition: Int { readsGyroscope ? 4 : 32 }

    /// Untagged: six words of two bytes, or three without the gyroscope; the pattern is read along with the count.
    /// FIFO_DATA_OUT_L: a burst wraps from FIFO_DATA_OUT_H back to it (AN5130 4.7.1). Tagged: two words of seven bytes, or one.
    /// FIFO_DATA_OUT_TAG: a burst wraps from FIFO_DATA_OUT_Z_H, 0x7E, back to it (Linux reads 28 bytes at once). OUT_TEMP_L
    /// and OUT_TEMP_H (reg.h).
    package var fifo: ChipFIFO {
        ChipFIFO(
            size: variant.fifoSize, frameLength: (variant.isTagged ? 7 : 6) * (readsGyroscope ? 2 : 1),
            count: ChipRegisters(first: Self.fifoStatus, count: variant.isTagged ? 2 : 4),
            data: variant.isTagged ? 0x78 : 0x3E, temperature: ChipRegisters(first: 0x20, count: 2))
    }

    /// FIFO_STATUS2, untagged: OVER_RUN in bit 6 and FIFO_EMPTY in bit 4 (lsm6ds3_reg.h). Tagged: FIFO_OVR_IA in bit 6,
    /// and OVER_RUN_LATCHED in bit 3, which reading clears (lsm6dso_reg.h).
    ///
    /// An untagged FIFO also reports which word of a frame comes next, in FIFO_STATUS3 and 4. If it is not the first,
    /// frames would be misaligned, which is reported as a count that is not a multiple of a frame.
    package func fill(_ registers: UnsafeRawBufferPointer) -> Int {
        let flags = registers[1]
        let words = Int(flags & variant.countMask) << 8 | Int(registers[0])
        // Whole frames: a second read would find the flag cleared.
        if flags & (variant.isTagged ? 0x48 : 0x40) != 0 { return fifo.overflow }
        guard !variant.isTagged else { return 7 * words }
        guard flags & 0x10 == 0 else { return 0 }
        let isFirst = registers[2] == 0 && registers[3] & 0x03 == 0
        return isFirst ? 2 * words : 2 * words | 1
    }

    /// With DRDY_MASK, the chip replaces samples by 0x7FFD … 0x7FFF until its last filters have settled (AN5130 and
    /// AN5040 4.3.1; for all parts: Linux `drdy_mask`, `ST_LSM6DSX_INVALID_SAMPLE`). The mark does not cover the
    /// gyroscope's first filter, LPF1.
    package func isUnsettled(_ frame: ChipFrame) -> Bool {
        let first: Int16 = 0x7FFD
        return frame.gx >= first || frame.gy >= first || frame.gz >= first || frame.ax >= first || frame.ay >= first
            || frame.az >= first
    }

    /// Gyroscope and accelerometer; each value is two bytes, low byte first. `nil` if the bytes are not a valid frame.
    ///
    /// Without tags, the gyroscope's data set comes first (Linux st_lsm6dsx_buffer.c).
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        guard readsGyroscope else {
            guard variant.isTagged else { return frame(bytes, gyroscope: nil, accelerometer: offset) }
            return bytes[offset] >> 3 == 0x02 ? frame(bytes, gyroscope: nil, accelerometer: offset + 1) : nil
        }
        return variant.isTagged
            ? taggedFrame(bytes, at: offset) : frame(bytes, gyroscope: offset, accelerometer: offset + 6)
    }

    /// Two words of one time slot, in either order. TAG_SENSOR, bits 7…3 of a word's first byte, is 1 for the gyroscope
    /// and 2 for the accelerometer (lsm6dso_reg.h, Linux `st_lsm6dsx_fifo_tag`). TAG_CNT, bits 2…1, counts the slots.
    private func taggedFrame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        let first = bytes[offset]
        let second = bytes[offset + 7]
        guard (first ^ second) & 0x06 == 0 else { return nil }
        switch (first >> 3, second >> 3) {
        case (0x01, 0x02): return frame(bytes, gyroscope: offset + 1, accelerometer: offset + 8)
        case (0x02, 0x01): return frame(bytes, gyroscope: offset + 8, accelerometer: offset + 1)
        default: return nil
        }
    }

    private func frame(_ bytes: UnsafeRawBufferPointer, gyroscope: Int?, accelerometer: Int) -> ChipFrame? {
        let frame = ChipFrame(littleEndian: bytes, accelerometer: accelerometer, gyroscope: gyroscope)
        return frame.isOneByteRepeated(hasGyroscope: gyroscope != nil) ? nil : frame
    }
}

/// The chips that the identities usually belong to.
package enum LSM6DSUsual: ChipKind {
    package static var family: IMUFamily { .lsm6ds }
}

/// The LSM6DSO32, which the user names.
package enum LSM6DSO32Named: ChipKind {
    package static var family: IMUFamily { .lsm6dso32 }
}

package typealias LSM6DSFamily = LSM6DSPart<LSM6DSUsual>
package typealias LSM6DSO32Family = LSM6DSPart<LSM6DSO32Named>

/// The differences between the members of ST's LSM6DS family that matter to the driver.
///
/// Configuration registers and data are common to all; the LSM6DSO introduced a different FIFO. One part type drives
/// both kinds, because everything else would be duplicated.
enum LSM6DSVariant: Equatable, Sendable, BitwiseCopyable {
    /// Untagged FIFO of 8 KiB; of 4 KiB in the LSM6DS3H, which answers with the same identity.
    case lsm6ds3
    /// Untagged FIFO of 4 KiB; LSM6DSL, LSM6DSM and ISM330DLC answer with the same identity.
    case lsm6ds3trc
    /// Tagged FIFO of 512 words; the LSM6DSOX answers with the same identity.
    case lsm6dso
    /// The same with twice the ranges of the accelerometer. It also answers with the same identity: only the user can
    /// tell.
    case lsm6dso32
    /// Registers and FIFO of an LSM6DSO, another gyroscope filter; LSM6DSR and LSM6DSRX answer with the same identity.
    case ism330dhcx

    /// The variant that usually answers with `identity` (Linux st_lsm6dsx_core.c, `wai`); `nil` if none does.
    init?(identity: UInt8) {
        switch identity {
        case 0x69: self = .lsm6ds3
        case 0x6A: self = .lsm6ds3trc
        case 0x6B: self = .ism330dhcx
        case 0x6C: self = .lsm6dso
        default: return nil
        }
    }

    /// Its name, and constants that no source confirms.
    var words: (name: StaticString, unsourced: StaticString) {
        switch self {
        case .lsm6ds3: ("LSM6DS3", "bandwidths and delays of the low-pass, start-up time")
        case .lsm6ds3trc: ("LSM6DS3TR-C", "delays of the low-passes at 12.5 and 26 Hz")
        case .lsm6dso: ("LSM6DSO", "delays of the low-passes, start-up time")
        case .lsm6dso32: ("LSM6DSO32", "delays of the low-passes, start-up time")
        case .ism330dhcx: ("ISM330DHCX", "delays of the low-passes, start-up time")
        }
    }

    /// Whether the FIFO's words carry tags that identify the sensor.
    var isTagged: Bool { self != .lsm6ds3 && self != .lsm6ds3trc }

    /// Whether the gyroscope has an additional low-pass besides the one that follows its rate.
    var filtersGyroscope: Bool { self != .lsm6ds3 }

    /// Whether data-ready can be a pulse. On the LSM6DS3 the pin stays high until the output registers are read, which
    /// FIFO reads do not do; bit 7 of register 0x0B is reserved (lsm6ds3_reg.h, `lsm6ds3_orient_cfg_g_t`).
    var pulsesDataReady: Bool { self != .lsm6ds3 }

    /// Ranges of the accelerometer relative to ±2, 4, 8 and 16 g, which the same codes select (LSM6DSO32 datasheet, rev. 1:
    /// ±4, 8, 16 and 32 g; Linux `fs_table`).
    var rangeFactor: Double { self == .lsm6dso32 ? 2 : 1 }

    /// Whether XL_FS_MODE in CTRL8_XL changes what the code of the accelerometer's highest range means (lsm6dso_reg.h,
    /// `lsm6dso_ctrl8_xl_t`).
    var hasRangeMode: Bool { self == .lsm6dso }

    /// Bytes that the FIFO holds, tags included: 2048 words of two bytes, 512 words of seven (Linux `max_fifo_size` in
    /// frames of six bytes, and the masks of `fifo_diff`).
    ///
    /// An LSM6DS3 holds 8192 bytes, but the LSM6DS3H with the same identity 4096. Fewer are safe for both; a larger count
    /// is treated as an overflow.
    var fifoSize: Int { isTagged ? 512 * 7 : 4096 }

    /// Bits of FIFO_STATUS2 that belong to the number of words (Linux `fifo_diff`).
    var countMask: UInt8 {
        switch self {
        case .lsm6ds3: 0x0F
        case .lsm6ds3trc: 0x07
        case .lsm6dso, .lsm6dso32, .ism330dhcx: 0x03
        }
    }

    /// The thermometer's counts per kelvin; zero counts are 25 °C (`from_lsb_to_celsius` of ST's drivers).
    var countsPerKelvin: Double { self == .lsm6ds3 ? 16 : 256 }
}
