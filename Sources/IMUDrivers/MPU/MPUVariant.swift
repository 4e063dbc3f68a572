internal import MotionCore

/// The differences between the members of InvenSense's MPU family that matter to the driver.
///
/// All have the registers of the MPU-6050. "Linux" is drivers/iio/imu/inv_mpu6050 (hw_info in inv_mpu_core.c,
/// inv_mpu_iio.h), "PX4" is src/drivers/imu/invensense (Invensense_…_registers.hpp, one folder per chip).
struct MPUVariant: Sendable, BitwiseCopyable {
    /// The part's name as its manufacturer writes it.
    let name: StaticString
    /// Bytes that the FIFO holds; a minimum if the size is not certain.
    var fifoSize = 1024
    var isFIFOSizeCertain = true
    /// °C = counts / `countsPerKelvin` + `celsiusAtZero`.
    var countsPerKelvin = 340.0
    var celsiusAtZero = 36.53
    /// The filters that DLPF_CFG selects, and A_DLPF_CFG if the part has one.
    var lowPass = MPULowPassTable.mpu6050
    /// Whether the accelerometer has a separate low-pass, ACCEL_CONFIG2, and whether that register keeps its value.
    var filtersAccelerometer = false
    var keepsAccelerometerFilter = true
    /// The FIFO_EN value that puts accelerometer, temperature and gyroscope into the FIFO.
    var fifoEnable = MPU6050Value.motionAndTemperature
    /// The bits of CONFIG that are checked on read-back.
    var configurationMask = RegisterValue.all
    /// Seconds from sleep until the gyroscope measures.
    var gyroscopeStartUp = MPU6050Timing.gyroscopeStartUp

    /// Whether the package holds an AK8963.
    var hasMagnetometer = false

    /// The part may change its factory offset of the accelerometer's y axis, YA_OFFS_H, by itself, every few hours
    /// (ArduPilot AP_InertialSensor_Invensense.cpp; pull request 16593).
    var losesYOffset = false
    /// The part needs an undocumented register, without which the y axis may read 2.7 m/s² too much (ArduPilot
    /// `MPUREG_ICM_UNDOC1`).
    var needsYCorrection = false
    /// Single temperatures in the FIFO are wrong on good parts while the rest of the frame is right (ArduPilot pull request
    /// 21937). Several in a row mean bad data: ArduPilot took that pull request back (22034) and resets the FIFO (22035).
    var hasErraticThermometer = false

    /// Constants that no source confirms.
    var unsourced: StaticString?

    /// The variant that answers with `identity`; `nil` if none does. Numbers: Linux inv_mpu_iio.h.
    init?(identity: UInt8) {
        switch identity {
        // The MPU-6000 and the MPU-9150 answer with the same number and need no distinction.
        case 0x68: self = .mpu6050
        case 0x70: self = .mpu6500("MPU-6500")
        case 0x71:
            self = .mpu6500("MPU-9250")
            hasMagnetometer = true
        case 0x73:
            self = .mpu6500("MPU-9255")
            hasMagnetometer = true
        case 0x74: self = .mpu6500("MPU-6515")
        case 0x72: self = .clone
        case 0x19: self = .icm20602("MPU-6886")
        case 0x11: self = .icm20602("ICM-20600")
        case 0x12:
            self = .icm20602("ICM-20602")
            unsourced = "delays of the low-passes"
            losesYOffset = true
            needsYCorrection = true
            hasErraticThermometer = true
        case 0xAF:
            self = .icm20608("ICM-20608")
            needsYCorrection = true
        case 0xAE:
            self = .icm20608("ICM-20608D")
            needsYCorrection = true
        case 0x98: self = .icm20689
        default: return nil
        }
    }

    private init(name: StaticString) {
        self.name = name
    }

    /// The variant assumed before the chip has been identified: 1024 bytes, 340 counts per kelvin from 36.53 °C
    /// (RM-MPU-6000A-00 r4.2, p. 30, 44).
    static let mpu6050 = MPUVariant(name: "MPU-6050")

    /// The MPU-6500 and the parts that contain one: 512 bytes, 333.87 counts per kelvin from 21 °C, 70 ms of start-up
    /// (Linux; PS-MPU-9250A-01 r1.0, 3.1: 35 ms, typical).
    private static func mpu6500(_ name: StaticString) -> MPUVariant {
        var variant = MPUVariant(name: name)
        variant.fifoSize = 512
        // A board sold as one of these may carry a clone with a larger FIFO, so a larger count is possible.
        variant.isFIFOSizeCertain = false
        variant.countsPerKelvin = 333.87
        variant.celsiusAtZero = 21
        variant.lowPass = .mpu9250
        variant.filtersAccelerometer = true
        variant.gyroscopeStartUp = 0.07
        return variant
    }

    /// Sold as an MPU-6050, with a number that no manufacturer uses. Unsourced: everything about it. It is treated as an
    /// MPU-6500. It may lack ACCEL_CONFIG2, so that register need not keep its value.
    private static var clone: MPUVariant {
        var variant = mpu6500("MPU-6050 copy (0x72)")
        variant.keepsAccelerometerFilter = false
        variant.unsourced = "everything but the identity"
        return variant
    }

    /// The ICM-20608: like the MPU-6500, but 326.8 counts per kelvin from 25 °C (Linux, PX4 icm20608g).
    private static func icm20608(_ name: StaticString) -> MPUVariant {
        var variant = mpu6500(name)
        variant.isFIFOSizeCertain = true
        variant.countsPerKelvin = 326.8
        variant.celsiusAtZero = 25
        variant.lowPass = .icm206xx
        variant.unsourced = "bandwidths and delays of the low-passes"
        // CONFIG is 0x80 after a reset (DS-000176, register 26), and bit 7 must be written as zero (PX4 icm20602). What
        // it then reads as does not matter.
        variant.configurationMask = RegisterValue(0x7F)
        return variant
    }

    /// The ICM-20602, the ICM-20600 and the MPU-6886: 1008 bytes, one bit for the gyroscope's three axes and none for
    /// the temperature, which is in every frame (PX4 icm20602; Linux reg_set_icm20602 and 1008; 100 ms of start-up).
    ///
    /// The MPU-6886's datasheet says 1024 bytes. 1008 bytes are whole frames, and are safe for both.
    private static func icm20602(_ name: StaticString) -> MPUVariant {
        var variant = icm20608(name)
        variant.fifoSize = 1008
        variant.fifoEnable = MPU6050Value.motion
        variant.gyroscopeStartUp = 0.1
        return variant
    }

    /// The ICM-20689, or a board sold as an MPU-6050 with a chip that answers like an ICM-20689.
    ///
    /// The ICM-20689 can hold 4096 bytes; with zeros in bits 7…6 of ACCEL_CONFIG2 it holds 512 (Linux, PX4 icm20689). The
    /// driver requests and assumes 512, which is also safe on a chip with more. A chip without ACCEL_CONFIG2 may ignore
    /// the write. Unsourced: the temperature scale of a clone; it may be off by 12 K.
    private static var icm20689: MPUVariant {
        var variant = icm20608("ICM-20689")
        variant.unsourced = "bandwidths and delays of the low-passes; temperature of a copy"
        variant.isFIFOSizeCertain = false
        variant.keepsAccelerometerFilter = false
        return variant
    }
}
