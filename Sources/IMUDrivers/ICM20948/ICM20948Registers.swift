/// The registers that the driver uses, of bank 0 unless noted, named as in DS-000189 r1.3 ("DS").
///
/// Numbers: PX4 InvenSense_ICM20948_registers.hpp and ArduPilot AP_InertialSensor_Invensensev2_registers.h; of DS, only the
/// pages noted were at hand.
enum ICM20948Register {
    /// WHO_AM_I.
    static var whoAmI: RegisterAddress { RegisterAddress(0x00) }
    /// USER_CTRL: DMP_EN in bit 7, FIFO_EN in 6, I2C_MST_EN in 5.
    static var userControl: RegisterAddress { RegisterAddress(0x03) }
    /// LP_CONFIG: ACCEL_CYCLE in bit 5, GYRO_CYCLE in 4 (DS p. 37).
    static var lowPower: RegisterAddress { RegisterAddress(0x05) }
    /// PWR_MGMT_1: DEVICE_RESET in bit 7, SLEEP in 6, LP_EN in 5, TEMP_DIS in 3, CLKSEL in 2…0 (DS p. 37).
    static var powerManagement1: RegisterAddress { RegisterAddress(0x06) }
    /// PWR_MGMT_2: the accelerometer's axes off in bits 5…3, the gyroscope's in 2…0.
    static var powerManagement2: RegisterAddress { RegisterAddress(0x07) }
    /// INT_PIN_CFG: active low in bit 7, open drain in 6, latched in 5, BYPASS_EN in 1 (SparkFun ICM_20948_REGISTERS.h).
    static var interruptPin: RegisterAddress { RegisterAddress(0x0F) }
    /// INT_ENABLE_1: RAW_DATA_0_RDY_EN in bit 0.
    static var interruptEnable1: RegisterAddress { RegisterAddress(0x11) }
    /// TEMP_OUT_H, TEMP_OUT_L.
    static var temperature: RegisterAddress { RegisterAddress(0x39) }
    /// FIFO_EN_1: the auxiliary bus; FIFO_EN_2: accelerometer in bit 4, gyroscope in 3…1, temperature in 0.
    static var fifoEnable1: RegisterAddress { RegisterAddress(0x66) }
    static var fifoEnable2: RegisterAddress { RegisterAddress(0x67) }
    /// FIFO_RST: bits 4…0 hold the FIFO in reset.
    static var fifoReset: RegisterAddress { RegisterAddress(0x68) }
    /// FIFO_MODE: bit 0 keeps the oldest data when the FIFO is full.
    static var fifoMode: RegisterAddress { RegisterAddress(0x69) }
    /// FIFO_COUNTH, FIFO_COUNTL.
    static var fifoCount: RegisterAddress { RegisterAddress(0x70) }
    /// FIFO_R_W: removes bytes from the FIFO; the address does not advance to the next register.
    static var fifoData: RegisterAddress { RegisterAddress(0x72) }
    /// REG_BANK_SEL: the bank in bits 5…4, present in every bank.
    static var bank: RegisterAddress { RegisterAddress(0x7F) }

    /// REG_BANK_SEL for bank 2.
    private static var bank2: UInt8 { 0x20 }
    /// Bank 2: GYRO_SMPLRT_DIV; GYRO_CONFIG_1 with GYRO_DLPFCFG in bits 5…3, GYRO_FS_SEL in 2…1, GYRO_FCHOICE in 0.
    static var gyroscopeDivider: RegisterAddress { RegisterAddress(0x00, bank: bank2) }
    static var gyroscope: RegisterAddress { RegisterAddress(0x01, bank: bank2) }
    /// Bank 2: ODR_ALIGN_EN, which starts both sensors' samples together.
    static var alignment: RegisterAddress { RegisterAddress(0x09, bank: bank2) }
    /// Bank 2: ACCEL_SMPLRT_DIV_1 and _2, the high bits first; ACCEL_CONFIG, laid out like GYRO_CONFIG_1.
    static var accelerometerDividerHigh: RegisterAddress { RegisterAddress(0x10, bank: bank2) }
    static var accelerometerDivider: RegisterAddress { RegisterAddress(0x11, bank: bank2) }
    static var accelerometer: RegisterAddress { RegisterAddress(0x14, bank: bank2) }
}

/// The register values that do not depend on settings.
enum ICM20948Value {
    static var identity: UInt8 { 0xEA }
    static var deviceReset: RegisterValue { RegisterValue(0x80) }
    /// PWR_MGMT_1 after a reset: SLEEP, CLKSEL 1 (DS p. 37).
    static var afterReset: RegisterValue { RegisterValue(0x41) }
    /// PWR_MGMT_1: awake, CLKSEL 1, which selects the gyroscope's PLL when it is ready (DS p. 25, 37).
    static var awake: RegisterValue { RegisterValue(0x01) }
    static var sleep: RegisterValue { RegisterValue(0x41) }
    /// LP_CONFIG: both sensors duty-cycled, which they must not be.
    static var dutyCycles: RegisterValue { RegisterValue(0x30) }
    /// GYRO_CONFIG_1, ACCEL_CONFIG: FCHOICE, the low-pass is on.
    static var lowPassOn: RegisterValue { RegisterValue(0x01) }
    /// INT_PIN_CFG: connects the auxiliary bus with the host's (DS p. 23).
    static var bypass: RegisterValue { RegisterValue(0x02) }
    static var align: RegisterValue { RegisterValue(0x01) }
    static var dataReady: RegisterValue { RegisterValue(0x01) }
    /// FIFO_EN_2: accelerometer, gyroscope and temperature.
    static var motionAndTemperature: RegisterValue { RegisterValue(0x1F) }
    static var fifoOn: RegisterValue { RegisterValue(0x40) }
    static var resetFIFO: RegisterValue { RegisterValue(0x1F) }
}

/// Timing of the chip, seconds.
enum ICM20948Timing {
    /// Interval between checks of a reset, and the deadline. PX4 waits 100 ms.
    static var resetPoll: Double { 0.01 }
    static var resetDeadline: Double { 0.15 }
    /// The clock settles. Unsourced: as in the MPU-6500, assumed.
    static var clockSettling: Double { 0.01 }
    /// The gyroscope's start-up after sleep. Unsourced: assumed to be that of the MPU-9250 (PS-MPU-9250A-01 r1.0, 3.1: 35
    /// ms, typical), with a margin. The accelerometer needs 20 ms (DS p. 12).
    static var gyroscopeStartUp: Double { 0.06 }
    /// Delays of the low-pass until it has settled to 1 %.
    static var settlingDelays: Double { 5 }
}
