internal import MotionCore

/// Accelerometer and gyroscope of ST's LSM9DS1, as on the Raspberry Pi Sense HAT. The magnetometer is a device of its
/// own at another address. Sections, tables and names of registers are those of the datasheet, DocID025715 Rev 2.
///
/// The chip's axes are left-handed: x points the other way than the magnetometer's (figure 1; RTIMULib and ArduPilot
/// invert z instead, which is the same but for half a turn). The driver inverts x of both sensors. The rotation about
/// each axis is positive counterclockwise (2.6.1), so the gyroscope's x is inverted with its axis.
///
/// The datasheet describes no data-ready pulse, so a line is not used. The temperature is not put into the FIFO.
package struct LSM9DS1Family: ChipPart {
    package static var family: IMUFamily { .lsm9ds1 }
    /// SDO_A/G low and high (table 19). The Sense HAT has the first.
    package static var addresses: [UInt8] { [0x6A, 0x6B] }
    /// WHO_AM_I.
    package static var identityRegister: RegisterAddress { 0x0F }
    package static var identity: UInt8 { 0x68 }
    package var name: StaticString { "LSM9DS1" }
    package var unsourced: StaticString? { "delays of the low-passes, start-up time of the gyroscope" }

    // MARK: Settings

    package let figures: ChipFigures
    /// CTRL_REG1_G and CTRL_REG6_XL.
    private let gyroscopeBits: RegisterValue
    private let accelerometerBits: RegisterValue
    /// Samples of the gyroscope to discard after its start (table 12, only the first low-pass). The accelerometer needs
    /// fewer (table 11).
    private let settlingSamples: Double

    package init?(identity: UInt8, settings: IMUSettings) {
        guard identity == Self.identity else { return nil }
        var code: UInt8 = 1
        while code < 6 && Self.row(code: code).rate < settings.wantedRate { code += 1 }
        let row = Self.row(code: code)
        let force = Self.accelerometer(for: settings.wantedGravities)
        let turn = Self.gyroscope(for: settings.wantedDegrees)
        gyroscopeBits = RegisterValue(code << 5 | turn.bits << 3)
        accelerometerBits = RegisterValue(code << 5 | force.bits << 3 | 0x04 | row.accelerometerBandwidth)
        settlingSamples = row.settlingSamples
        // Unsourced: the delays, assumed to be those of a second-order Butterworth low-pass.
        figures = ChipFigures(
            rate: row.rate, bandwidth: row.bandwidth,
            accelerometerRange: force.range * standardGravity, gyroscopeRange: turn.range * radiansPerDegree,
            accelerometerScale: force.scale * 1e-3 * standardGravity,
            gyroscopeScale: turn.scale * 1e-3 * radiansPerDegree)
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
    private static func accelerometer(for wanted: Double) -> (bits: UInt8, range: Double, scale: Double) {
        if wanted <= 2 { return (0, 2, 0.061) }
        if wanted <= 4 { return (2, 4, 0.122) }
        if wanted <= 8 { return (3, 8, 0.244) }
        return (1, 16, 0.732)
    }

    /// FS_G, °/s and m°/s (tables 3 and 45).
    private static func gyroscope(for wanted: Double) -> (bits: UInt8, range: Double, scale: Double) {
        if wanted <= 245 { return (0, 245, 8.75) }
        if wanted <= 500 { return (1, 500, 17.5) }
        return (3, 2000, 70)
    }

    package var dataReadyPulse: DataReadyPulse { .never }

    /// Eight counts below the full scale, or below the end of the 16-bit range: at ±16 g, these would be ±24 g.
    package var accelerometerLimit: Int16 {
        let end = figures.accelerometerRange / figures.accelerometerScale
        return Int16(min(end, Double(Int16.max))) - 8
    }

    /// 16 counts per kelvin, zero at 25 °C (table 5).
    package func celsius(_ raw: Int16) -> Double { 25 + Double(raw) / 16 }

    // MARK: Registers and scripts

    /// CTRL_REG1_G: rate in bits 7…5, full scale in bits 4…3, bandwidth of the second low-pass below (7.12). Writing it
    /// starts both sensors at its rate (3.1).
    private static var gyroscope: RegisterAddress { 0x10 }
    /// CTRL_REG6_XL: rate in bits 7…5, full scale in bits 4…3, bandwidth in bits 2…0 (7.24).
    private static var accelerometer: RegisterAddress { 0x20 }
    /// CTRL_REG8: BDU in bit 6; IF_ADD_INC in bit 2, on by default; SW_RESET in bit 0, which clears itself (7.26).
    private static var control8: RegisterAddress { 0x22 }
    /// FIFO_CTRL: the mode in bits 7…5 (7.34, table 84). Bypass, 0, empties the FIFO (3.5.1).
    private static var fifoControl: RegisterAddress { 0x2E }

    package func addRegisters(to table: inout RegisterTable) {
        table.add(Self.control8, 0x44, in: .waking)
        // CTRL_REG2_G: OUT_SEL in bits 1…0; 00 selects the first low-pass alone (7.13, figure 28).
        table.add(0x11, 0, in: .configuration)
        // CTRL_REG3_G: low-power mode and high-pass (7.14).
        table.add(0x12, 0, in: .configuration)
        // ORIENT_CFG_G: signs and order of the gyroscope's axes (7.15).
        table.add(0x13, 0, in: .configuration)
        // CTRL_REG4: x, y and z of the gyroscope enabled, which is the default (7.22).
        table.add(0x1E, 0x38, in: .configuration)
        // CTRL_REG5_XL: no decimation; x, y and z of the accelerometer enabled (7.23).
        table.add(0x1F, 0x38, in: .configuration)
        // CTRL_REG7_XL: the accelerometer's digital filter (7.25).
        table.add(0x21, 0, in: .configuration)
        // CTRL_REG9: FIFO_EN (7.27).
        table.add(0x23, 0x02, in: .configuration)
        // CTRL_REG10: self-test (7.28).
        table.add(0x24, 0, in: .observed)
        table.addRange(Self.accelerometer, accelerometerBits, in: .sensors)
        table.addRange(Self.gyroscope, gyroscopeBits, in: .sensors)
        // Continuous: the newest entries replace the oldest.
        table.add(Self.fifoControl, 0xC0, in: .fifo)
    }

    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        script.addReset(
            Self.control8, 0x05, until: RegisterSetting(Self.control8, clear: 0x01), every: LSM9DS1Timing.resetPoll,
            within: LSM9DS1Timing.resetDeadline)
        script.add(.enter(.waking))
        script.add(.configure(.waking))
        script.add(.enter(.configuring))
        script.add(.configure(.configuration))
        script.add(.configure(.sensors))
        // The gyroscope's turn-on time from power-down. Unsourced: table 12 begins in low-power mode. Assumed to be
        // that of the LSM6DS3TR-C (AN5130 Rev 1, table 14). With one sample more, because samples come at unknown
        // phases, and for a chip that runs 10 % slow.
        script.add(.settle(0.07 + 1.1 * (settlingSamples + 1) / rate))
    }

    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.write(Self.fifoControl, 0))
        script.add(.apply(.fifo))
    }

    /// Switches FIFO, gyroscope and accelerometer off: rate 0 is power-down.
    package func addSleep(to script: inout ChipScript) {
        script.add(.write(Self.fifoControl, 0))
        script.add(.write(Self.gyroscope, 0))
        script.add(.write(Self.accelerometer, 0))
    }

    // MARK: FIFO

    /// Gyroscope, then accelerometer.
    private static var entryLength: Int { 12 }

    /// FIFO_SRC: OVRN in bit 6, entries in bits 5…0 (7.35, table 86). From OUT_X_L_G, a burst goes on from OUT_Z_H_G to
    /// OUT_X_L_XL, and from OUT_Z_H_XL back to the start: it reads one entry of the FIFO after the other (3.3).
    /// OUT_TEMP_L and OUT_TEMP_H (7.17).
    package var fifo: ChipFIFO {
        ChipFIFO(
            size: 32 * Self.entryLength, frameLength: Self.entryLength, count: ChipRegisters(first: 0x2F, count: 1),
            data: 0x18,
            temperature: ChipRegisters(first: 0x15, count: 2))
    }

    package func fill(_ registers: UnsafeRawBufferPointer) -> Int {
        let isOverrun = registers[0] & 0x40 != 0
        return isOverrun ? fifo.overflow : Int(registers[0] & 0x3F) * Self.entryLength
    }

    /// Low bytes first.
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        func inverted(_ value: Int16) -> Int16 { value == .min ? .max : -value }
        var frame = ChipFrame(littleEndian: bytes, accelerometer: offset + 6, gyroscope: offset)
        guard !frame.isOneByteRepeated() else { return nil }
        frame.ax = inverted(frame.ax)
        frame.gx = inverted(frame.gx)
        return frame
    }
}

/// Timing of both devices in the package, seconds.
enum LSM9DS1Timing {
    /// Interval between checks of a reset, and its deadline. The datasheet gives no duration; ST's example
    /// lsm9ds1_read_data_polling.c waits for the bit as well.
    static var resetPoll: Double { 0.01 }
    static var resetDeadline: Double { 0.15 }
}
