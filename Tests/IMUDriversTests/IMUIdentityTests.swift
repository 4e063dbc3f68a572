import IMUDrivers
import Testing

/// Requirement: parts without a driver are named too.
@Suite struct IMUIdentityTests {
    @Test(
        "Names parts without a driver",
        arguments: [
            (0x75, 0x47, "ICM-42688-P"), (0x75, 0x20, "ICM-20690"), (0x00, 0xEA, "ICM-20948"),
            (0x72, 0xE9, "ICM-45686"),
        ]
            as [(UInt8, UInt8, String)])
    func known(register: UInt8, byte: UInt8, name: String) {
        let identity = IMUIdentity(register: register, identity: byte)
        #expect(identity.register == register && identity.identity == byte)
        #expect(identity.name.map { "\($0)" } == name)
        #expect(!identity.isSupported && identity.family == nil)
    }

    @Test("An identity has no meaning in another register, and an unknown one has no name")
    func unknown() {
        #expect(IMUIdentity(register: 0x00, identity: 0x47).name == nil)
        #expect(IMUIdentity(register: 0x75, identity: 0x00).name == nil)
    }

    @Test("Finds the driver of a supported part")
    func supported() {
        let identity = IMUIdentity(register: 0x75, identity: 0x70, name: "MPU-6500", family: .mpu6050)
        #expect(identity.isSupported && identity.family == .mpu6050)
    }
}
