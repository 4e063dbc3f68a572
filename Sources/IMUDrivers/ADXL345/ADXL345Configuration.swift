internal import MotionCore

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
        // Settings converted from other units may exceed a step by a rounding error.
        let rounding = 1 - 1e-6
        let wanted = settings.rate * rounding
        // Code 8 is 25 Hz, and each step doubles the rate (table 7). At lower rates the noise is too small beside a
        // count of 3.9 mg to distinguish a working chip from a frozen one. 1600 and 3200 Hz need SPI: 800 Hz is the
        // most at 400 kHz.
        var code: UInt8 = 8
        var rate = 25.0
        while rate < wanted && code < 13 {
            rate *= 2
            code += 1
        }
        rateCode = RegisterValue(code)
        let force = settings.accelerometerRange / standardGravity * rounding
        var bits: UInt8 = 0
        var range = 2.0
        while range < force && bits < 3 {
            range *= 2
            bits += 1
        }
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
