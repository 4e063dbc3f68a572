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
