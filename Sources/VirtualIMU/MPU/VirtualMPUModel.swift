/// A member of InvenSense's MPU family.
///
/// The values are from the data sheets (RM-MPU-6000A-00 r4.2, RM-MPU-6500A-00 r2.1, RM-MPU-9250A-00 r1.6, DS-000176,
/// DS-000143) and, if those were not available, from Linux' inv_mpu6050 and PX4's drivers. They are deliberately not
/// shared with the driver, so that a mistake in its table is detected.
enum VirtualMPUModel: Sendable {
    case mpu6050
    case mpu6500
    /// An MPU-6500 with an AK8963 on its auxiliary bus.
    case mpu9250
    case icm20602
    case icm20689

    /// The value of WHO_AM_I.
    var identity: UInt8 {
        switch self {
        case .mpu6050: 0x68
        case .mpu6500: 0x70
        case .mpu9250: 0x71
        case .icm20602: 0x12
        case .icm20689: 0x98
        }
    }

    /// The FIFO's capacity in bytes for a value of ACCEL_CONFIG2, whose bits 7…6 are the ICM-20689's FIFO_SIZE.
    func fifoSize(accelerometerConfiguration2: UInt8) -> Int {
        switch self {
        case .mpu6050: 1024
        case .mpu6500, .mpu9250: 512
        case .icm20602: 1008
        case .icm20689: 512 << Int(accelerometerConfiguration2 >> 6)
        }
    }

    /// The factory's value of YA_OFFS_H; `nil` if it has no effect here.
    var factoryYOffset: UInt8? { self == .icm20602 ? 0x15 : nil }

    /// Converts °C to counts.
    func temperatureCounts(_ celsius: Double) -> Double {
        switch self {
        case .mpu6050: (celsius - 36.53) * 340
        case .mpu6500, .mpu9250: (celsius - 21) * 333.87
        case .icm20602, .icm20689: (celsius - 25) * 326.8
        }
    }

    /// Whether ACCEL_CONFIG2 sets a low-pass for the accelerometer.
    var hasAccelerometerConfiguration2: Bool { self != .mpu6050 }

    /// Whether the self-test is that of the MPU-6050.
    var hasSelfTest: Bool { self == .mpu6050 }

    /// CONFIG and PWR_MGMT_1 after a reset.
    var configurationDefault: UInt8 {
        switch self {
        case .mpu6050, .mpu6500, .mpu9250: 0
        case .icm20602, .icm20689: 0x80
        }
    }
    var powerManagement1Default: UInt8 {
        switch self {
        case .mpu6050: Bit.sleep
        case .mpu6500, .mpu9250, .icm20602, .icm20689: Bit.sleep | 0x01
        }
    }

    /// The writable bits of a register.
    func writableBits(_ register: UInt8) -> UInt8 {
        switch (self, register) {
        case (.icm20602, Register.fifoEnable): 0x18
        case (.mpu6500, Register.accelerometerConfiguration2), (.mpu9250, Register.accelerometerConfiguration2):
            0x0F
        case (.icm20602, Register.accelerometerConfiguration2): 0x3F
        case (.icm20602, Register.configuration), (.icm20689, Register.configuration): 0xFF
        case (.mpu6500, Register.gyroscopeConfiguration), (.mpu9250, Register.gyroscopeConfiguration),
            (.icm20602, Register.gyroscopeConfiguration), (.icm20689, Register.gyroscopeConfiguration):
            0xFB
        default: Register.writableBits(register)
        }
    }

    /// The configured low-passes.
    func lowPass(configuration: UInt8, accelerometerConfiguration2: UInt8) -> LowPassSetting {
        let code = configuration & 0x07
        guard hasAccelerometerConfiguration2 else { return LowPassSetting(code: code) }
        return LowPassSetting(
            gyroscopeCode: code, accelerometerCode: accelerometerConfiguration2 & 0x07,
            isWideGyroscope: self == .mpu6500 || self == .mpu9250)
    }
}
