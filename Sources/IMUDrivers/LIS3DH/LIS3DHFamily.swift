internal import MotionCore

/// ST's LIS3DH, LSM303AGR and LIS2DE12, accelerometers without a gyroscope, as registers and scripts. They and the LIS2DH12
/// have the same identity and the same registers (Linux st_accel_core.c). Unsourced: whether the bandwidths, turn-on times
/// and noise of the others are those of the LIS3DH, which is assumed.
///
/// They have no reset: BOOT only reloads the factory's trimming, so the driver writes all control registers. The thermometer
/// measures changes only (table 5), and is not used. The LIS3DH's datasheet describes no data-ready pulse, so a line is not
/// used.
package struct LIS3DHPart<Kind: ChipKind>: ChipPart {
    let configuration: LIS3DHConfiguration

    package init?(identity: UInt8, settings: IMUSettings) {
        guard identity == LIS3DHValue.identity else { return nil }
        self.init(settings: settings)
    }

    package init(settings: IMUSettings) {
        configuration = LIS3DHConfiguration(settings, family: Kind.family)
    }

    package static var family: IMUFamily { Kind.family }
    /// SA0 low and high (reg.h). An LSM303AGR has the second one only (lsm303agr_reg.h, `LSM303AGR_I2C_ADD_XL`).
    package static var addresses: [UInt8] { [0x18, 0x19] }
    package static var identityRegister: RegisterAddress { LIS3DHRegister.whoAmI }
    package static var burstBit: UInt8 { LIS3DHValue.burst }
    package static var largestFIFO: Int { LIS3DHValue.entries * LIS3DHValue.entryLength }
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
    package var figures: ChipFigures { configuration.figures }
    package var dataReadyPulse: DataReadyPulse { .never }

    /// Two counts below the full scale, which a LIS3DH has at 2000 counts, or 1333 at ±16 g. The others may have it beyond the
    /// last count.
    package var accelerometerLimit: Int16 {
        let end = figures.accelerometerRange / figures.accelerometerScale
        return min(Int16(end.rounded()), .max &>> configuration.unusedBits) - 2
    }

    package var fifo: ChipFIFO {
        var fifo = ChipFIFO(
            size: Self.largestFIFO, frameLength: LIS3DHValue.entryLength,
            count: ChipRegisters(first: LIS3DHRegister.fifoSource, count: 1), data: LIS3DHRegister.output)
        fifo.reportsOverflow = true
        return fifo
    }

    /// FSS has five bits: with 32 entries it is 31 and OVRN_FIFO is set (ruuvitag_fw, issue 67). A host that finds 32 is too
    /// late to read them all, because the next sample replaces the oldest.
    package func fill(_ registers: UnsafeRawBufferPointer) -> Int {
        let source = registers[0]
        if source & LIS3DHValue.overrun != 0 { return Self.largestFIFO + LIS3DHValue.entryLength }
        if source & LIS3DHValue.empty != 0 { return 0 }
        return Int(source & LIS3DHValue.entryBits) * LIS3DHValue.entryLength
    }

    package func celsius(_ raw: Int16) -> Double { .nan }

    /// With less noise than a count, a board at rest repeats a frame for seconds, the more so as the low-pass makes successive
    /// samples alike: a LIS3DH's at ±8 g, except at 1344 Hz, and always with eight bits.
    package var longestRepetition: Int { configuration.noise < 0.8 ? .max : 32 }

    /// Zeros on every axis mean free fall, or output registers after a power failure.
    package func mayFollowReset(_ frame: ChipFrame) -> Bool { frame.ax == 0 && frame.ay == 0 && frame.az == 0 }

    // MARK: Registers

    package func addRegisters(to table: inout RegisterTable) {
        table.add(LIS3DHRegister.control2, .none, in: .configuration)
        table.add(LIS3DHRegister.control3, .none, in: .configuration)
        table.addRange(LIS3DHRegister.control4, configuration.format, in: .configuration)
        table.add(LIS3DHRegister.control5, LIS3DHValue.fifoEnabled, in: .configuration)
        table.add(LIS3DHRegister.control6, .none, in: .configuration)
        table.add(LIS3DHRegister.control1, configuration.rate, in: .sensors)
        table.add(LIS3DHRegister.fifoControl, LIS3DHValue.stream, in: .fifo)
    }

    // MARK: Scripts

    /// In power-down, which is ODR 0, registers may be set in any order. Measuring starts last.
    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        script.add(.write(LIS3DHRegister.control1, .none))
        script.add(.write(LIS3DHRegister.fifoControl, LIS3DHValue.bypass))
        script.add(.enter(.configuring))
        script.add(.configure(.configuration))
        script.add(.configure(.sensors))
        // Turn-on time (datasheet, DocID17530 Rev 2, tables 10 and 11). With one sample more, because they come at unknown
        // phases, and for a chip that runs 10 % slow.
        script.add(.settle(0.001 + 1.1 * (configuration.settlingSamples + 1) / rate))
    }

    /// Bypass empties the FIFO (datasheet, 5.1.1).
    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.write(LIS3DHRegister.fifoControl, LIS3DHValue.bypass))
        script.add(.apply(.fifo))
    }

    package func addSleep(to script: inout ChipScript) {
        script.add(.write(LIS3DHRegister.control1, .none))
    }

    // MARK: Frames

    /// Three values, low byte first, in the upper bits of sixteen.
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        let raw = ChipFrame(littleEndian: bytes, accelerometer: offset)
        let unused = configuration.unusedBits
        return ChipFrame(ax: raw.ax &>> unused, ay: raw.ay &>> unused, az: raw.az &>> unused)
    }
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

