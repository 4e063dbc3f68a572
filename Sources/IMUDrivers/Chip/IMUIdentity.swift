/// The result of reading an identity register at a bus address.
package struct IMUIdentity: Sendable {
    /// The register that was read.
    package let register: UInt8

    /// Its content.
    package let identity: UInt8

    /// The part's name; `nil` if the identity is unknown.
    package let name: StaticString?

    /// The family whose driver supports the part; `nil` if no driver does.
    package let family: IMUFamily?

    /// Whether a driver supports the part.
    package var isSupported: Bool { family != nil }

    /// Whether all bits are alike and it is no known part's identity. This is how a data line reads that does not change.
    package var isLineLevel: Bool { name == nil && (identity == 0x00 || identity == 0xFF) }

    /// A supported part.
    package init(register: UInt8, identity: UInt8, name: StaticString, family: IMUFamily) {
        self.register = register
        self.identity = identity
        self.name = name
        self.family = family
    }

    /// An unsupported part, with its name if that is known.
    package init(register: UInt8, identity: UInt8) {
        self.register = register
        self.identity = identity
        name = IMUIdentity.knownName(of: identity, in: register)
        family = nil
    }

    /// InvenSense's identity register up to the ICM-426xx, and from the ICM-456xx on (ArduPilot Invensensev3,
    /// Betaflight accgyro_spi_icm456xx.c). No part with a driver has the second one.
    package static var commonRegister: UInt8 { 0x75 }
    package static var laterRegister: UInt8 { 0x72 }

    /// The name of a part, supported or not.
    ///
    /// Numbers: Linux inv_mpu_iio.h and Betaflight accgyro_mpu.h; 0x00 of bank 0: Pimoroni's icm20948.
    package static func knownName(of identity: UInt8, in register: UInt8) -> StaticString? {
        switch (register, identity) {
        case (0x75, 0x78): "MPU-6880"
        case (0x75, 0xAC): "ICM-20601"
        case (0x75, 0xA6): "ICM-20609"
        case (0x75, 0xE1): "ICM-20649"
        case (0x75, 0x20): "ICM-20690"
        case (0x75, 0xA9): "IAM-20680"
        case (0x75, 0x3B): "ICM-40609"
        case (0x75, 0x42): "ICM-42605"
        case (0x75, 0x46): "ICM-42622-P"
        case (0x75, 0x44): "ICM-42686-P"
        case (0x75, 0x47): "ICM-42688-P"
        case (0x72, 0xE9): "ICM-45686"
        case (0x75, 0x6F): "IIM-42652"
        case (0x00, 0xEA): "ICM-20948"
        default: nil
        }
    }
}
