internal import MotionCore

/// A member of ST's LSM6DS family.
enum VirtualLSM6DSModel: Sendable {
    /// FIFO of 8 KiB without tags.
    case lsm6ds3
    /// FIFO of 4 KiB without tags.
    case lsm6ds3trc
    /// FIFO of 512 words with tags.
    case lsm6dso
    /// The same with twice the ranges of the accelerometer.
    case lsm6dso32
    /// The FIFO of an LSM6DSO, with an identity and a low-pass of its own.
    case ism330dhcx

    /// The value of WHO_AM_I.
    var identity: UInt8 {
        switch self {
        case .lsm6ds3: 0x69
        case .lsm6ds3trc: 0x6A
        case .lsm6dso, .lsm6dso32: 0x6C
        case .ism330dhcx: 0x6B
        }
    }

    /// Whether FIFO words have a tag: seven bytes instead of two.
    var isTagged: Bool { words == 512 }

    /// µg per count for FS_XL 0 to 3.
    var microgravities: [Double] { self == .lsm6dso32 ? [122, 976, 244, 488] : [61, 488, 122, 244] }

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
        case .lsm6dso, .lsm6dso32, .ism330dhcx: 512
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
    /// Accelerometer: half the rate; the LSM6DS3's analogue filter goes from 50 to 400 Hz. Gyroscope: AN5130 Rev 1, table
    /// 11, with LPF1 off, and with FTYPE 0; its phase at 20 Hz gives the delay. Unsourced: the delays that the table
    /// leaves open, here a period plus 0.67 ms with LPF1 and a period without it, and everything about the LSM6DS3's
    /// low-pass; see the driver's `LSM6DSConfiguration`.
    func lowPass(code: UInt8, filtersGyroscope: Bool) -> LowPassSetting {
        let index = Int(max(1, min(code, 8))) - 1
        let period = 1 / Self.rates[index]
        let accelerometer = self == .lsm6ds3 ? [50, 50, 50, 50, 100, 200, 400, 400][index] : 0.5 / period
        guard filtersGyroscope, self != .lsm6ds3 else {
            let bandwidth = [4.0, 8, 17, 33, 67, 137, 312, 988][index]
            let delay = phaseDelay(index, period) - 0.67e-3
            return LowPassSetting(accelerometer, bandwidth, delay, baseRate: 1 / period)
        }
        let bandwidths: [Double] =
            switch self {
            case .lsm6ds3, .lsm6ds3trc: [4, 8, 17, 33, 67, 138, 245, 315]
            // DocID032891 Rev 1, table 60.
            case .lsm6dso, .lsm6dso32: [4.2, 8.3, 16.6, 33, 67, 136.6, 239.2, 304.2]
            // DS13012 rev. 7, table 58.
            case .ism330dhcx: [4.3, 8.3, 16.7, 33, 67, 133, 222, 274]
            }
        return LowPassSetting(accelerometer, bandwidths[index], phaseDelay(index, period), baseRate: 1 / period)
    }

    /// The delay of both low-passes, seconds: phases at 20 Hz, degrees.
    private func phaseDelay(_ index: Int, _ period: Double) -> Double {
        let phases: [Double?] = [nil, nil, 144, 75, 40, 23, 14, 10]
        return phases[index].map { $0 / 360 / 20 } ?? period + 0.67e-3
    }

    /// How the gyroscope settles at the rate of a code from 1 to 8: the turn-on time in seconds, then samples until the
    /// second low-pass has settled (AN5130 Rev 1, table 15), and until both have (table 16, FTYPE 0).
    func settling(code: UInt8) -> (turnOn: Double, marked: Int, all: Int) {
        let index = Int(max(1, min(code, 8))) - 1
        let marked = [2, 3, 3, 3, 3, 3, 3, 135][index]
        let all = [2, 3, 3, 4, 4, 5, 7, 135][index]
        return (0.07, marked, self == .lsm6ds3 ? marked : all)
    }

    /// The accelerometer's samples until it has settled (table 13).
    func accelerometerSettling(code: UInt8) -> Int { [0, 0, 1, 1, 1, 1, 1, 2][Int(max(1, min(code, 8))) - 1] }

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