/// The register values of a LIS3DH or a relative for the settings. Tables are those of the LIS3DH's datasheet, DocID17530
/// Rev 2.
///
/// Each value is the chip's nearest that is not smaller than requested, up to the chip's limits.
struct LIS3DHConfiguration: Equatable, Sendable, BitwiseCopyable {
    /// CTRL_REG1 and CTRL_REG4.
    let rate: RegisterValue
    let format: RegisterValue

    /// The effective figures.
    let figures: ChipFigures

    /// The size of one count, mg, and how many of the sixteen bits that are read are below it.
    let countSize: Double
    let unusedBits: Int16

    /// How many samples are not yet right after power-down (table 11).
    let settlingSamples: Double

    init(_ settings: IMUSettings, family: IMUFamily) {
        // A LIS2DE12 has eight bits and only the low-power mode, which LPen selects (lis2de12_reg.c,
        // lis2de12_data_rate_set). The others have twelve in high-resolution mode.
        let hasEightBits = family == .lis2de12
        let fastest: UInt8 = hasEightBits ? 8 : 9
        // Code 1, 1 Hz, is less than the lowest rate of the settings.
        var code: UInt8 = 2
        while code < fastest && Self.rate(code: code) < settings.wantedRate {
            code = code == 7 ? fastest : code + 1
        }
        let (bits, end) = doubled(2, upTo: settings.wantedGravities, most: 3)
        countSize = Self.countSize(family: family, rangeBits: bits)
        unusedBits = hasEightBits ? 8 : 4
        settlingSamples = hasEightBits ? 1 : 7
        rate = RegisterValue(code << 4) | LIS3DHValue.allAxes | (hasEightBits ? LIS3DHValue.lowPower : .none)
        format =
            LIS3DHValue.blockDataUpdate | (hasEightBits ? .none : LIS3DHValue.highResolution)
            | RegisterValue(bits << 4)
        // A ninth of the rate in high-resolution mode, half of it in low-power mode (table 10, "Operating mode selection", p.
        // 16). Unsourced: the delay, assumed to be that of a second-order Butterworth low-pass.
        let hertz = Self.rate(code: code)
        figures = ChipFigures(
            rate: hertz, bandwidth: hertz / (hasEightBits ? 2 : 9), accelerometerRange: end * standardGravity,
            gyroscopeRange: 0, accelerometerScale: countSize * 1e-3 * standardGravity)
    }

