/// Wherein the members of ST's LSM6DS family differ, as far as the driver is concerned.
///
/// Configuration registers and data are common to all; the FIFO came to be another one with the LSM6DSO. One part type
/// drives both kinds, since all else would be written twice.
enum LSM6DSVariant: Equatable, Sendable, BitwiseCopyable {
    /// Untagged FIFO of 8 KiB.
    case lsm6ds3
    /// Untagged FIFO of 4 KiB; LSM6DSL, LSM6DSM and ISM330DLC answer with the same identity.
    case lsm6ds3trc
    /// Tagged FIFO of 512 words; the LSM6DSOX answers with the same identity.
    case lsm6dso

    /// The variant that answers with `identity` (Linux st_lsm6dsx_core.c, `wai`); `nil` where none does.
    init?(identity: UInt8) {
        switch identity {
        case 0x69: self = .lsm6ds3
        case 0x6A: self = .lsm6ds3trc
        case 0x6C: self = .lsm6dso
        default: return nil
        }
    }

    var name: StaticString {
        switch self {
        case .lsm6ds3: "LSM6DS3"
        case .lsm6ds3trc: "LSM6DS3TR-C"
        case .lsm6dso: "LSM6DSO"
        }
    }

    /// Whether the FIFO's words say what they are.
    var isTagged: Bool { self == .lsm6dso }

    /// Whether the gyroscope has a low-pass of its own beside that of its rate.
    var filtersGyroscope: Bool { self != .lsm6ds3 }

    /// Whether data-ready can be a pulse. On the LSM6DS3 it stays until somebody reads the output registers, which a reader
    /// of the FIFO does not, and bit 7 of register 0x0B is reserved (lsm6ds3_reg.h, `lsm6ds3_orient_cfg_g_t`).
    var pulsesDataReady: Bool { self != .lsm6ds3 }

    /// Bytes that the FIFO holds, tags included: 4096, 2048 words of two bytes, 512 words of seven (Linux
    /// `max_fifo_size` in frames of six bytes, and the masks of `fifo_diff`).
    var fifoSize: Int {
        switch self {
        case .lsm6ds3: 8192
        case .lsm6ds3trc: 4096
        case .lsm6dso: 512 * 7
        }
    }

    /// Bits of FIFO_STATUS2 that belong to the number of words (Linux `fifo_diff`).
    var countMask: UInt8 {
        switch self {
        case .lsm6ds3: 0x0F
        case .lsm6ds3trc: 0x07
        case .lsm6dso: 0x03
        }
    }

    /// Counts of the thermometer a kelvin, zero at 25 °C (`from_lsb_to_celsius` of ST's drivers).
    var countsPerKelvin: Double { self == .lsm6ds3 ? 16 : 256 }
}
