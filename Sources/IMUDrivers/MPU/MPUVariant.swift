internal import MotionCore

/// Wherein the members of InvenSense's MPU family differ, as far as the driver is concerned.
///
/// All have the registers of the MPU-6050. "Linux" is drivers/iio/imu/inv_mpu6050 (hw_info in inv_mpu_core.c, inv_mpu_iio.h),
/// "PX4" is src/drivers/imu/invensense (Invensense_…_registers.hpp, a folder a chip).
struct MPUVariant: Sendable, BitwiseCopyable {
    /// The part's name as its maker writes it.
    let name: StaticString
    /// Bytes that the FIFO holds; at least, where the size is not certain.
    var fifoSize = 1024
    var isFIFOSizeCertain = true
    /// °C are counts over `countsPerKelvin` plus `celsiusAtZero`.
    var countsPerKelvin = 340.0
    var celsiusAtZero = 36.53
    /// What DLPF_CFG, and A_DLPF_CFG where there is one, do.
    var lowPass = MPULowPassTable.mpu6050
    /// Whether the accelerometer has a low-pass of its own, ACCEL_CONFIG2, and whether that keeps what is written.
    var filtersAccelerometer = false
    var keepsAccelerometerFilter = true
    /// What puts accelerometer, temperature and gyroscope into the FIFO.
    var fifoEnable = MPU6050Value.motionAndTemperature
    /// The bits of CONFIG that have to be as written.
    var configurationMask = RegisterValue.all
    /// Seconds from sleep until the gyroscope measures.
    var gyroscopeStartUp = MPU6050Timing.gyroscopeStartUp

    /// The variant that answers with `identity`; `nil` where none does. Numbers: Linux inv_mpu_iio.h.
    init?(identity: UInt8) {
        switch identity {
        // The MPU-6000 and the MPU-9150 cannot be told from it, and need not.
        case 0x68: self = .usual
        case 0x70: self = .later("MPU-6500")
        case 0x71: self = .later("MPU-9250")
        case 0x73: self = .later("MPU-9255")
        case 0x74: self = .later("MPU-6515")
        case 0x72: self = .copy
        case 0x19: self = .compact("MPU-6886")
        case 0x11: self = .compact("ICM-20600")
        case 0x12: self = .compact("ICM-20602")
        case 0xAF: self = .smaller("ICM-20608")
        case 0xAE: self = .smaller("ICM-20608D")
        case 0x98: self = .icm20689
        default: return nil
        }
    }

    private init(name: StaticString) {
        self.name = name
    }

    /// The one that is meant before the chip was asked: 1024 bytes, 340 counts a kelvin from 36.53 °C (RM-MPU-6000A-00 r4.2,
    /// p. 30, 44).
    static let usual = MPUVariant(name: "MPU-6050")

    /// The MPU-6500 and those that have one inside: 512 bytes, 333.87 counts a kelvin from 21 °C, 70 ms of start-up (Linux).
    private static func later(_ name: StaticString) -> MPUVariant {
        var variant = MPUVariant(name: name)
        variant.fifoSize = 512
        // A board sold as one may carry a copy with another FIFO: a larger count is then no nonsense.
        variant.isFIFOSizeCertain = false
        variant.countsPerKelvin = 333.87
        variant.celsiusAtZero = 21
        variant.lowPass = .mpu9250
        variant.filtersAccelerometer = true
        variant.gyroscopeStartUp = 0.07
        return variant
    }

    /// Sold as an MPU-6050, and nobody's number: taken for an MPU-6500. It may have no ACCEL_CONFIG2, so that this need not
    /// keep what is written.
    private static var copy: MPUVariant {
        var variant = later("MPU-6050 copy (0x72)")
        variant.keepsAccelerometerFilter = false
        return variant
    }

    /// The ICM-20608: as the MPU-6500, but 326.8 counts a kelvin from 25 °C (Linux, PX4 icm20608g).
    private static func smaller(_ name: StaticString) -> MPUVariant {
        var variant = later(name)
        variant.isFIFOSizeCertain = true
        variant.countsPerKelvin = 326.8
        variant.celsiusAtZero = 25
        variant.lowPass = .icm206xx
        // CONFIG is 0x80 after a reset (DS-000176, register 26), and bit 7 is to be written as zero (PX4 icm20602); what it then
        // reads as does not matter.
        variant.configurationMask = RegisterValue(0x7F)
        return variant
    }

    /// The ICM-20602, the ICM-20600 and the MPU-6886: 1008 bytes, one bit for the gyroscope's three axes and none for the
    /// temperature, which is in every frame (PX4 icm20602; Linux reg_set_icm20602 and 1008; 100 ms of start-up).
    ///
    /// The MPU-6886's data sheet says 1024 bytes; 1008 are whole frames, and safe for both.
    private static func compact(_ name: StaticString) -> MPUVariant {
        var variant = smaller(name)
        variant.fifoSize = 1008
        variant.fifoEnable = MPU6050Value.motion
        variant.gyroscopeStartUp = 0.1
        return variant
    }

    /// The ICM-20689, or a board sold as an MPU-6050 whose chip only answers as one.
    ///
    /// The ICM-20689 can hold 4096 bytes, and with zeros in bits 7…6 of ACCEL_CONFIG2 holds 512 (Linux, PX4 icm20689). That is
    /// what the driver asks for and counts on: a chip with more is safe with it, too. Where there is no ACCEL_CONFIG2, what is
    /// written to it may be lost. Of the temperature of a chip that is none, nothing is known: it may be off by 12 K.
    private static var icm20689: MPUVariant {
        var variant = smaller("ICM-20689")
        variant.isFIFOSizeCertain = false
        variant.keepsAccelerometerFilter = false
        return variant
    }
}
