/// What answers at an address of the bus, as far as its identity register tells.
public struct IMUIdentity: Sendable, BitwiseCopyable {
    /// The content of the register.
    public let identity: UInt8

    /// The part's name, or `nil` where the number is not known.
    public let name: StaticString?

    /// Whether there is a driver here for it.
    public let isSupported: Bool

    /// The register at which InvenSense's parts keep their identity, WHO_AM_I.
    public static var register: UInt8 { 0x75 }

    /// Reads the identity register and nothing else, so that a foreign chip at the address is not disturbed.
    ///
    /// - Throws: what the bus answered instead; `.notAcknowledged` where nobody is there.
    public static func probe<Bus: RegisterBus & ~Copyable>(_ bus: inout Bus) throws(BusError) -> IMUIdentity {
        IMUIdentity(identity: try bus.read(register))
    }

    /// Looks up what reads as `identity`.
    ///
    /// Numbers: Linux inv_mpu_iio.h, Betaflight accgyro_mpu.h, ESPHome for the MPU-6886. Boards sold as MPU-6050 that answer
    /// 0x70, 0x72 or 0x98 carry another chip.
    public init(identity: UInt8) {
        self.identity = identity
        name = Self.name(of: identity)
        isSupported = identity == MPU6050Value.identity
    }

    private static func name(of identity: UInt8) -> StaticString? {
        switch identity {
        case 0x68: "MPU-6050"
        case 0x70: "MPU-6500"
        case 0x71: "MPU-9250"
        case 0x73: "MPU-9255"
        case 0x74: "MPU-6515"
        case 0x78: "MPU-6880"
        case 0x19: "MPU-6886"
        case 0x11: "ICM-20600"
        case 0xAC: "ICM-20601"
        case 0x12: "ICM-20602"
        case 0xAF: "ICM-20608"
        case 0xAE: "ICM-20608D"
        case 0xA6: "ICM-20609"
        case 0xE1: "ICM-20649"
        case 0x98: "ICM-20689"
        case 0x20: "ICM-20690"
        case 0xA9: "IAM-20680"
        case 0x3B: "ICM-40609"
        case 0x42: "ICM-42605"
        case 0x46: "ICM-42622-P"
        case 0x44: "ICM-42686-P"
        case 0x47: "ICM-42688-P"
        case 0xE9: "ICM-45686"
        case 0x6F: "IIM-42652"
        default: nil
        }
    }
}
