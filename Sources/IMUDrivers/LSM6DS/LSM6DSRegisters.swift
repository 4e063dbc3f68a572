/// The registers that the driver uses, named as in the datasheets.
///
/// Sources: STMicroelectronics' lsm6ds3_reg.h, lsm6ds3tr-c_reg.h, lsm6dso_reg.h and ism330dhcx_reg.h ("reg.h"), and the tables
/// in Linux drivers/iio/imu/st_lsm6dsx ("Linux"). The untagged FIFO was also checked against AN5130 Rev 1 (LSM6DS3TR-C), the
/// tagged one and CTRL1 to CTRL9 against the LSM6DSO32's datasheet, DocID032891 Rev 1, p. 65 to 84. The names of registers
/// that differ between the two kinds of FIFO begin with `tagged` or `untagged`.
enum LSM6DSRegister {
    /// FIFO_CTRL1, 2 and 4 of the untagged FIFO: threshold, timer, data sets 3 and 4 (lsm6ds3_reg.h).
    static var untaggedControl1: RegisterAddress { RegisterAddress(0x06) }
    static var untaggedControl2: RegisterAddress { RegisterAddress(0x07) }
    static var untaggedControl4: RegisterAddress { RegisterAddress(0x09) }
    /// FIFO_CTRL3: decimation, accelerometer in bits 2…0 and gyroscope in bits 5…3 (lsm6ds3_reg.h, Linux `decimator`).
    static var untaggedControl3: RegisterAddress { RegisterAddress(0x08) }
    /// FIFO_CTRL5: the FIFO's rate in bits 6…3, its mode in bits 2…0 (lsm6ds3_reg.h, Linux).
    static var untaggedControl5: RegisterAddress { RegisterAddress(0x0A) }
    /// FIFO_CTRL1 and 2 of the tagged FIFO: threshold, compression (lsm6dso_reg.h).
    static var taggedControl1: RegisterAddress { RegisterAddress(0x07) }
    static var taggedControl2: RegisterAddress { RegisterAddress(0x08) }
    /// FIFO_CTRL3: batch rates, accelerometer in bits 3…0 and gyroscope in bits 7…4 (lsm6dso_reg.h, Linux `batch`).
    static var taggedControl3: RegisterAddress { RegisterAddress(0x09) }
    /// FIFO_CTRL4: mode in bits 2…0, temperature and timestamps above (lsm6dso_reg.h).
    static var taggedControl4: RegisterAddress { RegisterAddress(0x0A) }
    /// DRDY_PULSE_CFG_G of the LSM6DS3TR-C, COUNTER_BDR_REG1 of the tagged kind. In both, bit 7 makes data-ready a
    /// pulse (lsm6ds3tr-c_reg.h `drdy_pulsed`, lsm6dso_reg.h `dataready_pulsed`). The LSM6DS3 has ORIENT_CFG_G there
    /// and cannot pulse.
    static var dataReadyPulse: RegisterAddress { RegisterAddress(0x0B) }
    /// INT1_CTRL: INT1_DRDY_G in bit 1 (reg.h).
    static var interrupt1: RegisterAddress { RegisterAddress(0x0D) }
    /// WHO_AM_I (reg.h, Linux `wai`).
    static var whoAmI: RegisterAddress { RegisterAddress(0x0F) }
    /// CTRL1_XL: rate in bits 7…4, full scale in bits 3…2, filter below (reg.h).
    static var accelerometer: RegisterAddress { RegisterAddress(0x10) }
    /// CTRL2_G: rate in bits 7…4, full scale in bits 3…2 (reg.h).
    static var gyroscope: RegisterAddress { RegisterAddress(0x11) }
    /// CTRL3_C: BOOT, BDU, IF_INC, SW_RESET (reg.h).
    static var control3: RegisterAddress { RegisterAddress(0x12) }
    /// CTRL4_C: DRDY_MASK in bit 3; LPF1_SEL_G in bit 1, absent on the LSM6DS3 (reg.h).
    static var control4: RegisterAddress { RegisterAddress(0x13) }
    /// CTRL5_C: rounding, self-test (reg.h).
    static var control5: RegisterAddress { RegisterAddress(0x14) }
    /// CTRL6_C: power mode of the accelerometer, FTYPE in the lowest bits, absent on the LSM6DS3 (reg.h).
    static var control6: RegisterAddress { RegisterAddress(0x15) }
    /// CTRL7_G: power mode and high-pass of the gyroscope (reg.h).
    static var control7: RegisterAddress { RegisterAddress(0x16) }
    /// CTRL8_XL: second filter of the accelerometer; XL_FS_MODE in bit 1, only on the LSM6DSO (reg.h).
    static var control8: RegisterAddress { RegisterAddress(0x17) }
    /// CTRL9_XL: I3C_DISABLE in bit 1 (lsm6dso_reg.h), DEVICE_CONF of the ISM330DHCX, which its maker wants set
    /// (ism330dhcx_reg.h).
    static var control9: RegisterAddress { RegisterAddress(0x18) }
    /// OUT_TEMP_L, OUT_TEMP_H (reg.h).
    static var temperature: RegisterAddress { RegisterAddress(0x20) }
    /// FIFO_STATUS1: the number of words and the flags start here (reg.h, Linux `fifo_diff`).
    static var fifoStatus1: RegisterAddress { RegisterAddress(0x3A) }
    static var fifoStatus2: RegisterAddress { RegisterAddress(0x3B) }
    /// FIFO_DATA_OUT_L: a burst wraps from FIFO_DATA_OUT_H back to it (AN5130 4.7.1).
    static var untaggedData: RegisterAddress { RegisterAddress(0x3E) }
    /// FIFO_DATA_OUT_TAG: a burst wraps from FIFO_DATA_OUT_Z_H, 0x7E, back to it (Linux reads 28 bytes at once).
    static var taggedData: RegisterAddress { RegisterAddress(0x78) }
}