    /// ODR (lis3dh_reg.h, `lis3dh_odr_t`). Code 8 needs low-power mode, and code 9 is another rate in it.
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
    private static func countSize(family: IMUFamily, rangeBits: UInt8) -> Double {
        switch (family, rangeBits) {
        case (.lsm303agr, 0): 0.98
        case (.lsm303agr, 1): 1.95
        case (.lsm303agr, 2): 3.9
        case (.lsm303agr, _): 11.72
        case (.lis2de12, 0): 15.6
        case (.lis2de12, 1): 31.2
        case (.lis2de12, 2): 62.5
        case (.lis2de12, _): 187.5
        case (_, 0): 1
        case (_, 1): 2
        case (_, 2): 4
        default: 12
        }
    }

    /// The expected noise, counts: 220 µg/√Hz after a first-order low-pass. That is the figure at ±2 g and more than 1300
    /// Hz (table 4, p. 11). Unsourced: the noise at other ranges and rates; it is assumed to be the same.
    var noise: Double { 0.220 * (0.5 * .pi * figures.bandwidth).squareRoot() / countSize }
}

/// The registers that the driver uses, named as in STMicroelectronics' lis3dh_reg.h ("reg.h"). A number with bit 7 set makes a
/// burst advance from register to register; the driver adds it (datasheet, DocID17530 Rev 2, "I²C operation").
enum LIS3DHRegister {
    /// WHO_AM_I (reg.h).
    static var whoAmI: RegisterAddress { RegisterAddress(0x0F) }
    /// CTRL_REG1: ODR in bits 7…4, LPen in bit 3, enabled axes in bits 2…0 (reg.h).
    static var control1: RegisterAddress { RegisterAddress(0x20) }
    /// CTRL_REG2: high-pass (reg.h).
    static var control2: RegisterAddress { RegisterAddress(0x21) }
    /// CTRL_REG3: INT1 (reg.h).
    static var control3: RegisterAddress { RegisterAddress(0x22) }
    /// CTRL_REG4: BDU in bit 7, FS in bits 5…4, HR in bit 3, self-test (reg.h).
    static var control4: RegisterAddress { RegisterAddress(0x23) }
    /// CTRL_REG5: BOOT in bit 7, FIFO_EN in bit 6 (reg.h).
    static var control5: RegisterAddress { RegisterAddress(0x24) }
    /// CTRL_REG6: INT2 (reg.h).
    static var control6: RegisterAddress { RegisterAddress(0x25) }
    /// OUT_X_L. From here, a burst returns from OUT_Z_H to OUT_X_L and reads one entry of the FIFO after the other (Zephyr
    /// lis2dh_stream and Klipper's pull request 7077 read several entries at once).
    static var output: RegisterAddress { RegisterAddress(0x28) }
    /// FIFO_CTRL_REG: FM in bits 7…6 (reg.h).
    static var fifoControl: RegisterAddress { RegisterAddress(0x2E) }
    /// FIFO_SRC_REG: OVRN_FIFO in bit 6, EMPTY in bit 5, FSS in bits 4…0 (reg.h).
    static var fifoSource: RegisterAddress { RegisterAddress(0x2F) }
}

/// The register values that do not depend on settings (reg.h unless noted).
enum LIS3DHValue {
    static var identity: UInt8 { 0x33 }
    /// The auto-increment bit of a register number.
    static var burst: UInt8 { 0x80 }
    static var allAxes: RegisterValue { RegisterValue(0x07) }
    static var blockDataUpdate: RegisterValue { RegisterValue(0x80) }
    static var lowPower: RegisterValue { RegisterValue(0x08) }
    static var highResolution: RegisterValue { RegisterValue(0x08) }
    static var fifoEnabled: RegisterValue { RegisterValue(0x40) }
    /// FIFO_CTRL_REG: off and empty; the newest entries replace the oldest (`lis3dh_fm_t`).
    static var bypass: RegisterValue { RegisterValue(0x00) }
    static var stream: RegisterValue { RegisterValue(0x80) }
    static var overrun: UInt8 { 0x40 }
    static var empty: UInt8 { 0x20 }
    static var entryBits: UInt8 { 0x1F }
    /// The FIFO's entries, and the bytes per entry.
    static var entries: Int { 32 }
    static var entryLength: Int { 6 }
}
