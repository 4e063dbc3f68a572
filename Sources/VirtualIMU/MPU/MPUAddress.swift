/// The registers of the MPU-6050 with special behaviour (RM-MPU-6000A-00 r4.2, section 3); all others are plain
/// storage.
enum Register {
    static let selfTestX: UInt8 = 0x0D
    static let selfTestA: UInt8 = 0x10
    static let sampleRateDivider: UInt8 = 0x19
    static let configuration: UInt8 = 0x1A
    static let gyroscopeConfiguration: UInt8 = 0x1B
    static let accelerometerConfiguration: UInt8 = 0x1C
    /// From the MPU-6500 on.
    static let accelerometerConfiguration2: UInt8 = 0x1D
    static let fifoEnable: UInt8 = 0x23
    static let interruptPin: UInt8 = 0x37
    static let interruptEnable: UInt8 = 0x38
    static let interruptStatus: UInt8 = 0x3A
    static let accelerometerOutput: UInt8 = 0x3B
    static let temperatureOutput: UInt8 = 0x41
    static let gyroscopeOutput: UInt8 = 0x43
    static let externalSensorLast: UInt8 = 0x60
    static let signalPathReset: UInt8 = 0x68
    static let userControl: UInt8 = 0x6A
    static let powerManagement1: UInt8 = 0x6B
    static let powerManagement2: UInt8 = 0x6C
    /// Of the ICM-20602: undocumented, and the accelerometer's offset on y.
    static let undocumented: UInt8 = 0x11
    static let yOffset: UInt8 = 0x7A
    static let fifoCountHigh: UInt8 = 0x72
    static let fifoCountLow: UInt8 = 0x73
    static let fifoData: UInt8 = 0x74
    static let identity: UInt8 = 0x75

    /// The number of registers.
    static let count = 128

    /// The writable bits of a register; the others are reserved or clear themselves.
    static func writableBits(_ register: UInt8) -> UInt8 {
        switch register {
        case configuration: 0x3F
        case gyroscopeConfiguration, accelerometerConfiguration: 0xF8
        case interruptPin: 0xFE
        case interruptEnable: 0x19
        case userControl: 0x70
        case powerManagement1: 0x6F
        case interruptStatus...externalSensorLast, signalPathReset, fifoCountHigh...identity: 0
        default: 0xFF
        }
    }
}

/// The bits that the chip itself uses.
enum Bit {
    // INT_PIN_CFG, INT_STATUS (RM p. 26, 28)
    static let clearOnAnyRead: UInt8 = 0x10
    static let fifoOverflow: UInt8 = 0x10
    static let dataReady: UInt8 = 0x01
    // USER_CTRL (RM p. 38)
    static let fifoEnable: UInt8 = 0x40
    static let fifoReset: UInt8 = 0x04
    static let signalConditionReset: UInt8 = 0x01
    // PWR_MGMT_1 (RM p. 40)
    static let deviceReset: UInt8 = 0x80
    static let sleep: UInt8 = 0x40
    static let cycle: UInt8 = 0x20
    static let temperatureDisable: UInt8 = 0x08
    // FIFO_EN (RM p. 16)
    static let fifoTemperature: UInt8 = 0x80
    static let fifoAccelerometer: UInt8 = 0x08
}
