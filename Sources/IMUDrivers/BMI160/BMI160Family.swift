internal import MotionCore

/// Bosch's BMI160, as registers and scripts.
///
/// Its FIFO is read without headers: twelve bytes per frame, the gyroscope first. A full FIFO drops whole frames, so a
/// length that is not a multiple of a frame means that bytes were lost. Registers, codes, ranges, rates, pin and FIFO
/// content were checked against Linux bmi160_core.c and Bosch's BMI160_SensorAPI 3.8.1, and the reset values against a
/// copy of the register map of BST-BMI160-DS000-09. Sections are those of that datasheet.
package struct BMI160Family: ChipPart {
    let configuration: BMI160Configuration

    package init?(identity: UInt8, settings: IMUSettings) {
        guard identity == BMI160Value.identity else { return nil }
        self.init(settings: settings)
    }

    package init(settings: IMUSettings) {
        configuration = BMI160Configuration(settings)
    }

    package static var family: IMUFamily { .bmi160 }
    /// SDO low and high (section 3.2).
    package static var addresses: [UInt8] { [0x68, 0x69] }
    package static var identityRegister: RegisterAddress { BMI160Register.chipID }
    package static var largestFIFO: Int { 1024 }
    package var name: StaticString { "BMI160" }
    package var unsourced: StaticString? { "delays of the low-passes" }
    package var figures: ChipFigures { configuration.figures }

    package var fifo: ChipFIFO {
        var fifo = ChipFIFO(
            size: 1024, frameLength: 12, count: ChipRegisters(first: BMI160Register.fifoLength, count: 2),
            data: BMI160Register.fifoData)
        fifo.temperature = ChipRegisters(first: BMI160Register.temperature, count: 2)
        return fifo
    }

    package func fill(_ registers: UnsafeRawBufferPointer) -> Int { Int(registers[1] & 0x07) << 8 | Int(registers[0]) }

    /// 23 °C at zero counts, 1/512 K per count (Zephyr drivers/sensor/bosch/bmi160: BMI160_TEMP_OFFSET, "the scale is
    /// 1/2^9/LSB").
    package func celsius(_ raw: Int16) -> Double {
        raw == BMI160Value.invalid ? .nan : 23 + Double(raw) / 512
    }

    // MARK: Registers

    /// The interrupt is enabled last, after its pin has been configured.
    package func addRegisters(to table: inout RegisterTable) {
        table.add(noFatalError, in: .observed)
        table.add(bothNormal, in: .observed)
        let rate = BMI160Value.normalBandwidth | configuration.rateCode
        table.add(BMI160Register.accelerometerConfiguration, rate, in: .configuration)
        table.addRange(BMI160Register.accelerometerRange, configuration.accelerometerRangeBits, in: .configuration)
        table.add(BMI160Register.gyroscopeConfiguration, rate, in: .configuration)
        table.addRange(BMI160Register.gyroscopeRange, configuration.gyroscopeRangeBits, in: .configuration)
        table.add(BMI160Register.fifoDownsampling, BMI160Value.filteredData, in: .configuration)
        table.add(BMI160Register.fifoWatermark, BMI160Value.watermark, in: .configuration)
        table.add(BMI160Register.fifoConfiguration, BMI160Value.motionWithoutHeaders, in: .fifo)
        guard configuration.signalsDataReady else { return }
        table.add(BMI160Register.interruptOutput, BMI160Value.pushPullActiveHigh, in: .dataReady)
        table.add(BMI160Register.interruptLatch, .none, in: .dataReady)
        table.add(BMI160Register.interruptMap, BMI160Value.dataReadyOnPin1, in: .dataReady)
        table.add(BMI160Register.interruptEnable, BMI160Value.dataReady, in: .dataReady)
        table.add(BMI160Register.noMotionInterruptEnable, .none, in: .observed)
    }

    private var noFatalError: RegisterSetting {
        RegisterSetting(BMI160Register.error, clear: BMI160Value.fatalError)
    }

    private var bothNormal: RegisterSetting {
        RegisterSetting(BMI160Register.powerStatus, set: BMI160Value.bothNormal, clear: BMI160Value.powerBits)
    }

    // MARK: Scripts

    /// The sensors wake first: while they are suspended, each write must be followed by 450 µs without access (section
    /// 3.2.1).
    package func addBringUp(to script: inout ChipScript) {
        script.add(.enter(.resetting))
        script.add(.write(BMI160Register.command, BMI160Value.softReset))
        script.add(.wait(BMI160Timing.reset))
        script.add(.enter(.waking))
        script.add(.write(BMI160Register.command, BMI160Value.accelerometerNormal))
        script.add(.wait(BMI160Timing.accelerometerStart))
        script.add(.write(BMI160Register.command, BMI160Value.gyroscopeNormal))
        script.add(
            .waitFor(bothNormal, every: BMI160Timing.gyroscopePoll, within: BMI160Timing.gyroscopeDeadline))
        script.add(.enter(.configuring))
        script.add(.configure(.configuration))
        // Rates and filters have changed while the sensors ran.
        script.add(.settle(BMI160Timing.settlingDelays * configuration.figures.delay))
        script.add(.check(noFatalError))
        script.add(.configure(.dataReady))
    }

    package func addFIFOStart(to script: inout ChipScript) {
        script.add(.apply(.fifo))
        script.add(.write(BMI160Register.command, BMI160Value.fifoFlush))
    }

    package func addSleep(to script: inout ChipScript) {
        script.add(.write(BMI160Register.command, BMI160Value.gyroscopeSuspend))
        script.add(.write(BMI160Register.command, BMI160Value.accelerometerSuspend))
    }

    // MARK: Frames

    /// Gyroscope and accelerometer, low byte first (section 2.5.2).
    ///
    /// A missing value reads as -32768. All bits set on every axis means that no device drives the bus.
    package func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame? {
        let frame = ChipFrame(littleEndian: bytes, accelerometer: offset + 6, gyroscope: offset)
        guard frame.gx != BMI160Value.invalid, frame.ax != BMI160Value.invalid else { return nil }
        let ones = frame.gx & frame.gy & frame.gz & frame.ax & frame.ay & frame.az
        return ones == -1 ? nil : frame
    }
}

