/// Which member of InvenSense's MPU family a virtual chip is.
///
/// The figures are those of the data sheets (RM-MPU-6000A-00 r4.2, RM-MPU-6500A-00 r2.1, RM-MPU-9250A-00 r1.6, DS-000176,
/// DS-000143) and, where those were not at hand, of Linux' inv_mpu6050 and PX4's drivers, written down here a second time so
/// that a slip in the driver's own table shows.
enum VirtualMPUModel: Sendable {
    case mpu6050
    case mpu6500
    case icm20602
    case icm20689

    /// What WHO_AM_I says.
    var identity: UInt8 {
        switch self {
        case .mpu6050: 0x68
        case .mpu6500: 0x70
        case .icm20602: 0x12
        case .icm20689: 0x98
        }
    }

    /// Bytes that the FIFO holds with this content of ACCEL_CONFIG2, whose bits 7…6 are the ICM-20689's FIFO_SIZE.
    func fifoSize(accelerometerConfiguration2: UInt8) -> Int {
        switch self {
        case .mpu6050: 1024
        case .mpu6500: 512
        case .icm20602: 1008
        case .icm20689: 512 << Int(accelerometerConfiguration2 >> 6)
        }
    }

    /// The counts of a temperature, °C.
    func temperatureCounts(_ celsius: Double) -> Double {
        switch self {
        case .mpu6050: (celsius - 36.53) * 340
        case .mpu6500: (celsius - 21) * 333.87
        case .icm20602, .icm20689: (celsius - 25) * 326.8
        }
    }

    /// Whether ACCEL_CONFIG2 has a low-pass for the accelerometer.
    var hasAccelerometerConfiguration2: Bool { self != .mpu6050 }

    /// Whether the self-test is that of the MPU-6050.
    var hasSelfTest: Bool { self == .mpu6050 }

    /// CONFIG and PWR_MGMT_1 after a reset.
    var configurationDefault: UInt8 {
        switch self {
        case .mpu6050, .mpu6500: 0
        case .icm20602, .icm20689: 0x80
        }
    }
    var powerManagement1Default: UInt8 {
        switch self {
        case .mpu6050: Bit.sleep
        case .mpu6500, .icm20602, .icm20689: Bit.sleep | 0x01
        }
    }

    /// The bits of a register that keep what is written.
    func writableBits(_ register: UInt8) -> UInt8 {
        switch (self, register) {
        case (.icm20602, Register.fifoEnable): 0x18
        case (.mpu6500, Register.accelerometerConfiguration2): 0x0F
        case (.icm20602, Register.accelerometerConfiguration2): 0x3F
        case (.icm20602, Register.configuration), (.icm20689, Register.configuration): 0xFF
        case (.mpu6500, Register.gyroscopeConfiguration), (.icm20602, Register.gyroscopeConfiguration),
            (.icm20689, Register.gyroscopeConfiguration):
            0xFB
        default: Register.writableBits(register)
        }
    }

    /// The low-passes that are set.
    func lowPass(configuration: UInt8, accelerometerConfiguration2: UInt8) -> LowPassSetting {
        let code = configuration & 0x07
        guard hasAccelerometerConfiguration2 else { return LowPassSetting(code: code) }
        return LowPassSetting(
            gyroscopeCode: code, accelerometerCode: accelerometerConfiguration2 & 0x07,
            isWideGyroscope: self == .mpu6500)
    }
}
