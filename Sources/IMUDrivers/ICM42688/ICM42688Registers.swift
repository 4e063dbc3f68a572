/// The registers that the driver uses, all of bank 0, named as in Linux' inv_icm42600.h.
enum ICM42688Register {
    /// DEVICE_CONFIG: SOFT_RESET_CONFIG in bit 0.
    static var device: RegisterAddress { RegisterAddress(0x11) }
    /// INT_CONFIG for INT1: latched in bit 2, push-pull in 1, active high in 0.
    static var interruptPin: RegisterAddress { RegisterAddress(0x14) }
    /// FIFO_CONFIG: the mode in bits 7…6.
    static var fifoMode: RegisterAddress { RegisterAddress(0x16) }
    /// INT_STATUS: RESET_DONE_INT in bit 4; reading clears it.
    static var interruptStatus: RegisterAddress { RegisterAddress(0x2D) }
    /// FIFO_COUNTH, FIFO_COUNTL.
    static var fifoCount: RegisterAddress { RegisterAddress(0x2E) }
    /// FIFO_DATA: removes bytes from the FIFO; the address does not advance to the next register.
    static var fifoData: RegisterAddress { RegisterAddress(0x30) }
    /// SIGNAL_PATH_RESET: FIFO_FLUSH in bit 1.
    static var signalPathReset: RegisterAddress { RegisterAddress(0x4B) }
    /// INTF_CONFIG0: the format of count and data.
    static var interface: RegisterAddress { RegisterAddress(0x4C) }
    /// INTF_CONFIG1: the clock. It keeps its reset value, whatever that is.
    static var interface1: RegisterAddress { RegisterAddress(0x4D) }
    /// PWR_MGMT0: GYRO_MODE in bits 3…2, ACCEL_MODE in 1…0.
    static var power: RegisterAddress { RegisterAddress(0x4E) }
    /// GYRO_CONFIG0, ACCEL_CONFIG0: the range in bits 7…5, the rate in 3…0.
    static var gyroscope: RegisterAddress { RegisterAddress(0x4F) }
    static var accelerometer: RegisterAddress { RegisterAddress(0x50) }
    /// GYRO_CONFIG1: GYRO_UI_FILT_ORD in bits 3…2; ACCEL_CONFIG1: ACCEL_UI_FILT_ORD in bits 4…3; 0 is the first order.
    static var gyroscopeFilter: RegisterAddress { RegisterAddress(0x51) }
    static var accelerometerFilter: RegisterAddress { RegisterAddress(0x53) }
    /// GYRO_ACCEL_CONFIG0: the low-pass of the accelerometer in bits 7…4, of the gyroscope in 3…0.
    static var lowPass: RegisterAddress { RegisterAddress(0x52) }
    /// FIFO_CONFIG1: selects the FIFO's content.
    static var fifoContent: RegisterAddress { RegisterAddress(0x5F) }
    /// INT_CONFIG1: INT_TPULSE_DURATION in bit 6, INT_ASYNC_RESET in bit 4.
    static var interruptPulse: RegisterAddress { RegisterAddress(0x64) }
    /// INT_SOURCE0: UI_DRDY_INT1_EN in bit 3.
    static var interruptSource: RegisterAddress { RegisterAddress(0x65) }
    /// WHO_AM_I.
    static var whoAmI: RegisterAddress { RegisterAddress(0x75) }
    /// REG_BANK_SEL: present in every bank.
    static var bank: RegisterAddress { RegisterAddress(0x76) }
}

/// The register values that do not depend on settings.
enum ICM42688Value {
    static var identity: UInt8 { 0x47 }
    static var softReset: RegisterValue { RegisterValue(0x01) }
    static var resetDone: RegisterValue { RegisterValue(0x10) }
    /// INTF_CONFIG0: count in bytes, count and data with the high byte first; the reset value.
    static var bigEndianBytes: RegisterValue { RegisterValue(0x30) }
    /// INTF_CONFIG1: the clock. It keeps its reset value, whatever that is.
    static var interface1: RegisterAddress { RegisterAddress(0x4D) }
    /// PWR_MGMT0: both sensors in low-noise mode, the thermometer on.
    static var lowNoise: RegisterValue { RegisterValue(0x0F) }
    /// GYRO_CONFIG1 and ACCEL_CONFIG1: second-order low-passes, preceded by third-order ones; the reset values.
    static var gyroscopeSecondOrder: RegisterValue { RegisterValue(0x16) }
    static var accelerometerSecondOrder: RegisterValue { RegisterValue(0x0D) }
    /// FIFO_CONFIG: bypass, stream-to-FIFO.
    static var bypass: RegisterValue { RegisterValue(0x00) }
    static var stream: RegisterValue { RegisterValue(0x40) }
    static var flush: RegisterValue { RegisterValue(0x02) }
    /// FIFO_CONFIG1: temperature, gyroscope, accelerometer: packets of structure 3.
    static var packet3: RegisterValue { RegisterValue(0x07) }
    /// The header of such a packet: not a message, not 20-bit data, both sensors present (Linux inv_icm42600_buffer.c).
    /// The low bits, timestamp and rate change, are ignored.
    static var header: UInt8 { 0x60 }
    static var headerBits: UInt8 { 0xF0 }
    /// INT_CONFIG: INT1 pulses, push-pull and active high.
    static var pushPullActiveHigh: RegisterValue { RegisterValue(0x03) }
    /// INT_CONFIG1: pulses of 100 µs. INT_ASYNC_RESET is 1 after a reset and must be 0 "for proper INT1 and INT2 pin
    /// operation" (Linux inv_icm42600 and Betaflight clear it too).
    static var shortPulse: RegisterValue { RegisterValue(0x00) }
    /// INT_SOURCE0: routes data-ready to INT1, and no longer the end of a reset.
    static var dataReadyOnPin1: RegisterValue { RegisterValue(0x08) }
    /// The value of a sensor that has no data yet (Linux `INV_ICM42600_DATA_INVALID`).
    static var invalid: Int16 { .min }
}

/// Timing of the chip, seconds.
enum ICM42688Timing {
    /// A reset takes 1 ms (DEVICE_CONFIG). Interval between checks, and the deadline.
    static var resetPoll: Double { 0.002 }
    static var resetDeadline: Double { 0.1 }
    /// No register may be written for 200 µs after a sensor is switched on (PWR_MGMT0).
    static var power: Double { 0.001 }
    /// The gyroscope's start-up (Linux inv_icm42600.h: 60 ms; the accelerometer's is 20 ms).
    static var gyroscopeStartUp: Double { 0.06 }
}
