internal import MotionCore

/// Wherein the members of InvenSense's MPU family differ, as far as the driver is concerned.
///
/// All have the registers of the MPU-6050; later ones filter the accelerometer on its own, hold less or more in their
/// FIFO, and count temperature otherwise. Sources: RM-MPU-6000A-00 r4.2, RM-MPU-6500A-00, RM-MPU-9250A-00, DS-000176
/// (ICM-20602), DS-000143 (ICM-20689), Linux inv_mpu_core.c.
struct MPUVariant: Equatable, Sendable, BitwiseCopyable {
    let name: StaticString
    /// Bytes that the FIFO holds.
    var fifoSize = 1024
    /// °C are counts over `countsPerKelvin` plus `celsiusAtZero`.
    var countsPerKelvin = 340.0
    var celsiusAtZero = 36.53
    /// Whether the accelerometer has a low-pass of its own, ACCEL_CONFIG2.
    var filtersAccelerometer = false
    /// What puts accelerometer, temperature and gyroscope into the FIFO.
    var fifoEnable = MPU6050Value.motionAndTemperature

    static func == (a: MPUVariant, b: MPUVariant) -> Bool {
        a.fifoSize == b.fifoSize && a.countsPerKelvin == b.countsPerKelvin && a.celsiusAtZero == b.celsiusAtZero
            && a.filtersAccelerometer == b.filtersAccelerometer && a.fifoEnable == b.fifoEnable
    }

    /// The variant that answers with `identity`; `nil` where none does.
    init?(identity: UInt8) {
        switch identity {
        case 0x68: self.init(name: "MPU-6050")
        case 0x70: self = .later("MPU-6500")
        case 0x71: self = .later("MPU-9250")
        case 0x73: self = .later("MPU-9255")
        case 0x74: self = .later("MPU-6515")
        // Sold as MPU-6050, made like an MPU-6500.
        case 0x72: self = .later("MPU-6050 clone")
        default: return nil
        }
    }

    private init(name: StaticString) {
        self.name = name
    }

    /// The MPU-6500 and those made like it: 512 bytes, 333.87 counts a kelvin from 21 °C (RM-MPU-6500A-00, 4.33).
    private static func later(_ name: StaticString) -> MPUVariant {
        var variant = MPUVariant(name: name)
        variant.fifoSize = 512
        variant.countsPerKelvin = 333.87
        variant.celsiusAtZero = 21
        variant.filtersAccelerometer = true
        return variant
    }

    /// The one that is meant before the chip was asked.
    static let usual = MPUVariant(name: "MPU-6050")
}
