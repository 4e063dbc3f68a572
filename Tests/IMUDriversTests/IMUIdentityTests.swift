import IMUDrivers
import Testing

/// Requirement: what there is no driver for is named all the same.
@Suite struct IMUIdentityTests {
    @Test(
        "A part without a driver has its name",
        arguments: [(0x75, 0x47, "ICM-42688-P"), (0x75, 0x20, "ICM-20690"), (0x00, 0xEA, "ICM-20948")]
            as [(UInt8, UInt8, String)])
    func known(register: UInt8, byte: UInt8, name: String) {
        let identity = IMUIdentity(register: register, identity: byte)
        #expect(identity.register == register && identity.identity == byte)
        #expect(identity.name.map { "\($0)" } == name)
        #expect(!identity.isSupported && identity.family == nil)
    }

    @Test("A number means nothing in another register, and an unknown one has no name")
    func unknown() {
        #expect(IMUIdentity(register: 0x00, identity: 0x47).name == nil)
        #expect(IMUIdentity(register: 0x75, identity: 0x00).name == nil)
    }

    @Test("A part of a family has its driver")
    func supported() {
        let identity = IMUIdentity(register: 0x75, identity: 0x70, name: "MPU-6500", family: .mpu6050)
        #expect(identity.isSupported && identity.family == .mpu6050)
    }
}
