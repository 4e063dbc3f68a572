internal import MotionCore

/// Accelerometer and gyroscope of ST's LSM9DS1, as on the Raspberry Pi Sense HAT: registers, scripts and frames.
///
/// The chip's axes are left-handed: x points the other way than the magnetometer's (datasheet, figure 1; RTIMULib and
/// ArduPilot invert z instead, which is the same but for half a turn). The driver inverts x of both sensors. The rotation
/// about each axis is positive counterclockwise (2.6.1), so the gyroscope's x is inverted with its axis.
///
/// The datasheet describes no data-ready pulse, so a line is not used. The temperature is not put into the FIFO.
package struct LSM9DS1Family: ChipPart {
    let configuration: LSM9DS1Configuration

    package init?(identity: UInt8, settings: IMUSettings) {
        guard identity == LSM9DS1Value.identity else { return nil }
        self.init(settings: settings)
    }

    package init(settings: IMUSettings) {
        configuration = LSM9DS1Configuration(settings)
    }

    package static var family: IMUFamily { .lsm9ds1 }
    /// SDO_A/G low and high (datasheet, table 19). The Sense HAT has the first.
    package static var addresses: [UInt8] { [0x6A, 0x6B] }
    package static var identityRegister: RegisterAddress { LSM9DS1Register.whoAmI }
    package static var largestFIFO: Int { LSM9DS1Value.entries * LSM9DS1Value.entryLength }
    package var name: StaticString { "LSM9DS1" }
    package var unsourced: StaticString? { "delays of the low-passes, start-up time of the gyroscope" }
    package var figures: ChipFigures { configuration.figures }
    package var dataReadyPulse: DataReadyPulse { .never }

    /// Eight counts below the full scale, or below the end of the 16-bit range: at ±16 g, these would be ±24 g.
    package var accelerometerLimit: Int16 {
        let end = figures.accelerometerRange / figures.accelerometerScale
        return Int16(min(end, Double(Int16.max))) - 8
    }

    package var fifo: ChipFIFO {
        var fifo = ChipFIFO(
            size: Self.largestFIFO, frameLength: LSM9DS1Value.entryLength,
            count: ChipRegisters(first: LSM9DS1Register.fifoSource, count: 1), data: LSM9DS1Register.data)
        fifo.temperature = ChipRegisters(first: LSM9DS1Register.temperature, count: 2)
        fifo.reportsOverflow = true
        return fifo
    }

    package func fill(_ registers: UnsafeRawBufferPointer) -> Int {
        let source = registers[0]
        guard source & LSM9DS1Value.overrun == 0 else { return Self.largestFIFO + LSM9DS1Value.entryLength }
        return Int(source & LSM9DS1Value.entryBits) * LSM9DS1Value.entryLength
    }

    /// 16 counts per kelvin, zero at 25 °C (table 5).
    package func celsius(_ raw: Int16) -> Double { 25 + Double(raw) / 16 }

    // MARK: Registers

    /// CTRL_REG1_G comes last, because it starts both sensors at its rate (3.1).
    package func addRegisters(to table: inout RegisterTable) {
        table.add(
            LSM9DS1Register.control8, LSM9DS1Value.blockDataUpdate | LSM9DS1Value.addressIncrement, in: .waking)
        table.add(LSM9DS1Register.gyroscopeOutput, .none, in: .configuration)
        table.add(LSM9DS1Register.gyroscopePower, .none, in: .configuration)
        table.add(LSM9DS1Register.gyroscopeAxes, .none, in: .configuration)
        table.add(LSM9DS1Register.control4, LSM9DS1Value.allAxes, in: .configuration)
        table.add(LSM9DS1Register.control5, LSM9DS1Value.allAxes, in: .configuration)
        table.add(LSM9DS1Register.control7, .none, in: .configuration)
        table.add(LSM9DS1Register.control9, LSM9DS1Value.fifoEnabled, in: .configuration)
        table.add(LSM9DS1Register.control10, .none, in: .observed)
        table.addRange(LSM9DS1Register.accelerometer, configuration.accelerometer, in: .sensors)
        table.addRange(LSM9DS1Register.gyroscope, configuration.gyroscope, in: .sensors)
        table.add(LSM9DS1Register.fifoControl, LSM9DS1Value.continuous, in: .fifo)
    }

    // MARK: Scripts

    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        script.add(.write(LSM9DS1Register.control8, LSM9DS1Value.addressIncrement | LSM9DS1Value.reset))
        script.add(
            .waitFor(
                RegisterSetting(LSM9DS1Register.control8, clear: LSM9DS1Value.reset), every: LSM9DS1Timing.resetPoll,
                within: LSM9DS1Timing.resetDeadline))
        script.add(.enter(.waking))
        script.add(.configure(.waking))
        script.add(.enter(.configuring))
        script.add(.configure(.configuration))
        script.add(.configure(.sensors))
        // With one sample more, because samples come at unknown phases, and for a chip that runs 10 % slow.
        script.add(.settle(LSM9DS1Timing.gyroscopeTurnOn + 1.1 * (configuration.settlingSamples + 1) / rate))
    }

    /// Bypass empties the FIFO (3.5.1).
    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.write(LSM9DS1Register.fifoControl, LSM9DS1Value.bypass))
        script.add(.apply(.fifo))
    }

    /// Switches FIFO, gyroscope and accelerometer off: rate 0 is power-down.
    package func addSleep(to script: inout ChipScript) {
        script.add(.write(LSM9DS1Register.fifoControl, LSM9DS1Value.bypass))
        script.add(.write(LSM9DS1Register.gyroscope, .none))
        script.add(.write(LSM9DS1Register.accelerometer, .none))
    }

    // MARK: Frames

    /// Gyroscope and accelerometer, low byte first.
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        func inverted(_ value: Int16) -> Int16 { value == .min ? .max : -value }
        var frame = ChipFrame(littleEndian: bytes, accelerometer: offset + 6, gyroscope: offset)
        guard !frame.isOneByteRepeated else { return nil }
        frame.ax = inverted(frame.ax)
        frame.gx = inverted(frame.gx)
        return frame
    }
}

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
        var code: UInt8 = 1
        while code < 6 && Self.row(code: code).rate < settings.wantedRate { code += 1 }
        let row = Self.row(code: code)
        let force = Self.accelerometer(for: settings.wantedGravities)
        let rotation = Self.gyroscope(for: settings.wantedDegrees)
        gyroscope = RegisterValue(code << 5 | rotation.bits << 3)
        accelerometer = RegisterValue(code << 5 | force.bits << 3 | 0x04 | row.accelerometerBandwidth)
        settlingSamples = row.settlingSamples
        // Unsourced: the delays, assumed to be those of a second-order Butterworth low-pass.
        figures = ChipFigures(
            rate: row.rate, bandwidth: row.bandwidth,
            accelerometerRange: force.range * standardGravity, gyroscopeRange: rotation.range * radiansPerDegree,
            accelerometerScale: force.scale * 1e-3 * standardGravity,
            gyroscopeScale: rotation.scale * 1e-3 * radiansPerDegree)
    }

    /// By ODR_G, which is the rate of both sensors (table 46): the rate; the gyroscope's bandwidth after its first low-pass (table
    /// 46); BW_XL, the widest of 408, 211, 105 and 50 Hz below half of the rate, or else the narrowest (table 67); and the
    /// samples to discard.
    private static func row(
        code: UInt8
    ) -> (rate: Double, bandwidth: Double, accelerometerBandwidth: UInt8, settlingSamples: Double) {
        switch code {
        case 1: (14.9, 5, 3, 2)
        case 2: (59.5, 19, 3, 3)
        case 3: (119, 38, 3, 3)
        case 4: (238, 76, 2, 4)
        case 5: (476, 100, 1, 5)
        default: (952, 100, 0, 8)
        }
    }

    /// FS_XL, g and mg (tables 3 and 67). At ±16 g, a count is three times that of ±8 g.
    private static func accelerometer(for wanted: Double) -> FullScale {
        if wanted <= 2 { return FullScale(bits: 0, range: 2, scale: 0.061) }
        if wanted <= 4 { return FullScale(bits: 2, range: 4, scale: 0.122) }
        if wanted <= 8 { return FullScale(bits: 3, range: 8, scale: 0.244) }
        return FullScale(bits: 1, range: 16, scale: 0.732)
    }

    /// FS_G, °/s and m°/s (tables 3 and 45).
    private static func gyroscope(for wanted: Double) -> FullScale {
        if wanted <= 245 { return FullScale(bits: 0, range: 245, scale: 8.75) }
        if wanted <= 500 { return FullScale(bits: 1, range: 500, scale: 17.5) }
        return FullScale(bits: 3, range: 2000, scale: 70)
    }
}

