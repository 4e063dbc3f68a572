/// The registers that the driver uses. Page numbers refer to RM-MPU-6000A-00 r4.2.
enum MPU6050Register {
    /// SELF_TEST_X, _Y, _Z, _A: the factory's self-test codes (p. 9).
    static var selfTestX: RegisterAddress { RegisterAddress(0x0D) }
    /// Undocumented, in the ICM-20602 and ICM-20608 (ArduPilot `MPUREG_ICM_UNDOC1`).
    static var undocumented: RegisterAddress { RegisterAddress(0x11) }
    /// The high byte of the accelerometer's offset on y in the ICM-20602, set by the factory (ArduPilot
    /// `MPUREG_ACC_OFF_Y_H`).
    static var yOffset: RegisterAddress { RegisterAddress(0x7A) }
    /// SMPLRT_DIV: the sample rate is the base rate divided by this plus one (p. 11).
    static var sampleRateDivider: RegisterAddress { RegisterAddress(0x19) }
    /// CONFIG: DLPF_CFG in bits 2…0 (p. 13).
    static var configuration: RegisterAddress { RegisterAddress(0x1A) }
    /// GYRO_CONFIG: FS_SEL in bits 4…3 (p. 14).
    static var gyroscopeConfiguration: RegisterAddress { RegisterAddress(0x1B) }
    /// ACCEL_CONFIG: AFS_SEL in bits 4…3 (p. 15).
    static var accelerometerConfiguration: RegisterAddress { RegisterAddress(0x1C) }
    /// ACCEL_CONFIG2: A_DLPF_CFG in bits 2…0, ACCEL_FCHOICE_B in bit 3, from the MPU-6500 on (RM-MPU-6500A-00, 4.8). On
    /// the ICM-20689, bits 7…6 select the FIFO's size.
    static var accelerometerConfiguration2: RegisterAddress { RegisterAddress(0x1D) }
    /// FIFO_EN: selects the FIFO's content (p. 16).
    static var fifoEnable: RegisterAddress { RegisterAddress(0x23) }
    /// INT_PIN_CFG: the behaviour of the INT pin; zero is push-pull, active high, a pulse of 50 µs. I2C_BYPASS_EN in bit 1
    /// (p. 26).
    static var interruptPin: RegisterAddress { RegisterAddress(0x37) }
    /// INT_ENABLE: selects what pulses the INT pin (p. 27).
    static var interruptEnable: RegisterAddress { RegisterAddress(0x38) }
    /// ACCEL_XOUT_H …: accelerometer, temperature and gyroscope in 14 bytes (p. 29 to 31).
    static var accelerometerOutput: RegisterAddress { RegisterAddress(0x3B) }
    /// TEMP_OUT_H, TEMP_OUT_L: the newest temperature (p. 30).
    static var temperature: RegisterAddress { RegisterAddress(0x41) }
    /// USER_CTRL: FIFO_EN and FIFO_RESET (p. 38).
    static var userControl: RegisterAddress { RegisterAddress(0x6A) }
    /// PWR_MGMT_1: DEVICE_RESET, SLEEP, CLKSEL (p. 40).
    static var powerManagement1: RegisterAddress { RegisterAddress(0x6B) }
    /// PWR_MGMT_2: axes in standby (p. 42).
    static var powerManagement2: RegisterAddress { RegisterAddress(0x6C) }
    /// FIFO_COUNT_H, FIFO_COUNT_L: bytes in the FIFO; reading the high one latches both (p. 43).
    static var fifoCount: RegisterAddress { RegisterAddress(0x72) }
    /// FIFO_R_W: removes bytes from the FIFO; the address does not advance to the next register (p. 44).
    static var fifoData: RegisterAddress { RegisterAddress(0x74) }
    /// WHO_AM_I: 0x68 whatever the level of AD0 (p. 45).
    static var whoAmI: RegisterAddress { RegisterAddress(0x75) }
}

/// The register values that do not depend on settings.
enum MPU6050Value {
    /// The content of WHO_AM_I (RM p. 45).
    static var identity: UInt8 { 0x68 }
    /// The value for `undocumented` (ArduPilot `MPUREG_ICM_UNDOC1_VALUE`).
    static var yCorrection: RegisterValue { RegisterValue(0xC9) }
    /// PWR_MGMT_1: DEVICE_RESET, which clears itself when the reset is done (RM p. 40).
    static var deviceReset: RegisterValue { RegisterValue(0x80) }
    /// PWR_MGMT_1: SLEEP (RM p. 40).
    static var sleep: RegisterValue { RegisterValue(0x40) }
    /// PWR_MGMT_1: clock from the PLL on the gyroscope's x axis, which is more stable than the plain oscillator (RM p.
    /// 40).
    static var gyroscopeClock: RegisterValue { RegisterValue(0x01) }
    /// GYRO_CONFIG, ACCEL_CONFIG: self-test of the three axes (RM p. 14, 15).
    static var selfTest: RegisterValue { RegisterValue(0xE0) }
    /// FIFO_EN: temperature, the gyroscope's three axes, the accelerometer (RM p. 16).
    static var motionAndTemperature: RegisterValue { RegisterValue(0xF8) }
    /// FIFO_EN of the ICM-20602: GYRO_FIFO_EN and ACCEL_FIFO_EN; either one adds the temperature (PX4 icm20602).
    static var motion: RegisterValue { RegisterValue(0x18) }
    /// INT_PIN_CFG: I2C_BYPASS_EN connects the auxiliary bus with the host's while I2C_MST_EN in USER_CTRL is clear (RM p.
    /// 26; PS-MPU-9250A-01 r1.0, p. 24).
    static var bypass: RegisterValue { RegisterValue(0x02) }
    /// USER_CTRL: FIFO_RESET, which must be set while the FIFO is off (RM p. 38).
    static var fifoReset: RegisterValue { RegisterValue(0x04) }
    /// USER_CTRL: FIFO_EN (RM p. 38).
    static var fifoOn: RegisterValue { RegisterValue(0x40) }
    /// INT_ENABLE: DATA_RDY_EN, one pulse per sample (RM p. 27).
    static var dataReady: RegisterValue { RegisterValue(0x01) }
}

/// Timing of the chip, seconds.
enum MPU6050Timing {
    /// Interval between checks of a reset, which takes less than 10 ms on the parts tested.
    static var resetPoll: Double { 0.01 }
    /// A reset not done within this time is repeated: the registers may take 100 ms from power-up (PS 6.3).
    static var resetDeadline: Double { 0.15 }
    /// The PLL settles within 10 ms (PS 6.6, Linux waits as long).
    static var clockSettling: Double { 0.01 }
    /// The gyroscope's start-up after sleep (Linux inv_mpu6050: 60 ms; PS 6.1: 30 ms typical).
    static var gyroscopeStartUp: Double { 0.06 }
}
