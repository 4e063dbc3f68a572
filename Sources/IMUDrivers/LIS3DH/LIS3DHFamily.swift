internal import MotionCore

/// ST's LIS3DH, LSM303AGR and LIS2DE12, accelerometers without a gyroscope. They and the LIS2DH12 have the same
/// identity and the same registers (Linux st_accel_core.c). Unsourced: whether the bandwidths, turn-on times and noise
/// of the others are those of the LIS3DH, which is assumed.
///
/// They have no reset: BOOT only reloads the factory's trimming, so the driver writes all control registers. The thermometer
/// measures changes only (table 5), and is not used. The LIS3DH's datasheet describes no data-ready pulse, so a line is not
/// used.
///
/// Tables and pages are those of the LIS3DH's datasheet, DocID17530 Rev 2. Registers are named as in STMicroelectronics'
/// lis3dh_reg.h ("reg.h"), from which they and their bits are unless noted.
package struct LIS3DHPart<Kind: ChipKind>: ChipPart {
    package static var family: IMUFamily { Kind.family }
    /// SA0 low and high (reg.h). An LSM303AGR has the second one only (lsm303agr_reg.h, `LSM303AGR_I2C_ADD_XL`).
    package static var addresses: [UInt8] { [0x18, 0x19] }
    /// WHO_AM_I.
    package static var identityRegister: RegisterAddress { 0x0F }
    package static var identity: UInt8 { 0x33 }
    /// A number with bit 7 set makes a burst advance from register to register ("I²C operation").
    package static var burstBit: UInt8 { 0x80 }
    package var name: StaticString {
        switch Kind.family {
        case .lsm303agr: "LSM303AGR"
        case .lis2de12: "LIS2DE12"
        default: "LIS3DH"
        }
    }
    package var unsourced: StaticString? {
        switch Kind.family {
        case .lsm303agr, .lis2de12: "bandwidth and delay of the low-pass, noise, start-up time"
        default: "delay of the low-pass, noise below 1344 Hz and above ±2 g; bandwidth and start-up time of a LIS2DH12"
        }
    }

    // MARK: Settings

    package let figures: ChipFigures
    /// ODR and FS.
    private let rateCode: UInt8
    private let rangeBits: UInt8
    /// The size of one count, mg.
    private let countSize: Double

    /// A LIS2DE12 has eight bits and only the low-power mode, which LPen selects (lis2de12_reg.c,
    /// lis2de12_data_rate_set). The others have twelve in high-resolution mode.
    private static var hasEightBits: Bool { Kind.family == .lis2de12 }
    /// How many of the sixteen bits that are read are below a count.
    private static var unusedBits: Int16 { hasEightBits ? 8 : 4 }

    package init?(identity: UInt8, settings: IMUSettings) {
        guard identity == Self.identity else { return nil }
        let fastest: UInt8 = Self.hasEightBits ? 8 : 9
        // Code 1, 1 Hz, is less than the lowest rate of the settings.
        var code: UInt8 = 2
        while code < fastest && Self.rate(code: code) < settings.wantedRate {
            code = code == 7 ? fastest : code + 1
        }
        rateCode = code
        let (bits, end) = doubled(2, upTo: settings.wantedGravities, most: 3)
        rangeBits = bits
        countSize = Self.countSizes[Int(bits)]
        // A ninth of the rate in high-resolution mode, half of it in low-power mode (table 10, "Operating mode selection", p.
        // 16). Unsourced: the delay, assumed to be that of a second-order Butterworth low-pass.
        let hertz = Self.rate(code: code)
        figures = ChipFigures(
            rate: hertz, bandwidth: hertz / (Self.hasEightBits ? 2 : 9), accelerometerRange: end * standardGravity,
            gyroscopeRange: 0, accelerometerScale: countSize * 1e-3 * standardGravity)
    }

    /// ODR (reg.h, `lis3dh_odr_t`). Code 8 needs low-power mode, and code 9 is another rate in it.
    private static func rate(code: UInt8) -> Double {
        switch code {
        case 2: 10
        case 3: 25
        case 4: 50
        case 5: 100
        case 6: 200
        case 7: 400
        case 8: 1620
        default: 1344
        }
    }

    /// The size of a count, mg, at ±2, 4, 8 and 16 g.
    ///
    /// At ±16 g a LIS3DH has 12 mg, not 8 (table 4, p. 10; lis3dh_reg.c, `lis3dh_from_fs16_hr_to_mg`). LSM303AGR:
    /// lsm303agr_reg.c, `lsm303agr_from_fs_2g_hr_to_mg` to `16g`. LIS2DE12: Linux
    /// st_accel_core.c.
    private static var countSizes: SIMD4<Double> {
        switch Kind.family {
        case .lsm303agr: SIMD4<Double>(0.98, 1.95, 3.9, 11.72)
        case .lis2de12: SIMD4<Double>(15.6, 31.2, 62.5, 187.5)
        default: SIMD4<Double>(1, 2, 4, 12)
        }
    }

    package var dataReadyPulse: DataReadyPulse { .never }

    /// Two counts below the full scale, which a LIS3DH has at 2000 counts, or 1333 at ±16 g. The others may have it beyond the
    /// last count.
    package var accelerometerLimit: Int16 {
        let end = figures.accelerometerRange / figures.accelerometerScale
        return min(Int16(end.rounded()), .max &>> Self.unusedBits) - 2
    }

    /// With less noise than a count, a board at rest repeats a frame for seconds, the more so as the low-pass makes successive
    /// samples alike: a LIS3DH's at ±8 g, except at 1344 Hz, and always with eight bits.
    package var longestRepetition: Int { noise < 0.8 ? .max : 32 }

    /// The expected noise, counts: 220 µg/√Hz after a first-order low-pass. That is the figure at ±2 g and more than 1300
    /// Hz (table 4, p. 11). Unsourced: the noise at other ranges and rates; it is assumed to be the same.
    private var noise: Double { 0.220 * (0.5 * .pi * bandwidth).squareRoot() / countSize }

    // MARK: Registers and scripts

    /// CTRL_REG1: ODR in bits 7…4, LPen in bit 3, enabled axes in bits 2…0.
    private static var control1: RegisterAddress { 0x20 }
    /// FIFO_CTRL_REG: FM in bits 7…6 (`lis3dh_fm_t`). Bypass, 0, empties the FIFO (5.1.1).
    private static var fifoControl: RegisterAddress { 0x2E }

    package func addRegisters(to table: inout RegisterTable) {
        // CTRL_REG2: high-pass. CTRL_REG3: INT1.
        table.add(0x21, 0, in: .configuration)
        table.add(0x22, 0, in: .configuration)
        // CTRL_REG4: BDU in bit 7, FS in bits 5…4, HR, high resolution, in bit 3, self-test.
        let resolution: UInt8 = Self.hasEightBits ? 0 : 0x08
        table.addRange(0x23, RegisterValue(0x80 | rangeBits << 4 | resolution), in: .configuration)
        // CTRL_REG5: BOOT in bit 7, FIFO_EN in bit 6. CTRL_REG6: INT2.
        table.add(0x24, 0x40, in: .configuration)
        table.add(0x25, 0, in: .configuration)
        let lowPower: UInt8 = Self.hasEightBits ? 0x08 : 0
        table.add(Self.control1, RegisterValue(rateCode << 4 | lowPower | 0x07), in: .sensors)
        // Stream: the newest entries replace the oldest.
        table.add(Self.fifoControl, 0x80, in: .fifo)
    }

    /// In power-down, which is ODR 0, registers may be set in any order. Measuring starts last.
    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        script.add(.write(Self.control1, 0))
        script.add(.write(Self.fifoControl, 0))
        script.add(.enter(.configuring))
        script.add(.configure(.configuration))
        script.add(.configure(.sensors))
        // Turn-on time, and the samples that are not yet right then (tables 10 and 11). With one sample more, because
        // they come at unknown phases, and for a chip that runs 10 % slow.
        let settlingSamples: Double = Self.hasEightBits ? 1 : 7
        script.add(.settle(0.001 + 1.1 * (settlingSamples + 1) / rate))
    }

    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.write(Self.fifoControl, 0))
        script.add(.apply(.fifo))
    }

    package func addSleep(to script: inout ChipScript) {
        script.add(.write(Self.control1, 0))
    }

    // MARK: FIFO

    private static var entryLength: Int { 6 }

    /// From OUT_X_L, a burst returns from OUT_Z_H to OUT_X_L and reads one entry of the FIFO after the other (Zephyr
    /// lis2dh_stream and Klipper's pull request 7077 read several entries at once).
    package var fifo: ChipFIFO {
        ChipFIFO(
            size: 32 * Self.entryLength, frameLength: Self.entryLength, count: ChipRegisters(first: 0x2F, count: 1),
            data: 0x28)
    }

    /// FIFO_SRC_REG: OVRN_FIFO in bit 6, EMPTY in bit 5, FSS in bits 4…0.
    ///
    /// FSS has five bits: with 32 entries it is 31 and OVRN_FIFO is set (ruuvitag_fw, issue 67). A host that finds 32 is too
    /// late to read them all, because the next sample replaces the oldest.
    package func fill(_ registers: UnsafeRawBufferPointer) -> Int {
        let source = registers[0]
        if source & 0x40 != 0 { return fifo.overflow }
        if source & 0x20 != 0 { return 0 }
        return Int(source & 0x1F) * Self.entryLength
    }

    /// Three values, low byte first, in the upper bits of sixteen.
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        let raw = ChipFrame(littleEndian: bytes, accelerometer: offset)
        let unused = Self.unusedBits
        return ChipFrame(ax: raw.ax &>> unused, ay: raw.ay &>> unused, az: raw.az &>> unused)
    }

    /// Zeros on every axis mean free fall, or output registers after a power failure.
    package func mayFollowReset(_ frame: ChipFrame) -> Bool { frame.ax == 0 && frame.ay == 0 && frame.az == 0 }
}

/// The LIS3DH, which is what a chip with this identity is taken for.
package enum LIS3DHUsual: ChipKind {
    package static var family: IMUFamily { .lis3dh }
}

/// The LSM303AGR and the LIS2DE12, which the user names.
package enum LSM303AGRNamed: ChipKind {
    package static var family: IMUFamily { .lsm303agr }
}
package enum LIS2DE12Named: ChipKind {
    package static var family: IMUFamily { .lis2de12 }
}

package typealias LIS3DHFamily = LIS3DHPart<LIS3DHUsual>
package typealias LSM303AGRFamily = LIS3DHPart<LSM303AGRNamed>
package typealias LIS2DE12Family = LIS3DHPart<LIS2DE12Named>
