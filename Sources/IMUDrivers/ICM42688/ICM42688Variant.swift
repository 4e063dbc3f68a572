/// The differences between the members of the ICM-42688-P's family that matter to the driver: identity and anti-alias
/// filter.
enum ICM42688Variant: Equatable, Sendable, BitwiseCopyable {
    case icm42688p
    /// Betaflight, INAV and Linux inv_icm42600 drive it like the ICM-42688-P, except that the same settings of the
    /// anti-alias filter mean about a quarter of the frequency.
    case icm42605

    /// The variant that answers with `identity` (Linux inv_icm42600.h); `nil` if none does.
    init?(identity: UInt8) {
        switch identity {
        case 0x47: self = .icm42688p
        case 0x42: self = .icm42605
        default: return nil
        }
    }

    var name: StaticString {
        switch self {
        case .icm42688p: "ICM-42688-P"
        case .icm42605: "ICM-42605"
        }
    }

    var unsourced: StaticString {
        switch self {
        case .icm42688p: "delay of the anti-alias filter"
        case .icm42605: "bandwidths and delays of the low-passes, start-up time, FIFO"
        }
    }

    /// Whether the driver sets the anti-alias filter. It keeps the ICM-42688-P's reset values, which DS-000347 states.
    /// Unsourced: the ICM-42605's, so the driver sets its widest filter.
    var setsAntiAlias: Bool { self == .icm42605 }

    /// The delay of the gyroscope's anti-alias filter, seconds. Unsourced: assumed to be that of a second-order
    /// Butterworth low-pass, √2/(2π·f).
    ///
    /// ICM-42688-P: 585 Hz after a reset (GYRO_AAF_DELT is 13; DS-000347 5.3, 15.3). The accelerometer's, of 1163 Hz, is 0.2
    /// ms shorter. ICM-42605: 995 Hz for both sensors, which the driver sets (Betaflight `aafLUT42605`).
    var antiAliasDelay: Double { self == .icm42688p ? 0.000385 : 0.000226 }
}
