internal import MotionCore

/// Analog Devices' ADXL345 and ADXL375, accelerometers without a gyroscope.
///
/// They have neither a reset nor a thermometer. Reading the output registers removes one entry from the FIFO, so every
/// sample needs a separate transaction. Pages and tables are those of the ADXL345's datasheet, Rev. G, unless noted.
///
/// The datasheet of the ADXL345 has its figures at 2.5 V, 256 counts per g (table 1). A Raspberry Pi supplies 3.3 V: then
/// x and y typically have 265 counts per g and read 25 mg more, and z reads 20 mg less ("Operation at voltages other than
/// 2.5 V", p. 34). The driver removes these differences. A chip is within about 1 % and 40 mg of that.
///
/// The ADXL375 has the same registers, and one range of ±200 g with 49 mg per count, 44 to 54 mg, at 2.5 V (its
/// datasheet, Rev. B, table 1, as public drivers quote it; Linux adxl345.h; Adafruit_CircuitPython_ADXL37x). Unsourced:
/// its figures at 3.3 V.
package struct ADXL345Part<Kind: ChipKind>: ChipPart {
    package static var family: IMUFamily { Kind.family }
    private static var isADXL375: Bool { family == .adxl375 }
    /// ALT ADDRESS low and high.
    package static var addresses: [UInt8] { [0x53, 0x1D] }
    /// DEVID.
    package static var identityRegister: RegisterAddress { 0x00 }
    package static var identity: UInt8 { 0xE5 }
    /// The bits that are always 0 (table 19): a memory at the same address may hold the identity.
    package static var proof: [RegisterSetting] {
        [
            RegisterSetting(rateRegister, clear: 0xE0), RegisterSetting(power, clear: 0xC0),
            RegisterSetting(format, clear: 0x10), RegisterSetting(fifoStatus, clear: 0x40),
        ]
    }
    package var name: StaticString { Self.isADXL375 ? "ADXL375" : "ADXL345" }
    package var unsourced: StaticString? {
        Self.isADXL375 ? "delay of the low-pass, scale and offset at 3.3 V" : "delay of the low-pass"
    }

    // MARK: Settings

    /// The bandwidth is half of the rate (table 1, note 3). Unsourced: the delay, assumed to be that of a second-order
    /// Butterworth low-pass.
    package let figures: ChipFigures
    /// The codes of BW_RATE and DATA_FORMAT.
    private let rateCode: UInt8
    private let rangeBits: UInt8
    private let signalsDataReady: Bool

    package init?(identity: UInt8, settings: IMUSettings) {
        guard identity == Self.identity else { return nil }
        signalsDataReady = settings.signalsDataReady
        // Code 8 is 25 Hz, and each step doubles the rate (table 7). At lower rates the noise is too small beside a
        // count of 3.9 mg to distinguish a working chip from a frozen one. 1600 and 3200 Hz need SPI: 800 Hz is the
        // most at 400 kHz.
        let (steps, rate) = doubled(25, upTo: settings.wantedRate, most: 5)
        rateCode = 8 + steps
        guard !Self.isADXL375 else {
            // Both range bits and FULL_RES must be set (Rev. B, DATA_FORMAT), and it has one range.
            rangeBits = 3
            figures = ChipFigures(
                rate: rate, bandwidth: 0.5 * rate, accelerometerRange: 200 * standardGravity, gyroscopeRange: 0,
                accelerometerScale: 0.049 * standardGravity)
            return
        }
        let (bits, range) = doubled(2, upTo: settings.wantedGravities, most: 3)
        rangeBits = bits
        figures = ChipFigures(
            rate: rate, bandwidth: 0.5 * rate, accelerometerRange: range * standardGravity, gyroscopeRange: 0,
            accelerometerScale: standardGravity / 256,
            accelerometerScales: standardGravity * Vector3(1 / 265, 1 / 265, 1 / 256),
            accelerometerOffset: standardGravity * Vector3(0.025, 0.025, -0.020))
    }

    /// DATA_READY and the pin stay set while the FIFO has an entry; the pin cannot be made to pulse (p. 20).
    package var dataReadyPulse: DataReadyPulse { .whenFilled }
    /// Two counts below the end: of a value of ten to thirteen bits, or of ±200 g.
    package var accelerometerLimit: Int16 {
        Int16((figures.accelerometerRange / figures.accelerometerScale).rounded(.down)) - 2
    }
    /// The noise of the three axes is about one count (table 1: 0.75 LSB at 100 Hz on x and y, 1.1 on z), and no
    /// less at lower rates (p. 33). At rest, this many repetitions occur about once in 10⁹ frames. The ADXL375's 5 mg/√Hz
    /// (Rev. B, table 1) are 0.9 counts at 100 Hz.
    package var longestRepetition: Int {
        switch rate {
        case 50...: 8
        case 25...: 16
        default: 32
        }
    }

    // MARK: Registers and scripts

    /// BW_RATE: LOW_POWER in bit 4, the rate in 3…0.
    private static var rateRegister: RegisterAddress { 0x2C }
    /// POWER_CTL: Measure in bit 3.
    private static var power: RegisterAddress { 0x2D }
    /// DATA_FORMAT: INT_INVERT in bit 5, FULL_RES in bit 3, the range in 1…0.
    private static var format: RegisterAddress { 0x31 }
    /// FIFO_CTL: the mode in bits 7…6. Bypass, 0, empties the FIFO.
    private static var fifoControl: RegisterAddress { 0x38 }
    /// FIFO_STATUS: entries in bits 5…0.
    private static var fifoStatus: RegisterAddress { 0x39 }

    package func addRegisters(to table: inout RegisterTable) {
        table.add(Self.rateRegister, RegisterValue(rateCode), in: .configuration)
        // INT_ENABLE: DATA_READY.
        table.add(0x2E, signalsDataReady ? 0x80 : 0, in: .configuration)
        table.addRange(Self.format, RegisterValue(0x08 | rangeBits), in: .configuration)
        table.add(Self.power, 0x08, in: .sensors)
        // Stream: the newest entries replace the oldest.
        table.add(Self.fifoControl, 0x80, in: .fifo)
        // INT_MAP: routes interrupts to INT2 instead of INT1.
        if signalsDataReady { table.add(0x2F, 0, in: .dataReady) }
    }

    /// In standby, registers may be set in any order. Measuring starts last.
    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        script.add(.write(Self.power, 0))
        script.add(.write(Self.fifoControl, 0))
        script.add(.enter(.configuring))
        script.add(.configure(.configuration))
        script.add(.configure(.sensors))
        // Turn-on time: one period plus 1.1 ms (table 1, note 7).
        script.add(.settle(1 / rate + 0.0011))
        script.add(.configure(.dataReady))
    }

    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.write(Self.fifoControl, 0))
        script.add(.apply(.fifo))
    }

    package func addSleep(to script: inout ChipScript) {
        script.add(.write(Self.power, 0))
    }

    // MARK: FIFO

    private static var entryLength: Int { 6 }

    /// The FIFO and the output registers hold 33 entries together; with 33, the next sample overwrites the oldest. A
    /// host that finds 32 is already too late to read them all. Reading DATAX0 … DATAZ1 removes an entry.
    package var fifo: ChipFIFO {
        ChipFIFO(
            size: 32 * Self.entryLength, frameLength: Self.entryLength,
            count: ChipRegisters(first: Self.fifoStatus, count: 1),
            data: 0x32, longestRead: Self.entryLength)
    }

    package func fill(_ registers: UnsafeRawBufferPointer) -> Int { Int(registers[0] & 0x3F) * Self.entryLength }

    /// Three values, low byte first, sign-extended from at most thirteen bits. Larger values are not valid.
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        let frame = ChipFrame(littleEndian: bytes, accelerometer: offset)
        func fits(_ value: Int16) -> Bool { value >= -4096 && value <= 4095 }
        return fits(frame.ax) && fits(frame.ay) && fits(frame.az) ? frame : nil
    }

    /// Zeros on every axis mean free fall, or output registers after a reset.
    package func mayFollowReset(_ frame: ChipFrame) -> Bool { frame.ax == 0 && frame.ay == 0 && frame.az == 0 }
}

/// The ADXL345, which is what a chip with this identity is taken for.
package enum ADXL345Usual: ChipKind {
    package static var family: IMUFamily { .adxl345 }
}

/// The ADXL375, which the user names.
package enum ADXL375Named: ChipKind {
    package static var family: IMUFamily { .adxl375 }
}

package typealias ADXL345Family = ADXL345Part<ADXL345Usual>
package typealias ADXL375Family = ADXL345Part<ADXL375Named>
