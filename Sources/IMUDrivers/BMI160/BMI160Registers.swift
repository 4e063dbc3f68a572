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
