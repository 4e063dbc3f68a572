internal import MotionCore

/// Analog Devices' ADXL345 and ADXL375, accelerometers without a gyroscope, as registers and scripts.
///
/// They have neither a reset nor a thermometer. Reading the output registers removes one entry from the FIFO, so every
/// sample needs a separate transaction. Everything is from the ADXL345's datasheet, Rev. G, unless noted.
package struct ADXL345Part<Kind: ChipKind>: ChipPart {
    let configuration: ADXL345Configuration

    package init?(identity: UInt8, settings: IMUSettings) {
        guard identity == ADXL345Value.identity else { return nil }
        self.init(settings: settings)
    }

    package init(settings: IMUSettings) {
        configuration = ADXL345Configuration(settings, isADXL375: Self.isADXL375)
    }

    package static var family: IMUFamily { Kind.family }
    private static var isADXL375: Bool { family == .adxl375 }
    /// ALT ADDRESS low and high.
    package static var addresses: [UInt8] { [0x53, 0x1D] }
    package static var identityRegister: RegisterAddress { ADXL345Register.deviceID }
    /// The bits that are always 0 (table 19): a memory at the same address may hold the identity.
    package static var proof: [RegisterSetting] {
        [
            RegisterSetting(ADXL345Register.rate, clear: RegisterValue(0xE0)),
            RegisterSetting(ADXL345Register.powerControl, clear: RegisterValue(0xC0)),
            RegisterSetting(ADXL345Register.format, clear: RegisterValue(0x10)),
            RegisterSetting(ADXL345Register.fifoStatus, clear: RegisterValue(0x40)),
        ]
    }
    package static var largestFIFO: Int { ADXL345Value.entries * ADXL345Value.entryLength }
    package var name: StaticString { Self.isADXL375 ? "ADXL375" : "ADXL345" }
    package var unsourced: StaticString? {
        Self.isADXL375 ? "delay of the low-pass, scale and offset at 3.3 V" : "delay of the low-pass"
    }
    package var figures: ChipFigures { configuration.figures }
    /// DATA_READY and the pin stay set while the FIFO has an entry; the pin cannot be made to pulse (p. 20).
    package var dataReadyPulse: DataReadyPulse { .whenFilled }
    /// Two counts below the end: of a value of ten to thirteen bits, or of ±200 g.
    package var accelerometerLimit: Int16 {
        let end = configuration.range * standardGravity / configuration.figures.accelerometerScale
        return Int16(end.rounded(.down)) - 2
    }

    /// The FIFO and the output registers hold 33 entries together; with 33, the next sample overwrites the oldest. A
    /// host that finds 32 is already too late to read them all.
    package var fifo: ChipFIFO {
        var fifo = ChipFIFO(
            size: Self.largestFIFO, frameLength: ADXL345Value.entryLength,
            count: ChipRegisters(first: ADXL345Register.fifoStatus, count: 1), data: ADXL345Register.output)
        fifo.longestRead = ADXL345Value.entryLength
        fifo.reportsOverflow = true
        return fifo
    }

    package func fill(_ registers: UnsafeRawBufferPointer) -> Int {
        Int(registers[0] & ADXL345Value.entryBits) * ADXL345Value.entryLength
    }

    package func celsius(_ raw: Int16) -> Double { .nan }

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

    /// Zeros on every axis mean free fall, or output registers after a reset.
    package func mayFollowReset(_ frame: ChipFrame) -> Bool { frame.ax == 0 && frame.ay == 0 && frame.az == 0 }

    // MARK: Registers

    package func addRegisters(to table: inout RegisterTable) {
        table.add(ADXL345Register.rate, configuration.rateCode, in: .configuration)
        table.add(ADXL345Register.interruptEnable, configuration.interrupts, in: .configuration)
        table.addRange(
            ADXL345Register.format, ADXL345Value.fullResolution | configuration.rangeBits, in: .configuration)
        table.add(ADXL345Register.powerControl, ADXL345Value.measure, in: .sensors)
        table.add(ADXL345Register.fifoControl, ADXL345Value.stream, in: .fifo)
        if configuration.interrupts != .none { table.add(ADXL345Register.interruptMap, .none, in: .dataReady) }
    }

    // MARK: Scripts

    /// In standby, registers may be set in any order. Measuring starts last.
    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        script.add(.write(ADXL345Register.powerControl, .none))
        script.add(.write(ADXL345Register.fifoControl, ADXL345Value.bypass))
        script.add(.enter(.configuring))
        script.add(.configure(.configuration))
        script.add(.configure(.sensors))
        // Turn-on time: one period plus 1.1 ms (table 1, note 7).
        script.add(.settle(1 / rate + 0.0011))
        script.add(.configure(.dataReady))
    }

    /// Bypass empties the FIFO.
    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.write(ADXL345Register.fifoControl, ADXL345Value.bypass))
        script.add(.apply(.fifo))
    }

    package func addSleep(to script: inout ChipScript) {
        script.add(.write(ADXL345Register.powerControl, .none))
    }

    // MARK: Frames

    /// Three values, low byte first, sign-extended from at most thirteen bits. Larger values are not valid.
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        let frame = ChipFrame(littleEndian: bytes, accelerometer: offset)
        func fits(_ value: Int16) -> Bool { value >= -4096 && value <= 4095 }
        return fits(frame.ax) && fits(frame.ay) && fits(frame.az) ? frame : nil
    }
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

