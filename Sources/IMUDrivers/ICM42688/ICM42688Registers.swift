/// The registers that the driver uses, of bank 0 unless noted, named as in DS-000347 r1.8 ("DS").
enum ICM42688Register {
    /// DEVICE_CONFIG: SOFT_RESET_CONFIG in bit 0.
    static var device: RegisterAddress { RegisterAddress(0x11) }
    /// DRIVE_CONFIG: I2C_SLEW_RATE in bits 5…3, SPI_SLEW_RATE, which all other pins follow, in 2…0.
    static var drive: RegisterAddress { RegisterAddress(0x13) }
    /// INT_CONFIG for INT1: latched in bit 2, push-pull in 1, active high in 0.
    static var interruptPin: RegisterAddress { RegisterAddress(0x14) }
    /// FIFO_CONFIG: the mode in bits 7…6.
    static var fifoMode: RegisterAddress { RegisterAddress(0x16) }
    /// INT_STATUS: RESET_DONE_INT in bit 4, FIFO_FULL_INT in bit 1; reading clears it. FIFO_COUNTH and FIFO_COUNTL follow.
    static var interruptStatus: RegisterAddress { RegisterAddress(0x2D) }
    /// FIFO_DATA: removes bytes from the FIFO; the address does not advance to the next register.
    static var fifoData: RegisterAddress { RegisterAddress(0x30) }
    /// SIGNAL_PATH_RESET: FIFO_FLUSH in bit 1.
    static var signalPathReset: RegisterAddress { RegisterAddress(0x4B) }
    /// INTF_CONFIG0: the format of count and data, UI_SIFS_CFG in bits 1…0.
    static var interface: RegisterAddress { RegisterAddress(0x4C) }
    /// INTF_CONFIG1: the clock in bits 3…0. DS calls bits 7…4 reserved; 7…6 are the adaptive full scale (AFSR).
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
    /// FIFO_CONFIG1: FIFO_RESUME_PARTIAL_RD in bit 6, the content in 3…0.
    static var fifoContent: RegisterAddress { RegisterAddress(0x5F) }
    /// INT_CONFIG1: INT_TPULSE_DURATION in bit 6, INT_ASYNC_RESET in bit 4.
    static var interruptPulse: RegisterAddress { RegisterAddress(0x64) }
    /// INT_SOURCE0: UI_DRDY_INT1_EN in bit 3.
    static var interruptSource: RegisterAddress { RegisterAddress(0x65) }
    /// INTF_CONFIG6 of bank 1: I3C_EN in bit 4, I3C_DDR_EN in 1, I3C_SDR_EN in 0.
    static var interface6: RegisterAddress { RegisterAddress(0x7C, bank: 1) }
    /// GYRO_CONFIG_STATIC3 to 5 of bank 1, ACCEL_CONFIG_STATIC2 to 4 of bank 2: the anti-alias filters, as DELT, the low byte
    /// of DELTSQR, and BITSHIFT with the high bits of DELTSQR. The accelerometer's DELT is in bits 6…1 (Betaflight
    /// accgyro_spi_icm426xx.c).
    static var gyroscopeAntiAlias: RegisterAddress { RegisterAddress(0x0C, bank: 1) }
    static var gyroscopeAntiAliasSquare: RegisterAddress { RegisterAddress(0x0D, bank: 1) }
    static var gyroscopeAntiAliasShift: RegisterAddress { RegisterAddress(0x0E, bank: 1) }
    static var accelerometerAntiAlias: RegisterAddress { RegisterAddress(0x03, bank: 2) }
    static var accelerometerAntiAliasSquare: RegisterAddress { RegisterAddress(0x04, bank: 2) }
    static var accelerometerAntiAliasShift: RegisterAddress { RegisterAddress(0x05, bank: 2) }
    /// WHO_AM_I.
    static var whoAmI: RegisterAddress { RegisterAddress(0x75) }
    /// REG_BANK_SEL: present in every bank.
    static var bank: RegisterAddress { RegisterAddress(0x76) }
}