/// The BMI160's register values for the settings, and the resulting figures.
///
/// Each value is the chip's nearest that is not smaller than requested, up to the chip's limits.
struct BMI160Configuration: Equatable, Sendable, BitwiseCopyable {
    /// acc_odr and gyr_odr. Both sensors need the same rate, because frames without headers contain both.
    let rateCode: RegisterValue
    /// The effective figures. The accelerometer's bandwidth is 5 % less to 31 % more than the gyroscope's. Unsourced: the
    /// delay, assumed to be that of a second-order Butterworth low-pass with the gyroscope's bandwidth.
    let figures: ChipFigures

    /// Whether INT1 pulses with every sample.
    let signalsDataReady: Bool

    let accelerometerRangeBits: RegisterValue
    let gyroscopeRangeBits: RegisterValue

    init(_ settings: IMUSettings) {
        let row = Self.rate(for: settings.wantedRate)
        rateCode = RegisterValue(row.code)
        signalsDataReady = settings.signalsDataReady
        let accelerometer = Self.accelerometer(for: settings.wantedGravities)
        accelerometerRangeBits = RegisterValue(accelerometer.bits)
        let gyroscope = Self.gyroscope(for: settings.wantedDegrees)
        gyroscopeRangeBits = RegisterValue(gyroscope.bits)
        figures = ChipFigures(
            rate: row.rate, bandwidth: row.bandwidth, accelerometerRange: accelerometer.full * standardGravity,
            gyroscopeRange: gyroscope.full * radiansPerDegree,
            gyroscopeScale: radiansPerDegree / gyroscope.countsPerDegree)
    }