/// The register values of an ADXL345 or ADXL375 for the settings.
///
/// Each value is the chip's nearest that is not smaller than requested, up to the chip's limits.
///
/// The datasheet of the ADXL345 has its figures at 2.5 V, 256 counts per g (table 1). A Raspberry Pi supplies 3.3 V: then
/// x and y typically have 265 counts per g and read 25 mg more, and z reads 20 mg less ("Operation at voltages other than
/// 2.5 V", p. 34). The driver removes these differences. A chip is within about 1 % and 40 mg of that.
///
/// The ADXL375 has the same registers, and one range of ±200 g with 49 mg per count, 44 to 54 mg, at 2.5 V (its
/// datasheet, Rev. B, table 1, as public drivers quote it; Linux adxl345.h; Adafruit_CircuitPython_ADXL37x). Unsourced:
/// its figures at 3.3 V.
struct ADXL345Configuration: Equatable, Sendable, BitwiseCopyable {
    /// BW_RATE.
    let rateCode: RegisterValue
    /// The range's bits of DATA_FORMAT, and the range, g.
    let rangeBits: RegisterValue
    let range: Double

    /// The effective figures: the bandwidth is half of the rate (table 1, note 3). Unsourced: the delay, assumed to be
    /// that of a second-order Butterworth low-pass.
    let figures: ChipFigures

    /// INT_ENABLE.
    let interrupts: RegisterValue

    init(_ settings: IMUSettings, isADXL375: Bool) {
        interrupts = settings.signalsDataReady ? ADXL345Value.dataReady : .none
        // Code 8 is 25 Hz, and each step doubles the rate (table 7). At lower rates the noise is too small beside a
        // count of 3.9 mg to distinguish a working chip from a frozen one. 1600 and 3200 Hz need SPI: 800 Hz is the
        // most at 400 kHz.
        let (steps, rate) = doubled(25, upTo: settings.wantedRate, most: 5)
        rateCode = RegisterValue(8 + steps)
        let (bits, range) = doubled(2, upTo: settings.wantedGravities, most: 3)
        guard isADXL375 else {
            self.range = range
            rangeBits = RegisterValue(bits)
            figures = ChipFigures(
                rate: rate, bandwidth: 0.5 * rate, accelerometerRange: range * standardGravity, gyroscopeRange: 0,
                accelerometerScale: standardGravity / 256,
                accelerometerScales: standardGravity * Vector3(1 / 265, 1 / 265, 1 / 256),
                accelerometerOffset: standardGravity * Vector3(0.025, 0.025, -0.020))
            return
        }
        // Both range bits and FULL_RES must be set (Rev. B, DATA_FORMAT), and it has one range.
        self.range = 200
        rangeBits = RegisterValue(3)
        figures = ChipFigures(
            rate: rate, bandwidth: 0.5 * rate, accelerometerRange: 200 * standardGravity, gyroscopeRange: 0,
            accelerometerScale: 0.049 * standardGravity)
    }
}

/// The registers that the driver uses. Page and table numbers refer to the ADXL345 datasheet, Rev. G.
enum ADXL345Register {
    /// DEVID.
    static var deviceID: RegisterAddress { RegisterAddress(0x00) }
    /// BW_RATE: LOW_POWER in bit 4, the rate in 3…0.
    static var rate: RegisterAddress { RegisterAddress(0x2C) }
    /// POWER_CTL: Measure in bit 3.
    static var powerControl: RegisterAddress { RegisterAddress(0x2D) }
    /// INT_ENABLE.
    static var interruptEnable: RegisterAddress { RegisterAddress(0x2E) }
    /// INT_MAP: routes interrupts to INT2 instead of INT1.
    static var interruptMap: RegisterAddress { RegisterAddress(0x2F) }
    /// DATA_FORMAT: INT_INVERT in bit 5, FULL_RES in bit 3, the range in 1…0.
    static var format: RegisterAddress { RegisterAddress(0x31) }
    /// DATAX0 … DATAZ1. Reading all six bytes removes an entry from the FIFO.
    static var output: RegisterAddress { RegisterAddress(0x32) }
    /// FIFO_CTL: the mode in bits 7…6.
    static var fifoControl: RegisterAddress { RegisterAddress(0x38) }
    /// FIFO_STATUS: entries in bits 5…0.
    static var fifoStatus: RegisterAddress { RegisterAddress(0x39) }
}

/// The register values that do not depend on settings.
enum ADXL345Value {
    static var identity: UInt8 { 0xE5 }
    static var measure: RegisterValue { RegisterValue(0x08) }
    static var fullResolution: RegisterValue { RegisterValue(0x08) }
    /// INT_ENABLE: DATA_READY.
    static var dataReady: RegisterValue { RegisterValue(0x80) }
    static var bypass: RegisterValue { RegisterValue(0x00) }
    static var stream: RegisterValue { RegisterValue(0x80) }
    static var entryBits: UInt8 { 0x3F }
    /// The FIFO's entries, and the bytes per entry.
    static var entries: Int { 32 }
    static var entryLength: Int { 6 }
}