/// The registers of the LSM9DS1's accelerometer and gyroscope that the driver uses, named as in its datasheet, DocID025715
/// Rev 2, to which the numbers of sections and tables refer. The magnetometer is a device of its own at another address.
enum LSM9DS1Register {
    /// WHO_AM_I.
    static var whoAmI: RegisterAddress { RegisterAddress(0x0F) }
    /// CTRL_REG1_G: rate in bits 7…5, full scale in bits 4…3, bandwidth of the second low-pass below (7.12). Writing it
    /// starts both sensors.
    static var gyroscope: RegisterAddress { RegisterAddress(0x10) }
    /// CTRL_REG2_G: OUT_SEL in bits 1…0; 00 selects the first low-pass alone (7.13, figure 28).
    static var gyroscopeOutput: RegisterAddress { RegisterAddress(0x11) }
    /// CTRL_REG3_G: low-power mode and high-pass (7.14).
    static var gyroscopePower: RegisterAddress { RegisterAddress(0x12) }
    /// ORIENT_CFG_G: signs and order of the gyroscope's axes (7.15).
    static var gyroscopeAxes: RegisterAddress { RegisterAddress(0x13) }
    /// OUT_TEMP_L, OUT_TEMP_H (7.17).
    static var temperature: RegisterAddress { RegisterAddress(0x15) }
    /// OUT_X_L_G. From here, a burst goes on from OUT_Z_H_G to OUT_X_L_XL, and from OUT_Z_H_XL back to here: it reads one
    /// entry of the FIFO after the other (3.3).
    static var data: RegisterAddress { RegisterAddress(0x18) }
    /// CTRL_REG4: enables the gyroscope's axes (7.22).
    static var control4: RegisterAddress { RegisterAddress(0x1E) }
    /// CTRL_REG5_XL: decimation, and enables the accelerometer's axes (7.23).
    static var control5: RegisterAddress { RegisterAddress(0x1F) }
    /// CTRL_REG6_XL: rate in bits 7…5, full scale in bits 4…3, bandwidth in bits 2…0 (7.24).
    static var accelerometer: RegisterAddress { RegisterAddress(0x20) }
    /// CTRL_REG7_XL: the accelerometer's digital filter (7.25).
    static var control7: RegisterAddress { RegisterAddress(0x21) }
    /// CTRL_REG8: BDU, IF_ADD_INC, SW_RESET (7.26).
    static var control8: RegisterAddress { RegisterAddress(0x22) }
    /// CTRL_REG9: FIFO_EN (7.27).
    static var control9: RegisterAddress { RegisterAddress(0x23) }
    /// CTRL_REG10: self-test (7.28).
    static var control10: RegisterAddress { RegisterAddress(0x24) }
    /// FIFO_CTRL: the mode in bits 7…5 (7.34).
    static var fifoControl: RegisterAddress { RegisterAddress(0x2E) }
    /// FIFO_SRC: OVRN in bit 6, entries in bits 5…0 (7.35).
    static var fifoSource: RegisterAddress { RegisterAddress(0x2F) }
}