/// The register values that do not depend on settings.
enum LSM6DSValue {
    /// CTRL3_C: SW_RESET, which clears itself (reg.h, Linux `reset`).
    static var reset: RegisterValue { RegisterValue(0x01) }
    /// CTRL3_C: IF_INC, on from power-up: bursts advance from register to register (reg.h).
    static var addressIncrement: RegisterValue { RegisterValue(0x04) }
    /// CTRL3_C: BDU, so that both bytes of a value belong to the same sample (reg.h, Linux `bdu`).
    static var blockDataUpdate: RegisterValue { RegisterValue(0x40) }
    /// CTRL4_C: LPF1_SEL_G, the gyroscope's first low-pass (reg.h, AN5130 3.8).
    static var gyroscopeFilter: RegisterValue { RegisterValue(0x02) }
    /// CTRL4_C: DRDY_MASK, which marks samples that have not settled, and the smallest of the marks (AN5130 and AN5040 4.3.1;
    /// for all parts: Linux `drdy_mask`, `ST_LSM6DSX_INVALID_SAMPLE`).
    static var dataReadyMask: RegisterValue { RegisterValue(0x08) }
    static var firstMark: Int16 { 0x7FFD }
    /// CTRL9_XL: its default, plus I3C_DISABLE for a plain I2C bus (lsm6dso_reg.h; LSM6DSO32's datasheet, table 67).
    static var plainBus: RegisterValue { RegisterValue(0xE2) }
    /// INT1_CTRL: the gyroscope has a new value; at the same rate, so has the accelerometer.
    static var gyroscopeReady: RegisterValue { RegisterValue(0x02) }
    static var pulse: RegisterValue { RegisterValue(0x80) }
    /// FIFO mode: off and empty (Linux `ST_LSM6DSX_FIFO_BYPASS`).
    static var bypass: RegisterValue { RegisterValue(0) }
    /// FIFO mode: the newest words replace the oldest (Linux `ST_LSM6DSX_FIFO_CONT`).
    static var continuous: RegisterValue { RegisterValue(6) }
    /// FIFO_CTRL3 of the untagged FIFO: every sample of both sensors (Linux `st_lsm6dsx_decimator_table`).
    static var noDecimation: RegisterValue { RegisterValue(1 << 3 | 1) }
    /// FIFO_STATUS2, untagged: OVER_RUN and FIFO_EMPTY (lsm6ds3_reg.h).
    static var untaggedOverrun: UInt8 { 0x40 }
    static var untaggedEmpty: UInt8 { 0x10 }
    /// FIFO_STATUS2, tagged: FIFO_OVR_IA, and OVER_RUN_LATCHED, which reading clears (lsm6dso_reg.h).
    static var taggedOverrun: UInt8 { 0x48 }
    /// TAG_SENSOR, bits 7…3 of a word's first byte (lsm6dso_reg.h, Linux `st_lsm6dsx_fifo_tag`).
    static var gyroscopeTag: UInt8 { 0x01 }
    static var accelerometerTag: UInt8 { 0x02 }
}

/// Timing of the chip, seconds.
enum LSM6DSTiming {
    /// Interval between checks of a reset. Linux waits 50 ms, and ST's examples spin.
    static var resetPoll: Double { 0.01 }
    /// A reset not done within this time is repeated.
    static var resetDeadline: Double { 0.15 }
    /// Time until both sensors deliver data, so that the FIFO starts with both: words of only one would not form
    /// frames.
    static var bothStarting: Double { 0.04 }
    /// The gyroscope's turn-on time from power-down, at most (AN5130 and AN5040, table 14; the LSM6DSO32's datasheet,
    /// table 4: 35 ms, typical). Unsourced: that of LSM6DS3, LSM6DSO, ISM330DHCX and LSM6DSR.
    static var gyroscopeTurnOn: Double { 0.07 }
}