    /// The lowest rate that both sensors support and that is not below `wanted` Hz.
    ///
    /// A rate is 100 Hz · 2^(code - 8). The gyroscope has none below 25 Hz, the accelerometer none above 1600 Hz (Linux
    /// `bmi160_accel_odr`, `bmi160_gyro_odr`). Bandwidths: section 2.4 of the datasheet, as Intel's driver has them
    /// (hanyazou/BMI160-Arduino, BMI160.cpp, getGyroDLPFMode and getAccelDLPFMode).
    private static func rate(for wanted: Double) -> (code: UInt8, rate: Double, bandwidth: Double) {
        if !(wanted > 25) { return (6, 25, 10.7) }
        if wanted <= 50 { return (7, 50, 20.8) }
        if wanted <= 100 { return (8, 100, 39.9) }
        if wanted <= 200 { return (9, 200, 74.6) }
        if wanted <= 400 { return (10, 400, 136.6) }
        if wanted <= 800 { return (11, 800, 254.6) }
        return (12, 1600, 523.9)
    }

    /// The smallest range of ±2, 4, 8, 16 g not less than `wanted` g (Linux `bmi160_accel_scale`: 598 µm/s² per
    /// count, which is 16384 counts per g).
    private static func accelerometer(for wanted: Double) -> (bits: UInt8, full: Double) {
        if wanted <= 2 { return (0x3, 2) }
        if wanted <= 4 { return (0x5, 4) }
        if wanted <= 8 { return (0x8, 8) }
        return (0xC, 16)
    }

    /// The smallest range of ±125 … 2000 °/s not less than `wanted` °/s (Linux `bmi160_gyro_scale`: 1065 µrad/s per
    /// count, which is 16.4 counts per °/s).
    private static func gyroscope(for wanted: Double) -> (bits: UInt8, full: Double, countsPerDegree: Double) {
        if wanted <= 125 { return (4, 125, 262.4) }
        if wanted <= 250 { return (3, 250, 131.2) }
        if wanted <= 500 { return (2, 500, 65.6) }
        if wanted <= 1000 { return (1, 1000, 32.8) }
        return (0, 2000, 16.4)
    }
}

/// The registers that the driver uses, named as in Bosch's BMI160 sensor API.
enum BMI160Register {
    /// CHIP_ID: 0xD1.
    static var chipID: RegisterAddress { RegisterAddress(0x00) }
    /// ERR_REG: fatal_err in bit 0.
    static var error: RegisterAddress { RegisterAddress(0x02) }
    /// PMU_STATUS: the accelerometer's power mode in bits 5…4, the gyroscope's in 3…2; 1 is normal.
    static var powerStatus: RegisterAddress { RegisterAddress(0x03) }
    /// TEMPERATURE_0, _1: low byte first.
    static var temperature: RegisterAddress { RegisterAddress(0x20) }
    /// FIFO_LENGTH_0, _1: bytes in the FIFO, low byte first, eleven bits.
    static var fifoLength: RegisterAddress { RegisterAddress(0x22) }
    /// FIFO_DATA: removes bytes from the FIFO; the address does not advance to the next register.
    static var fifoData: RegisterAddress { RegisterAddress(0x24) }
    /// ACC_CONF: acc_bwp in bits 6…4, acc_odr in 3…0.
    static var accelerometerConfiguration: RegisterAddress { RegisterAddress(0x40) }
    /// ACC_RANGE in bits 3…0.
    static var accelerometerRange: RegisterAddress { RegisterAddress(0x41) }
    /// GYR_CONF: gyr_bwp in bits 5…4, gyr_odr in 3…0.
    static var gyroscopeConfiguration: RegisterAddress { RegisterAddress(0x42) }
    /// GYR_RANGE in bits 2…0.
    static var gyroscopeRange: RegisterAddress { RegisterAddress(0x43) }
    /// FIFO_DOWNS: filtered data without downsampling, for both sensors.
    static var fifoDownsampling: RegisterAddress { RegisterAddress(0x45) }
    /// FIFO_CONFIG_0: the watermark. FIFO_CONFIG_1: the FIFO's content, and whether frames have headers.
    static var fifoWatermark: RegisterAddress { RegisterAddress(0x46) }
    static var fifoConfiguration: RegisterAddress { RegisterAddress(0x47) }
    /// INT_EN_1: int_drdy_en in bit 4. INT_EN_2: the no-motion interrupts.
    static var interruptEnable: RegisterAddress { RegisterAddress(0x51) }
    static var noMotionInterruptEnable: RegisterAddress { RegisterAddress(0x52) }
    /// INT_OUT_CTRL for INT1: output enable in bit 3, open drain in 2, active high in 1.
    static var interruptOutput: RegisterAddress { RegisterAddress(0x53) }
    /// INT_LATCH: zero means not latched.
    static var interruptLatch: RegisterAddress { RegisterAddress(0x54) }
    /// INT_MAP_1: int1_drdy in bit 7.
    static var interruptMap: RegisterAddress { RegisterAddress(0x56) }
    /// CMD.
    static var command: RegisterAddress { RegisterAddress(0x7E) }
}