/// The register values that do not depend on settings.
enum ICM42688Value {
    static var softReset: RegisterValue { RegisterValue(0x01) }
    static var resetDone: RegisterValue { RegisterValue(0x10) }
    /// INT_STATUS: FIFO_FULL_INT.
    static var fifoFull: UInt8 { 0x02 }
    /// DELT 63, DELTSQR 3968 (0xF80), BITSHIFT 3: 995 Hz in an ICM-42605, its widest anti-alias filter (Betaflight and INAV
    /// `aafLUT42605`, which cite table 5.3 of DS-000292 v1.7).
    static var gyroscopeAntiAlias: RegisterValue { RegisterValue(63) }
    static var accelerometerAntiAlias: RegisterValue { RegisterValue(63 << 1) }
    static var antiAliasSquare: RegisterValue { RegisterValue(0x80) }
    static var antiAliasShift: RegisterValue { RegisterValue(0x3F) }
    /// INTF_CONFIG6 for I2C: I3C_EN without I3C_SDR_EN and I3C_DDR_EN (DS 12.3), and without in-band interrupts, as in
    /// Linux inv_icm42600_i2c.c. Bit 6 is reserved and keeps its reset value. I3C_BUS_MODE in INTF_CONFIG4 is 0 already.
    static var plainBus: RegisterValue { RegisterValue(0x50) }
    /// DRIVE_CONFIG: edges of 12 to 36 ns for I2C and for all other pins (DS 12.3).
    static var slewRates: RegisterValue { RegisterValue(0x09) }
    /// INTF_CONFIG0: count in bytes, count and data with the high byte first, as after a reset; SPI off.
    static var bigEndianBytes: RegisterValue { RegisterValue(0x32) }
    /// INTF_CONFIG1: the adaptive full scale is off. While it is on, the gyroscope's output stands still for about 2 ms
    /// whenever the rotation rate passes about 100 °/s, which acts as a bias (ArduPilot Invensensev3; Betaflight
    /// `INTF_CONFIG1_AFSR_DISABLE`). The other bits keep their reset values.
    static var fixedScale: RegisterSetting {
        RegisterSetting(ICM42688Register.interface1, set: RegisterValue(0x51), clear: RegisterValue(0x80))
    }
    /// PWR_MGMT0: both sensors in low-noise mode, the thermometer on.
    static var lowNoise: RegisterValue { RegisterValue(0x0F) }
    /// GYRO_CONFIG1 and ACCEL_CONFIG1: second-order low-passes, preceded by third-order ones; the reset values.
    static var gyroscopeSecondOrder: RegisterValue { RegisterValue(0x16) }
    static var accelerometerSecondOrder: RegisterValue { RegisterValue(0x0D) }
    /// FIFO_CONFIG: stream-to-FIFO.
    static var stream: RegisterValue { RegisterValue(0x40) }
    static var flush: RegisterValue { RegisterValue(0x02) }
    /// FIFO_CONFIG1: temperature, gyroscope, accelerometer, which are packets of structure 3; and FIFO_RESUME_PARTIAL_RD:
    /// without it, a read that leaves something in the FIFO would have to be repeated from its beginning.
    static var packet3: RegisterValue { RegisterValue(0x47) }
    /// The header of such a packet: not a message, not 20-bit data, both sensors present (DS 6.2). The low bits, timestamp
    /// and rate change, are ignored.
    static var header: UInt8 { 0x60 }
    static var headerBits: UInt8 { 0xF0 }
    /// INT_CONFIG: INT1 pulses, push-pull and active high.
    static var pushPullActiveHigh: RegisterValue { RegisterValue(0x03) }
    /// INT_CONFIG1: pulses of 100 µs. INT_ASYNC_RESET is 1 after a reset and must be 0 "for proper INT1 and INT2 pin
    /// operation" (DS 12.6).
    static var shortPulse: RegisterValue { RegisterValue(0x00) }
    /// INT_SOURCE0: routes data-ready to INT1, and no longer the end of a reset.
    static var dataReadyOnPin1: RegisterValue { RegisterValue(0x08) }
    /// The value of a sensor that has no data yet (DS 12.8).
    static var invalid: Int16 { .min }
}

/// Timing of the chip, seconds.
enum ICM42688Timing {
    /// A reset takes 1 ms (DS 14.1). Interval between checks, and the deadline.
    static var resetPoll: Double { 0.002 }
    static var resetDeadline: Double { 0.1 }
    /// No register may be written for 200 µs after a sensor is switched on (DS 14.36).
    static var power: Double { 0.001 }
    /// The gyroscope's start-up: 30 ms until its drive is ready (DS 3.1, typical); Linux inv_icm42600.h waits 60 ms. The
    /// accelerometer needs 10 ms (DS 3.2).
    static var gyroscopeStartUp: Double { 0.06 }
    /// Group delays of the low-pass until it has settled to 1 %: 4.6 for a second-order Butterworth filter.
    static var settlingDelays: Double { 5 }
}