/// The register values that do not depend on settings.
enum LSM9DS1Value {
    static var identity: UInt8 { 0x68 }
    /// CTRL_REG4, CTRL_REG5_XL: x, y and z enabled, which is the default.
    static var allAxes: RegisterValue { RegisterValue(0x38) }
    /// CTRL_REG8: BDU, IF_ADD_INC (on by default), SW_RESET, which clears itself.
    static var blockDataUpdate: RegisterValue { RegisterValue(0x40) }
    static var addressIncrement: RegisterValue { RegisterValue(0x04) }
    static var reset: RegisterValue { RegisterValue(0x01) }
    /// CTRL_REG9: FIFO_EN.
    static var fifoEnabled: RegisterValue { RegisterValue(0x02) }
    /// FIFO_CTRL: off and empty; the newest entries replace the oldest (table 84).
    static var bypass: RegisterValue { RegisterValue(0x00) }
    static var continuous: RegisterValue { RegisterValue(0xC0) }
    /// FIFO_SRC (table 86).
    static var overrun: UInt8 { 0x40 }
    static var entryBits: UInt8 { 0x3F }
    /// The FIFO's entries, and the bytes per entry: gyroscope, then accelerometer.
    static var entries: Int { 32 }
    static var entryLength: Int { 12 }
}

/// Timing of the chip, seconds.
enum LSM9DS1Timing {
    /// Interval between checks of a reset, and its deadline. The datasheet gives no duration; ST's example
    /// lsm9ds1_read_data_polling.c waits for the bit as well.
    static var resetPoll: Double { 0.01 }
    static var resetDeadline: Double { 0.15 }
    /// The gyroscope's turn-on time from power-down. Unsourced: table 12 of the datasheet begins in low-power mode.
    /// Assumed to be that of the LSM6DS3TR-C (AN5130 Rev 1, table 14).
    static var gyroscopeTurnOn: Double { 0.07 }
}