/// The register values that do not depend on settings.
enum BMI160Value {
    static var identity: UInt8 { 0xD1 }
    /// CMD: softreset, acc_set_pmu_mode normal and suspend, gyr_set_pmu_mode likewise, fifo_flush.
    static var softReset: RegisterValue { RegisterValue(0xB6) }
    static var accelerometerNormal: RegisterValue { RegisterValue(0x11) }
    static var accelerometerSuspend: RegisterValue { RegisterValue(0x10) }
    static var gyroscopeNormal: RegisterValue { RegisterValue(0x15) }
    static var gyroscopeSuspend: RegisterValue { RegisterValue(0x14) }
    static var fifoFlush: RegisterValue { RegisterValue(0xB0) }
    /// PMU_STATUS with both sensors in normal mode, and the mask of its power bits.
    static var bothNormal: RegisterValue { RegisterValue(0x14) }
    static var powerBits: RegisterValue { RegisterValue(0x3C) }
    /// ERR_REG: fatal_err.
    static var fatalError: RegisterValue { RegisterValue(0x01) }
    /// ACC_CONF, GYR_CONF: the filter in normal mode, without oversampling by two or four.
    static var normalBandwidth: RegisterValue { RegisterValue(0x20) }
    /// FIFO_DOWNS: filtered data, every sample; the reset value.
    static var filteredData: RegisterValue { RegisterValue(0x88) }
    /// FIFO_CONFIG_0: the reset value; the watermark is not used.
    static var watermark: RegisterValue { RegisterValue(0x80) }
    /// FIFO_CONFIG_1: fifo_gyr_en and fifo_acc_en without fifo_header_en.
    static var motionWithoutHeaders: RegisterValue { RegisterValue(0xC0) }
    /// INT_EN_1: int_drdy_en; INT_OUT_CTRL: INT1 drives its pin, push-pull and active high; INT_MAP_1: int1_drdy.
    static var dataReady: RegisterValue { RegisterValue(0x10) }
    static var pushPullActiveHigh: RegisterValue { RegisterValue(0x0A) }
    static var dataReadyOnPin1: RegisterValue { RegisterValue(0x80) }
    /// The value of missing data: from an empty FIFO, a sleeping sensor or the thermometer.
    static var invalid: Int16 { .min }
}

/// Timing of the chip, seconds.
enum BMI160Timing {
    /// From a reset to the first access: 1 ms in Linux (`BMI160_SOFTRESET_USLEEP`), 15 ms in Bosch's API
    /// (`BMI160_SOFT_RESET_DELAY_MS`).
    static var reset: Double { 0.015 }
    /// The accelerometer's start: 3.8 ms at most (Linux `BMI160_ACCEL_PMU_MIN_USLEEP`).
    static var accelerometerStart: Double { 0.005 }
    /// The gyroscope's start: 55 ms typical, 80 ms at most (Linux `BMI160_GYRO_PMU_MIN_USLEEP`). Interval between checks,
    /// and the deadline.
    static var gyroscopePoll: Double { 0.01 }
    static var gyroscopeDeadline: Double { 0.15 }
    /// Group delays of the low-pass until it has settled to 1 %: 4.6 for a second-order Butterworth filter.
    static var settlingDelays: Double { 5 }
}
