internal import MotionCore

/// A member of ST's LSM6DS family.
enum VirtualLSM6DSModel: Sendable {
    /// FIFO of 8 KiB without tags.
    case lsm6ds3
    /// FIFO of 4 KiB without tags.
    case lsm6ds3trc
    /// FIFO of 512 words with tags.
    case lsm6dso

    /// The value of WHO_AM_I.
    var identity: UInt8 {
        switch self {
        case .lsm6ds3: 0x69
        case .lsm6ds3trc: 0x6A
        case .lsm6dso: 0x6C
        }
    }

    /// Whether FIFO words have a tag: seven bytes instead of two.
    var isTagged: Bool { self == .lsm6dso }

    /// Whether data-ready can be a pulse.
    var pulsesDataReady: Bool { self != .lsm6ds3 }

    /// The writable bits of a register: ORIENT_CFG_G has six; the other chips have the pulse in bit 7.
    func writableBits(_ register: UInt8) -> UInt8 {
        self == .lsm6ds3 && register == LSM6DSAddress.dataReadyPulse ? 0x3F : 0xFF
    }

    /// The bytes of a FIFO word, and the words of the FIFO.
    var wordLength: Int { isTagged ? 7 : 2 }
    var words: Int {
        switch self {
        case .lsm6ds3: 4096
        case .lsm6ds3trc: 2048
        case .lsm6dso: 512
        }
    }

    /// Registers whose value after a reset is not zero.
    var defaults: [UInt8: UInt8] {
        let isFirst = self == .lsm6ds3
        return [
            LSM6DSAddress.identity: identity, LSM6DSAddress.control3: 0x04,
            LSM6DSAddress.control9: isFirst ? 0x38 : 0xE0, LSM6DSAddress.control10: isFirst ? 0x38 : 0,
        ]
    }

    /// Converts °C to counts.
    func temperatureCounts(_ celsius: Double) -> Double { (celsius - 25) * (self == .lsm6ds3 ? 16 : 256) }

    /// The low-passes at the rate of a code from 1 to 8.
    ///
    /// Accelerometer: half the rate; the LSM6DS3's analogue filter goes from 50 to 400 Hz. Gyroscope: the table for
    /// FTYPE 0, and estimates for the cases noted in the driver's `LSM6DSConfiguration`.
    func lowPass(code: UInt8, filtersGyroscope: Bool) -> LowPassSetting {
        let index = Int(max(1, min(code, 8))) - 1
        let period = 1 / Self.rates[index]
        let accelerometer = self == .lsm6ds3 ? [50, 50, 50, 50, 100, 200, 400, 400][index] : 0.5 / period
        guard filtersGyroscope, self != .lsm6ds3 else {
            let bandwidth = [4.2, 8.3, 16.6, 33, 67, 134, 267, 539][index]
            let delay = [53.79e-3, 27.32e-3, 13.76e-3, 7.02e-3, 3.56e-3, 1.88e-3, 1.04e-3, 0.62e-3][index]
            return LowPassSetting(accelerometer, bandwidth, delay, baseRate: 1 / period)
        }
        let bandwidth = [4.2, 8.3, 16.6, 33, 67, 136.6, 239.2, 304.2][index]
        let delay = [54.46e-3, 27.99e-3, 14.43e-3, 7.69e-3, 4.23e-3, 2.55e-3, 1.71e-3, 1.29e-3][index]
        return LowPassSetting(accelerometer, bandwidth, delay, baseRate: 1 / period)
    }

    /// Sample rates by their code, from 1 on, Hz.
    static let rates = [12.5, 26, 52, 104, 208, 416, 833, 1660]
}

/// The registers of the LSM6DS family with special behaviour; all others are plain storage.
enum LSM6DSAddress {
    // Untagged FIFO: decimation of both sensors, rate and mode.
    static let decimation: UInt8 = 0x08
    static let untaggedMode: UInt8 = 0x0A
    // Tagged FIFO: batch rates of both sensors, mode.
    static let batchRates: UInt8 = 0x09
    static let taggedMode: UInt8 = 0x0A
    static let dataReadyPulse: UInt8 = 0x0B
    static let interrupt1: UInt8 = 0x0D
    static let identity: UInt8 = 0x0F
    static let accelerometer: UInt8 = 0x10
    static let gyroscope: UInt8 = 0x11
    static let control3: UInt8 = 0x12
    static let control4: UInt8 = 0x13
    static let control9: UInt8 = 0x18
    static let control10: UInt8 = 0x19
    static let firstReadOnly: UInt8 = 0x1A
    static let status: UInt8 = 0x1E
    static let temperatureOutput: UInt8 = 0x20
    static let gyroscopeOutput: UInt8 = 0x22
    static let accelerometerOutput: UInt8 = 0x28
    static let fifoStatus1: UInt8 = 0x3A
    static let fifoStatus2: UInt8 = 0x3B
    static let fifoStatus3: UInt8 = 0x3C
    static let fifoStatus4: UInt8 = 0x3D
    static let untaggedData: UInt8 = 0x3E
    static let lastReadOnly: UInt8 = 0x3F
    static let taggedData: UInt8 = 0x78

    static let count = 128
}
